// Every query of README.md and docs/queries.md, asked of a mirror of the sandbox and compared with what the API's own records
// answer; and that Postgres understands what docs/outbox.md reads. With UPDATE_DOCS=1 the documents get today's answers.

import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { table } from '../../src/cli/terminal/output.ts'
import { overlapsToCome, rentalDoubts } from '../../src/inspect/report-queries.ts'
import { wantedIntervals } from '../../src/jobs/schedule.ts'
import { keepPace } from '../../src/reports/pace.ts'
import { reportViews } from '../../src/reports/report-views.ts'
import { saveIntervals } from '../../src/sync/due/stream-state.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'
import { type Answer, departing, grouped, sum, taking } from './answer-parts.ts'
import { boats, doubleBookings, quay } from './answers-about-boats.ts'
import { byCurrencies, customers, money, sumKnown } from './answers-about-money.ts'
import { months } from './answers-about-months.ts'
import { type ApiRecord, type ApiRental, ApiWorld, addDays, at, codeOf, groupBy, monthsFrom } from './api-world.ts'
import { addLongIds, addOddBlocks, wholeTruth } from './odd-records.ts'

const viewNamed = (name: string) => reportViews.find((view) => view.name === name) ?? { orderBy: '' }

const updating = process.env.UPDATE_DOCS === '1'
const pathOf = (document: string): URL => new URL(`../../${document}`, import.meta.url)

type Question = { readonly title: string; readonly sql: string; readonly output: string }

