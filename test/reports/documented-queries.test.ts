// The SQL of README.md, and what docs/outbox.md reads, against a mirror of the sandbox. What README's questions about the
// business are answered is worked out again, from the API's own records.

import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TruthRow } from '../../src/sandbox/sandbox.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'

/** Statements of a document's SQL blocks, without comments; psql's `\gset` ends one as `;` does. */
function statementsOf(path: string): readonly string[] {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
  const blocks = [...text.matchAll(/^```sql\n([\s\S]*?)^```$/gm)].map(([, sql = '']) => sql)
  const statements = blocks
    .join(';\n')
    .replace(/^--.*$/gm, '')
    .replaceAll('\\gset', ';')
    .split(';')
  return statements.map((sql) => sql.trim()).filter((sql) => sql !== '')
}

const readme = statementsOf('README.md')
const ofOutbox = statementsOf('docs/outbox.md').filter(
  (sql) => /^(select|listen)\b/.test(sql) && !sql.includes('outbox.enqueue('),
)
const statementThat = (part: string): string => {
  const found = readme.filter((sql) => sql.includes(part))
  expect(found).toHaveLength(1)
  return found[0] ?? ''
}

const year = new Date().getUTCFullYear()
let mirror: TestMirror
let truth: ReturnType<TestMirror['sandbox']['truth']>

/** Records of the API: the truth of one table. */
const records = (table: string): readonly TruthRow[] => truth[table] ?? []
const at = (record: TruthRow['record'], path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | null | undefined)?.[name], record)

beforeAll(async () => {
  mirror = await openTestMirror({ size: 120 }, { PRICE_DAYS: '0', SLOT_DAYS: '2' })
  for (const run of await mirror.sync()) expect(run.status, run.stream).toBe('done')
  // What a careless sum would add: other years at both ends of this one by the clock of the place, another currency, what
  // is pending, called off, or gone.
  const before = mirror.sandbox.truth()
  const live = before.rentals?.map(({ record }) => record) ?? []
  const paid = new Set(before.rental_payments?.map(({ key }) => key.rental_id))
  const validated = live.filter(({ status }) => status === 'VALIDATED').map(({ id }) => id as number)
  const [a, b, c, d, e, f, g] = validated
  const unpaid = validated.slice(7).find((id) => !paid.has(id))
  const update = (id: number | undefined, set: Record<string, unknown>) =>
    ({ record: 'rentals', op: 'update', id: id ?? 0, set }) as const
  mirror.sandbox.mutate([
    update(a, { departureDatetime: `${year}-01-01T00:30:00+02:00` }), // last year in UTC
    update(b, { departureDatetime: `${year}-12-31T23:30:00-04:00` }), // next year in UTC
    update(c, { departureDatetime: `${year + 1}-01-01T00:30:00+02:00` }),
    update(d, { departureDatetime: `${year - 1}-12-31T23:30:00-04:00` }),
    update(e, { departureDatetime: `${year}-06-01T09:00:00+02:00`, status: 'CANCELED' }),
    update(f, { departureDatetime: `${year}-06-01T09:00:00+02:00`, status: 'PENDING' }),
    update(unpaid, { departureDatetime: `${year}-06-01T09:00:00+02:00`, depositCurrency: 'GBP' }),
    { record: 'rentals', op: 'delete', id: g ?? 0 },
  ])
  for (const run of await mirror.sync({ full: true })) expect(run.status, run.stream).toBe('done')
  truth = mirror.sandbox.truth({ days: 2, durations: 1, priceDays: 0, calendarYears: 2 })
}, 240_000)
afterAll(() => mirror[Symbol.asyncDispose]())