/** Statements of a document's SQL blocks: the heading above, the statement without comments, the block of output behind it. */
function questionsOf(document: string): readonly Question[] {
  const text = readFileSync(pathOf(document), 'utf8')
  const pattern = /^```sql\n(?<block>[\s\S]*?)^```$(?:\n\n^```text\n(?<output>[\s\S]*?)^```$)?/gm
  return [...text.matchAll(pattern)].flatMap(({ groups, index }) => {
    const title = [...text.slice(0, index).matchAll(/^#+ (?:\d+\. )?(.+)$/gm)].at(-1)?.[1] ?? ''
    const statements = (groups?.block ?? '')
      .replace(/^--.*$/gm, '')
      .replaceAll('\\gset', ';')
      .split(';')
    return statements
      .map((sql) => sql.trim())
      .filter((sql) => sql !== '')
      .map((sql) => ({ title, sql, output: groups?.output ?? '' }))
  })
}

const isWriteBack = ({ sql }: Question): boolean => /\boutbox\./.test(sql)
const readme = questionsOf('README.md').filter((question) => !isWriteBack(question))
const writeBack = questionsOf('README.md').filter(isWriteBack)
const questions = questionsOf('docs/queries.md')
const ofOutbox = questionsOf('docs/outbox.md').filter(
  ({ sql }) => /^(select|listen)\b/.test(sql) && !/outbox\.(enqueue|resolve)\(/.test(sql),
)

/** Statements of README.md by a part of theirs. A null: it is not about what the API shows. */
const ofReadme: Readonly<Record<string, Answer | null>> = {
  'as still_open': (world) =>
    byCurrencies(
      taking(world).filter(({ departure }) => departure.day.slice(0, 7) >= world.today.slice(0, 7)),
      ({ departure }) => [departure.day.slice(0, 7)],
      (group) => [
        group.length,
        sum(group, ({ record }) => record.totalToPay),
        sumKnown(group, ({ balance }) => balance),
      ],
    ),
  'from report.departures': (world) =>
    departing(world).map(({ departure, departureHarbour, resourceName, balance, currency }) => [
      departure.clock,
      departureHarbour,
      resourceName,
      balance,
      currency,
    ]),
  'live.resource_availability': (world) =>
    world
      .rows('resource_availability')
      .filter(({ record }) => record.isAvailable === true)
      .map(({ key, record }) => {
        const boat = world.find('resources', key.resource_id)
        return [boat?.name, at(boat, 'harbour.name'), key.date, record.price, codeOf(record.currency)]
      }),
  still_to_pay: (world) =>
    byCurrencies(
      taking(world).filter(({ departure }) => departure.day.startsWith(`${world.year}-`)),
      ({ companyId, companyName }) => [companyId, companyName],
      (group) => [group.length, sumKnown(group, ({ balance }) => balance)],
    ).map(([, ...row]) => row),
  col_description: null,
  'mirror.changes_since': null,
  'from sync.streams': null,
}

let mirror: TestMirror
let world: ApiWorld
/** When the month was closed. */
let closed: ApiWorld
const answers = new Map<string, string>()
const year = new Date().getUTCFullYear()

/**
 * What a careless query would count: other years at both ends of this one by the clock of the place, another currency, two
 * companies of one name, what is pending, cancelled without a reason, or gone.
 * @returns two rentals of one boat at one time
 */
function makeAwkward(): readonly string[] {
  const before = mirror.sandbox.truth()
  const rentals = before.rentals?.map(({ record }) => record) ?? []
  const paid = new Set(before.rental_payments?.map(({ key }) => String(key.rental_id)))
  const validated = rentals.filter(({ status }) => status === 'VALIDATED').map(({ id }) => String(id))
  const [a, b, c, d, e, f, g] = validated
  const unpaid = validated.slice(7).find((id) => !paid.has(id))
  const [first, second] = before.companies ?? []
  const api = new ApiWorld(before)
  const soon = departing(api).at(-1)
  const used = new Set([a, b, c, d, e, f, g, unpaid, soon?.id])
  const boats = groupBy(taking(api), ({ boatId }) => String(boatId))
  for (const fleet of closed.fleets) boats.delete(String(fleet))
  const twice = [...boats.values()]
    .map((each) => each.filter(({ id }) => !used.has(id)))
    .find(({ length }) => length > 1)
    ?.map(({ id }) => id)
    .slice(0, 2)
  const nextYear = (from: number, to: number) => ({
    departureDatetime: `${year + 1}-03-0${from}T09:00:00+02:00`,
    arrivalDatetime: `${year + 1}-03-0${to}T09:00:00+02:00`,
  })
  const update = (id: string | undefined, set: Record<string, unknown>) =>
    ({ record: 'rentals', op: 'update', id: id ?? '', set }) as const
  mirror.sandbox.mutate([
    update(a, { departureDatetime: `${year}-01-01T00:30:00+02:00` }), // last year in UTC
    update(b, { departureDatetime: `${year}-12-31T23:30:00-04:00` }), // next year in UTC
    update(c, { departureDatetime: `${year + 1}-01-01T00:30:00+02:00` }),
    update(d, { departureDatetime: `${year - 1}-12-31T23:30:00-04:00` }),
    update(e, { departureDatetime: `${year}-06-01T09:00:00+02:00`, status: 'CANCELED' }),
    update(f, { departureDatetime: `${year}-06-01T09:00:00+02:00`, status: 'PENDING' }),
    update(unpaid, { departureDatetime: `${year}-06-01T09:00:00+02:00`, depositCurrency: 'GBP' }),
    { record: 'rentals', op: 'delete', id: g ?? '' },
    update(twice?.[0], nextYear(1, 4)),
    update(twice?.[1], nextYear(3, 6)),
    update(soon?.id, { crewChildren: null }), // of whom nobody knows how many there are
    { record: 'resources', op: 'update', id: String(soon?.resourceId), set: { isRentable: false } },
    {
      record: 'companies',
      op: 'update',
      id: Number(second?.key.id),
      set: { companyBrandName: first?.record.companyBrandName },
    },
  ])
  return twice ?? []
}

/** What happens in any month. */
function changeSome(): void {
  const [a, b, c] = taking(new ApiWorld(mirror.sandbox.truth())).map(({ id }) => id)
  mirror.sandbox.mutate([
    { record: 'rentals', op: 'update', id: a ?? '', set: { status: 'CANCELED_BY_CLIENT' } },
    { record: 'rentals', op: 'update', id: b ?? '', set: { totalToPay: 1234.5 } },
    { record: 'rentals', op: 'delete', id: c ?? '' },
  ])
}

/** One rental in ten, except those, has a date-time, a status and money in a form that is legal and unusual. */
function makeOdd(those: readonly string[]): void {
  const {
    rentals = [],
    rental_payments: payments = [],
    rental_options: options = [],
  } = wholeTruth(mirror.sandbox.truthText())
  const clocks = [
    (day: string) => `${day}T09:00:00+18:00`,
    (day: string) => `${day} 09:00:00 +02:00`,
    (day: string) => `${day}t07:30:00z`,
    (day: string) => `${day}T09:00`,
    (day: string) => `${day}T09:00:00.5-00:30`,
  ]
  const odd = rentals
    .filter(({ key }, index) => index % 10 === 3 && !those.includes(String(key.id)))
    .map(({ record }) => record)
  const statuses = [
    'validated',
    'canceled_by_client',
    'REFUSED_BY_OWNER',
    'No-show',
    'Pending',
    'CANCELLED BAD WEATHER',
    'Validated',
  ]
  for (const [index, { id, departureDatetime, arrivalDatetime }] of odd.entries()) {
    const written = (text: unknown, place: number): unknown =>
      clocks[place % clocks.length]?.(String(text).slice(0, 10))
    const status = statuses[index % statuses.length]
    const set = {
      departureDatetime: written(departureDatetime, index),
      arrivalDatetime: index % 7 === 2 ? null : written(arrivalDatetime, index + 1),
      ...(index % 2 === 0 || index % 10 === 3 ? { status } : {}),
    }
    const update = (change: object) =>
      mirror.sandbox.mutate([{ record: 'rentals', op: 'update', id: String(id), ...change }])
    const [paid] = payments.filter(({ key }) => key.rental_id === id)
    const [option] = options.filter(({ key }) => key.rental_id === id)
    const pay = (fields: object) =>
      paid &&
      mirror.sandbox.mutate([
        { record: 'rental_payments', op: 'update', id: String(paid.key.id), parent: String(id), set: { ...fields } },
      ])
    const kinds = [
      () => pay({ currency: 'eur' }),
      () => pay({ currency: 'USD' }),
      () => update({ set: { depositCurrency: { iso: ' chf ' } } }),
      () =>
        option &&
        mirror.sandbox.mutate([
          {
            record: 'rental_options',
            op: 'update',
            id: String(option.key.id),
            parent: String(id),
            set: { option: { ...(option.record.option as object), prices: [{ price: 1, currency: 'sek' }] } },
          },
        ]),
      () => pay({ price: null }),
    ]
    kinds[index % kinds.length]?.()
    update({ set, ...([0, 3, 4, 5, 8].includes(index % 10) ? { unset: ['totalPaid'] } : {}) })
  }
}

async function syncAll(full: boolean): Promise<void> {
  for (const run of await mirror.sync({ full })) expect(run.status, run.stream).toBe('done')
}

beforeAll(async () => {
  mirror = await openTestMirror(
    { size: updating ? 200 : 100 },
    { PRICE_DAYS: '28', SLOT_DAYS: '2', CALENDAR_YEARS: '2', NOT_TAKING_PLACE: 'no show' },
  )
  // As a worker would have set them: without a schedule nothing can be late.
  const intervals = [...wantedIntervals(mirror.config)].map(([stream, ms]) => ({
    stream,
    intervalS: ms / 1_000,
    targetS: null,
  }))
  await saveIntervals(mirror.app.database.pool, intervals)
  await syncAll(false)
  const now = (): ApiWorld =>
    new ApiWorld(wholeTruth(mirror.sandbox.truthText({ days: 2, durations: 1, priceDays: 28, calendarYears: 2 })), [
      'NO_SHOW',
    ])
  closed = now()
  await mirror.app.database.pool.query(`select report.close('2026-03')`)
  if (updating) {
    changeSome()
    await syncAll(true)
  } else {
    const twice = makeAwkward()
    addLongIds(mirror.sandbox)
    makeOdd(twice)
    addOddBlocks(
      mirror.sandbox,
      now().rentals.filter((_, index) => index % 5 === 0),
    )
    await syncAll(true)
  }
  world = now()
  while ((await keepPace(mirror.app.database)) === 'again');
})

afterAll(async () => {
  await mirror[Symbol.asyncDispose]()
  if (!updating) return
  for (const document of ['README.md', 'docs/queries.md'])
    writeFileSync(
      pathOf(document),
      readFileSync(pathOf(document), 'utf8').replace(
        /^```sql\n([\s\S]*?)^```\n\n^```text\n[\s\S]*?^```$/gm,
        (block: string, sql: string) => {
          const answer = answers.get(sql.trim().replace(/;$/, ''))
          return answer === undefined ? block : `\`\`\`sql\n${sql}\`\`\`\n\n\`\`\`text\n${answer}\n\`\`\``
        },
      ),
    )
})

/** A query's answer as texts, as the command line would show it. */
async function ask(
  query: string,
): Promise<{ readonly columns: readonly string[]; readonly rows: readonly string[][] }> {
  const { pool } = mirror.app.database
  const { fields } = await pool.query(`select * from (${query}) q limit 0`)
  const columns = fields.map(({ name }) => name)
  const list = columns.map((name) => `coalesce(q."${name}"::text, '')`)
  const { rows } = await pool.query<{ cells: string[] }>(`select array[${list.join(', ')}] as cells from (${query}) q`)
  return { columns, rows: rows.map(({ cells }) => cells) }
}

/** A cell as what it says: 5.0 is 5, and the order of a list says nothing. Ids keep all their digits. */
function said(cell: unknown): string {
  const text = String(cell ?? '')
  if (/^-?\d{1,15}(\.\d+)?$/.test(text)) return String(Math.round(Number(text) * 100) / 100)
  return text.split(', ').sort().join(', ')
}
const lines = (rows: readonly (readonly unknown[])[]): string[] => rows.map((row) => row.map(said).join(' | ')).sort()

/** Questions to which the answer is nothing: equal, and no proof. A small world has nobody who departs soon at every season. */
const empty: string[] = []
afterAll(() => expect(empty.length, empty.join(', ')).toBeLessThanOrEqual(6))

async function expectTrue({ title, sql, output }: Question, answer: Answer): Promise<void> {
  const asked = await ask(sql)
  answers.set(sql, table(asked.columns, asked.rows))
  if (!updating && output !== '') expect(output.split('\n')[0]?.split(/ {2,}/)).toEqual(asked.columns)
  const { columns, rows } = await ask(sql.replace(/\blimit \d+$/, ''))
  expect(lines(rows)).toEqual(lines(answer(world)))
  if (rows.length === 0) empty.push(title)
  // A column in which nothing ever stands answers nothing.
  const blank = columns.filter((_, index) => rows.length > 0 && rows.every((row) => row[index] === ''))
  expect(blank).toEqual([])
}

describe('README.md', () => {
  it('asks seven questions, the first two with their answers, and every question is known here', () => {
    expect(readme.map(({ sql }) => Object.keys(ofReadme).filter((part) => sql.includes(part)).length)).toEqual(
      readme.map(() => 1),
    )
    expect(readme).toHaveLength(Object.keys(ofReadme).length)
    if (!updating) expect(readme.slice(0, 2).every(({ output }) => output !== '')).toBe(true)
  })

  for (const [part, answer] of Object.entries(ofReadme))
    it(`${part}: ${answer === null ? 'is answered' : 'says what the API shows'}`, async () => {
      const [question] = readme.filter(({ sql }) => sql.includes(part))
      if (question === undefined) throw new Error(`README.md asks nothing with: ${part}`)
      if (answer === null) expect((await ask(question.sql)).rows.length).toBeGreaterThan(0)
      else await expectTrue(question, answer)
    })

  it('queues a change, and shows it', async () => {
    const client = await mirror.app.database.pool.connect()
    try {
      await client.query('begin')
      const answers = []
      for (const { sql } of writeBack) answers.push((await client.query(sql)).rows)
      expect(answers).toHaveLength(2)
      const first = Math.min(...world.records('rentals').map(({ id }) => Number(id)))
      expect(answers[1]).toMatchObject([{ operation: 'rental.update', aggregate: `rental:${first}`, status: 'queued' }])
    } finally {
      await client.query('rollback') // the API is asked nothing: the other questions are about what it shows
      client.release()
    }
  })

  it('counts the rows of every stream as the API has records', async () => {
    const { rows } = await ask('select stream, rows from sync.streams')
    expect(Object.fromEntries(rows.map(([stream, count]) => [stream, Number(count)]))).toMatchObject(world.counts)
  })
})

describe('docs/queries.md', () => {
  const ofMonths = Object.entries(months).map(
    ([title, answer]) => [title, (now: ApiWorld) => answer(closed, now)] as const,
  )
  const known: Readonly<Record<string, Answer>> = {
    ...{ ...boats, ...quay, ...money, ...customers },
    ...Object.fromEntries(ofMonths),
  }
  const ofTheMirror = 'Freshness and recent changes of the data'

  it('asks what is known here, each question with its answer', () => {
    expect(questions.map(({ title }) => title).sort()).toEqual([...Object.keys(known), ofTheMirror].sort())
    if (!updating) expect(questions.filter(({ output }) => output === '')).toEqual([])
  })

  it('is compared in a world that has what a careless query would count', async () => {
    expect(new Set(world.rentals.map(({ currency }) => currency)).size).toBeGreaterThan(1)
    expect(world.rentals.some(({ canceled }) => canceled)).toBe(true)
    expect(updating || world.rentals.some(({ status }) => status === 'PENDING')).toBe(true)
    expect(departing(world).length).toBeGreaterThan(5)
    expect(taking(world).some(({ options }) => options.some(({ quantity }) => Number(quantity) > 1))).toBe(true)
    expect(taking(world).some(({ record }) => Number(record.discountPrice) > 0)).toBe(true)
    const boats = world.records('resources').map(({ boatId }) => boatId)
    expect(new Set(boats).size).toBeLessThan(boats.length)
    const { rows } = await ask('select rental_id from report.overlaps where overlap_to > now()')
    expect(updating || rows.length > 0).toBe(true)
  })

  it('sums up what the API charges: the price less the discount, and options by quantity', async () => {
    const { rows } =
      await ask(`select rental_id from report.rentals r where total_to_pay <> greatest(0, rental_price - discount_price)
      + (select coalesce(sum(o.price * o.quantity), 0) from live.rental_options o where o.rental_id = r.rental_id)`)
    expect(rows).toEqual([])
  })

  for (const [title, answer] of Object.entries(known))
    it(title, async () => {
      const question = questions.find((each) => each.title === title)
      if (question === undefined) throw new Error('docs/queries.md does not ask it.')
      await expectTrue(question, answer)
    })

  it(ofTheMirror, async () => {
    const { sql = '' } = questions.find(({ title }) => title === ofTheMirror) ?? {}
    const { columns, rows } = await ask(sql)
    answers.set(sql, table(columns, rows))
    const wanted = ['rental_payments', 'rentals', 'resources', 'users'].map((stream) => [
      stream,
      'fresh',
      String(world.counts[stream]),
      '0',
    ])
    expect(rows.map((row) => row.slice(0, 4))).toEqual(wanted)
    for (const [, , count, , changes] of rows) expect(Number(changes)).toBeGreaterThanOrEqual(Number(count))
  })
})

describe('the views of rentals', () => {
  const keys = ['id', 'companyId', 'currency', 'currencies', 'paid', 'balance'] as const
  const columns = "rental_id, company_id, currency, array_to_string(currencies, ','), total_paid, balance"
  const facts = (rentals: readonly ApiRental[]) =>
    rentals.map((rental) => keys.map((key) => (key === 'currencies' ? rental.currencies.join(',') : rental[key])))

  it('have odd records among the usual ones', () => {
    const { rentals } = world
    expect(rentals.filter(({ currencies }) => currencies.length > 1).length).toBeGreaterThan(2)
    expect(rentals.some(({ paid }) => paid === null)).toBe(true)
    expect(rentals.some(({ record, paid }) => (record.totalPaid ?? null) === null && paid !== null)).toBe(true)
    expect(rentals.filter(({ statusKnown }) => !statusKnown).length).toBeGreaterThan(0)
    expect(rentals.some(({ status }) => status === 'NO_SHOW')).toBe(true)
  })

  it('report.rentals', async () => {
    const { rows } =
      await ask(`select ${columns}, status, departure_local, departure_date, arrival_local, extract(epoch from departure_datetime) * 1000 as ms,
      takes_place, status_known, report.status_word(status) like 'CANCELED%' or report.status_word(status) = 'NO_SHOW' as canceled from report.rentals`)
    const wanted = world.rentals.map((rental, index) => [
      ...(facts(world.rentals)[index] ?? []),
      ...[
        rental.record.status,
        rental.departure.clock,
        rental.departure.day,
        rental.arrival.clock,
        rental.departure.ms,
      ],
      ...[rental.takesPlace, rental.statusKnown, rental.canceled],
    ])
    expect(lines(rows)).toEqual(lines(wanted))
  })

  it('report.departures', async () => {
    const { rows } = await ask(
      "select rental_id, departure_local, currency, array_to_string(currencies, ','), balance, takes_place from report.departures",
    )
    const coming = world.rentals.filter(({ canceled, departure }) => !canceled && departure.day >= world.today)
    expect(lines(rows)).toEqual(
      lines(
        coming.map((each) => [
          each.id,
          each.departure.clock,
          each.currency,
          each.currencies.join(','),
          each.balance,
          each.takesPlace,
        ]),
      ),
    )
  })

  it('report.balances, of which unknown ones come last', async () => {
    const { rows } = await ask(
      `select ${columns} from (select * from report.balances order by ${viewNamed('balances').orderBy}) b`,
    )
    const owing = taking(world).filter(({ balance }) => balance === null || balance > 1e-9)
    expect(lines(rows)).toEqual(lines(facts(owing)))
    const unknown = rows.map((row) => row[5] === '')
    expect(unknown).toEqual(unknown.toSorted((a, b) => Number(a) - Number(b)))
    expect(unknown).toContain(true)
  })

  it('report.overlaps', async () => {
    const ms = ['overlap_from', 'overlap_to'].map((name) => `floor(extract(epoch from ${name}) * 1000) as ${name}`)
    const { rows } = await ask(`select rental_id, resource_id, other_kind, other_rental_id, ${ms} from report.overlaps`)
    const wanted = doubleBookings(world).map(({ rental, kind, other, from, to }) => [
      ...[rental.id, rental.resourceId, kind, other],
      ...[Math.floor(from), Math.floor(to)],
    ])
    expect(lines(rows)).toEqual(lines(wanted))
    expect(new Set(wanted.map(([, , kind]) => kind))).toEqual(new Set(['rental', 'unavailability']))
  })

  it('report.revenue and report.cancellations', async () => {
    const sums = `currency, array_to_string(currencies, ','), rentals, total_to_pay, total_paid, paid_unknown`
    const answer = (rentals: readonly ApiRental[], by: (rental: ApiRental) => readonly unknown[]) =>
      grouped(
        rentals,
        (rental) => [
          rental.companyId,
          `${rental.departure.day.slice(0, 7)}-01`,
          ...by(rental),
          rental.currency,
          rental.currencies.join(','),
        ],
        (group) => [
          group.length,
          sum(group, ({ record }) => record.totalToPay),
          sumKnown(group, ({ paid }) => paid),
          group.filter(({ paid }) => paid === null).length,
        ],
      )
    const revenue = await ask(`select company_id, month, ${sums} from report.revenue`)
    expect(lines(revenue.rows)).toEqual(lines(answer(taking(world), () => [])))
    const canceled = await ask(`select company_id, month, status, ${sums} from report.cancellations`)
    expect(lines(canceled.rows)).toEqual(
      lines(
        answer(
          world.rentals.filter((each) => each.canceled),
          ({ record }) => [record.status],
        ),
      ),
    )
  })

  it('are summed up by status and drift', async () => {
    const doubts = await rentalDoubts(mirror.app.database.pool)
    const mixed = grouped(
      world.rentals.filter(({ currencies }) => currencies.length > 1),
      ({ companyId, companyName }) => [companyId, companyName],
      (group) => [group.length],
    )
    expect(lines(doubts.currencies.map((each) => [each.companyId, each.companyName, each.rentals]))).toEqual(
      lines(mixed),
    )
    const unknown = world.rentals.filter(({ statusKnown }) => !statusKnown)
    const byStatus = grouped(
      unknown,
      ({ status }) => [status],
      (group) => [group.length, sum(group, ({ record }) => record.totalToPay)],
    )
    expect(
      lines(
        doubts.statuses.map(({ status, rentals, amounts }) => [
          status,
          rentals,
          sum(amounts, ({ totalToPay }) => totalToPay),
        ]),
      ),
    ).toEqual(lines(byStatus))
    expect(doubts.among).toBe(world.rentals.length)
    const { withoutArrival, fleets } = await overlapsToCome(mirror.app.database.pool)
    const open = taking(world).filter(({ departure, arrival }) => !(arrival.ms >= departure.ms))
    const lately = open.filter(({ departure }) => departure.ms > Date.now() - 30 * 86_400_000)
    expect(lines(withoutArrival.map((id) => [id]))).toEqual(lines(lately.map(({ id }) => [id])))
    const several = world.records('resources').filter(({ boatId }) => world.fleets.has(boatId))
    expect(lines(fleets.map(({ resourceId }) => [resourceId]))).toEqual(lines(several.map(({ id }) => [id])))
  })
})

describe('the views of boats', () => {
  const namesOf = (boat: ApiRecord) => [
    ...[boat.id, boat.name, boat.boatId, at(boat, 'company.id'), at(boat, 'company.companyBrandName')],
    at(boat, 'harbour.name'),
  ]
  const names = 'resource_id, resource_name, boat_id, company_id, company_name, harbour_name'

  it('report.fleet', async () => {
    const { rows } = await ask(`select ${names}, is_rentable, min_price, currency, is_full_today from report.fleet`)
    const wanted = world
      .records('resources')
      .map((boat) => [
        ...namesOf(boat),
        ...[boat.isRentable, boat.minPrice, codeOf(world.prices(boat.id)[0]?.currency)],
        world.isFull(boat.id, world.today),
      ])
    expect(lines(rows)).toEqual(lines(wanted))
  })

  it('report.calendar, also on other days', async () => {
    const year = monthsFrom(`${world.year}-01-01`, 12)
    for (const { from, days, view } of [
      { from: world.today, days: 100, view: 'report.calendar' },
      { from: year[0] ?? '', days: 31, view: `report.calendar('${year[0]}', '${world.year}-01-31')` },
    ]) {
      const { rows } = await ask(`select date, ${names}, is_full from ${view}`)
      const wanted = Array.from({ length: days }, (_, n) => addDays(from, n)).flatMap((day) =>
        world.records('resources').map((boat) => [day, ...namesOf(boat), world.isFull(boat.id, day)]),
      )
      expect(lines(rows)).toEqual(lines(wanted))
    }
  })

  it('report.occupancy', async () => {
    const { rows } = await ask(`select ${names}, boat_resources, month, days, full_days from report.occupancy`)
    const offers = groupBy(world.records('resources'), ({ boatId }) => String(boatId))
    const wanted = monthsFrom(`${world.year}-01-01`, 24).flatMap((month) =>
      world.records('resources').map((boat) => {
        const { full, days } = world.occupancy(boat.id, [month])
        return [...namesOf(boat), offers.get(String(boat.boatId))?.length, month, days, full]
      }),
    )
    expect(lines(rows)).toEqual(lines(wanted))
  })
})

describe('docs/outbox.md', () => {
  it('has at least four reads, and Postgres understands every one', async () => {
    expect(ofOutbox.length).toBeGreaterThanOrEqual(4)
    const client = await mirror.app.database.pool.connect()
    try {
      for (const { sql } of ofOutbox) expect((await client.query(sql)).rows, sql).toBeDefined()
      await client.query('unlisten *')
    } finally {
      client.release()
    }
  })
})

describe('report.today()', () => {
  it('is the day in TIME_ZONE, whatever the zone of the connection', async () => {
    const { pool } = mirror.app.database
    const days = async () =>
      (
        await pool.query(`select report.today()::text as day, (now() at time zone 'Pacific/Kiritimati')::date::text as east,
        (now() at time zone 'Pacific/Niue')::date::text as west`)
      ).rows[0]
    await pool.query(`update sync.settings set time_zone = 'Pacific/Kiritimati'`)
    const east = await days()
    await pool.query(`update sync.settings set time_zone = 'Pacific/Niue'`)
    const west = await days()
    await pool.query(`update sync.settings set time_zone = 'UTC'`)
    expect(east?.day).toBe(east?.east)
    expect(west?.day).toBe(west?.west)
    expect(east?.day).not.toBe(west?.day)
  })
})