const ask = async (sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> =>
  (await mirror.app.database.pool.query(sql)).rows

/** The currency of a rental's money: the one its payments agree on, else the deposit's. */
function currencyOf({ record }: TruthRow): string | null {
  const codes = records('rental_payments')
    .filter(({ key }) => key.rental_id === record.id)
    .map((payment) => codeOf(payment.record.currency))
  const named = [...new Set(codes.filter((code) => code !== null))]
  return (named.length === 1 ? named[0] : codeOf(record.depositCurrency)) ?? null
}
const codeOf = (currency: unknown): string | null =>
  typeof currency === 'string' ? currency : ((at({ currency }, 'currency.code') as string | undefined) ?? null)

const cents = (amount: unknown): number => Math.round(Number(amount ?? 0) * 100)

describe('README.md', () => {
  it('has at least five queries, and every one is answered', async () => {
    expect(readme.length).toBeGreaterThanOrEqual(5)
    for (const sql of readme) expect((await ask(sql)).length, sql).toBeGreaterThan(0)
  })

  it('adds up the rentals of this year and their money as the API has them, each currency by itself', async () => {
    const departing = records('rentals').filter(({ record }) => String(record.departureDatetime).startsWith(`${year}-`))
    const takesPlace = departing.filter(
      ({ record }) => record.status !== 'PENDING' && !String(record.status).startsWith('CANCELED'),
    )
    expect(departing.length).toBeGreaterThan(takesPlace.length + 2)
    const sums = new Map<string, { rentals: number; balance: number }>()
    for (const rental of takesPlace) {
      const resource = records('rental_resources').find(({ key }) => key.rental_id === rental.record.id)?.record ?? {}
      const company = records('companies').find(({ record }) => record.id === at(resource, 'resource.company.id'))
      const name = `${company?.record.companyBrandName} ${company?.record.id} ${currencyOf(rental)}`
      const sum = sums.get(name) ?? { rentals: 0, balance: 0 }
      sums.set(name, {
        rentals: sum.rentals + 1,
        balance: sum.balance + cents(rental.record.totalToPay) - cents(rental.record.totalPaid),
      })
    }
    expect(new Set(takesPlace.map(currencyOf)).size).toBeGreaterThan(1)
    const sql = statementThat('still_to_pay').replace('select company_name', 'select company_id, company_name')
    const answered = (await ask(sql)).map((row) => [
      `${row.company_name} ${row.company_id} ${row.currency}`,
      { rentals: Number(row.rentals), balance: cents(row.still_to_pay) },
    ])
    expect(Object.fromEntries(answered)).toEqual(Object.fromEntries(sums))
  })

  it('names what is free as the API does, from today on', async () => {
    const resources = new Map(records('resources').map(({ record }) => [record.id, record]))
    const harbours = new Map(records('harbours').map(({ record }) => [record.id, record.name]))
    const free = records('resource_availability').filter(({ record }) => record.isAvailable === true)
    const expected = free.map(({ key, record }) => {
      const resource = resources.get(key.resource_id) ?? {}
      const harbour = harbours.get(at(resource, 'harbour.id'))
      return `${key.date} | ${resource.name} | ${harbour} | ${Number(record.price)} | ${codeOf(record.currency)}`
    })
    const sql = statementThat('is_available')
      .replace(/limit \d+$/, '')
      .replace('a.date,', 'a.date::text,')
    const answered = (await ask(sql)).map(
      (row) => `${row.date} | ${row.resource_name} | ${row.harbour_name} | ${Number(row.price)} | ${row.currency}`,
    )
    expect(answered.length).toBeGreaterThan(5)
    expect([...answered].sort()).toEqual(expected.sort())
  })

  it('counts the rows of every stream as the API has records', async () => {
    const counted = await ask(statementThat('sync.streams'))
    const expected = Object.fromEntries(Object.entries(truth).map(([table, rows]) => [table, rows.length]))
    const answered = Object.fromEntries(counted.map((row) => [row.stream, Number(row.rows)]))
    expect(answered).toMatchObject(expected)
  })
})

describe('docs/outbox.md', () => {
  it('has at least four reads, and Postgres understands every one', async () => {
    expect(ofOutbox.length).toBeGreaterThanOrEqual(4)
    const client = await mirror.app.database.pool.connect()
    try {
      for (const sql of ofOutbox) expect((await client.query(sql)).rows, sql).toBeDefined()
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
        await ask(`select report.today()::text as day, (now() at time zone 'Pacific/Kiritimati')::date::text as east,
        (now() at time zone 'Pacific/Niue')::date::text as west`)
      )[0]
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
