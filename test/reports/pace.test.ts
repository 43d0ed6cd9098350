// report.pace against sums computed from the states that a generated history went through, day by day on a clock that is moved.

import { beforeAll, describe, expect, it, vi } from 'vitest'
import { createRandom } from '../../sandbox/world/random.ts'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { keepPace } from '../../src/reports/pace.ts'
import { isFull, isQuick } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { at, openMirror, rowOf, tableOf } from '../helpers/rows.ts'

const [rentalsDrawn, daysKept] = isFull ? [20_000, 365] : isQuick ? [300, 40] : [1_000, 60]
vi.setConfig({ testTimeout: 1_800_000, hookTimeout: 1_800_000 })

const dayMs = 86_400_000
const today = Date.parse(new Date().toISOString().slice(0, 10))
/** A day by its distance from today, `YYYY-MM-DD`. */
const dayOf = (offset: number): string => new Date(today + offset * dayMs).toISOString().slice(0, 10)
const first = -daysKept

type Rental = {
  readonly id: number
  readonly created: number
  company: number | null
  departure: number
  readonly nights: number
  amount: number
  readonly currency: string | null
  status: 'VALIDATED' | 'PENDING' | 'CANCELED_BY_CLIENT' | 'gone'
  /** The day of the last change. */
  modified: number
}

const random = createRandom(7, 'pace')

function drawn(id: number): Rental {
  const created = random.int(first - 400, -1)
  return {
    ...{ id, created, company: random.pick([1, 1, 2, 3, null]), departure: created + random.int(0, 250) },
    ...{ nights: random.int(0, 14), amount: random.int(1, 900_000), modified: created },
    ...{ currency: random.pick(['EUR', 'EUR', 'GBP', null]), status: random.chance(0.1) ? 'PENDING' : 'VALIDATED' },
  }
}

/** What may happen to a rental on a day. */
function change(rental: Rental, day: number): void {
  rental.modified = day
  const what = random.int(1, 6)
  if (what === 1) rental.status = 'CANCELED_BY_CLIENT'
  else if (what === 2) rental.departure += random.int(-20, 40)
  else if (what === 3) rental.amount += random.int(-100, 5_000)
  else if (what === 4) rental.company = random.pick([1, 2, 3])
  else if (what === 5) rental.status = random.chance(0.3) ? 'gone' : rental.status
  else rental.status = rental.status === 'gone' ? 'gone' : 'VALIDATED'
}

type Figures = [rentals: number, days: number, amount: number, canceled: number, lead: number]
type Books = Map<string, Figures>

const nothing: Figures = [0, 0, 0, 0, 0]
const monthOf = (day: number): string => `${dayOf(day).slice(0, 7)}-01`

function add(
  books: Books,
  { company, currency, departure, nights, amount, created }: Rental,
  isCanceled: boolean,
): void {
  const group = [monthOf(departure), company, currency].join()
  const [rentals, days, sum, canceled, lead] = books.get(group) ?? nothing
  const figures: Figures = isCanceled
    ? [rentals, days, sum, canceled + 1, lead]
    : [rentals + 1, days + Math.max(1, nights), sum + amount, canceled, lead + departure - created]
  books.set(group, figures)
}

function booksOf(rentals: Iterable<Rental>): Books {
  const books: Books = new Map()
  for (const rental of rentals)
    if (rental.status !== 'gone' && rental.status !== 'PENDING') add(books, rental, rental.status !== 'VALIDATED')
  return books
}

/** What is known on the first day about a day before it: booked when created, canceled when last changed. */
function estimatedBooks(rentals: Iterable<Rental>, day: number): Books {
  const books: Books = new Map()
  for (const rental of rentals)
    if (rental.status !== 'gone' && rental.status !== 'PENDING' && rental.created <= day)
      add(books, rental, rental.status !== 'VALIDATED' && Math.min(rental.modified, first - 1) <= day)
  return books
}

const mirror = opened(openMirror)
/** By day, from 400 days before the first. */
const truth = new Map<number, Books>()
let minute = 0

/** Writes what rentals are, as the mirror reads it at noon of a day. */
async function write(rentals: readonly Rental[], day: number): Promise<void> {
  minute++
  const stream = streamNamed('rentals')
  const companyFor = ({ id, company }: Rental) => ({
    key: [String(id)],
    values: { resource_id: null, company_id: company === null ? null : String(company) },
  })
  const rowFor = ({ id, created, departure, nights, amount, currency, status, modified }: Rental) =>
    rowOf('rentals', {
      ...{ id, status, total_to_pay: (amount / 100).toFixed(2) },
      ...{
        creation_datetime: `${dayOf(created)}T08:00:00Z`,
        last_modification_datetime: `${dayOf(modified)}T08:00:00Z`,
      },
      ...{
        departure_datetime: `${dayOf(departure)}T09:00:00Z`,
        arrival_datetime: `${dayOf(departure + nights)}T18:00:00Z`,
      },
      deposit_currency: currency === null ? null : JSON.stringify(currency),
    })
  const live = rentals.filter(({ status }) => status !== 'gone')
  const gone = rentals.filter(({ status }) => status === 'gone').map(({ id }) => [String(id)])
  await mirror.write({
    tables: [tableOf('rentals', minute, live.map(rowFor))],
    filled: [{ stream, readAt: at(minute), rows: live.map(companyFor) }],
    tombstones: [{ stream, keys: gone, source: 'GET /v3/rentals/{rentalId}', readAt: at(minute) }],
  })
  await mirror.all(`update mirror.change_log set changed_at = $1 where changed_at > now() - interval '1 hour'`, [
    `${dayOf(day)}T12:00:00Z`,
  ])
}

const moveClock = (day: number) =>
  mirror.all(`create or replace function report.today() returns date language sql stable return date '${dayOf(day)}'`)

const keepAll = async (): Promise<void> => {
  while ((await keepPace(mirror.db)) === 'again');
}

beforeAll(async () => {
  const rentals = Array.from({ length: rentalsDrawn }, (_, index) => drawn(index + 1))
  const known = new Map<number, Rental>()
  for (let day = first; day < 0; day++) {
    const touched = new Map<number, Rental>()
    for (const rental of rentals.filter(({ created }) => (day === first ? created <= day : created === day)))
      touched.set(rental.id, rental)
    for (const rental of known.values())
      if (rental.status !== 'gone' && random.chance(day === first ? 0 : 0.002)) {
        change(rental, day)
        touched.set(rental.id, rental)
      }
    // Some were canceled before the mirror began.
    if (day === first)
      for (const rental of touched.values())
        if (random.chance(0.1))
          Object.assign(rental, { status: 'CANCELED_BY_CLIENT', modified: random.int(rental.created, first) })
    for (const [id, rental] of touched) known.set(id, rental)
    if (touched.size > 0) await write([...touched.values()], day)
    if (day === first) {
      for (let before = first - 400; before < first; before++) truth.set(before, estimatedBooks(known.values(), before))
      await mirror.all(`update sync.streams set as_of = $1`, [`${dayOf(day)}T12:00:00Z`])
      await mirror.all(
        `insert into sync.runs (stream, trigger, status, started_at, finished_at) select unnest($2::text[]), 'schedule', 'done', $1, $1`,
        [`${dayOf(day)}T12:00:00Z`, ['rentals', 'rental_resources', 'rental_payments', 'rental_options']],
      )
    }
    truth.set(day, booksOf(known.values()))
    await moveClock(day)
    await keepAll()
  }
  await moveClock(0)
  await keepAll()
})

/** The same day a year later; 28 February after the 29th. */
const aYearLater = (day: string): string => `${Number(day.slice(0, 4)) + 1}${day.slice(4).replace('-02-29', '-02-28')}`

/** The last day whose books count for the year before a day. */
const yearBefore = (day: number): number =>
  [364, 365, 366].map((back) => day - back).find((each) => aYearLater(dayOf(each)) <= dayOf(day)) ?? 0

/** As Postgres rounds: half away from zero. */
const tenth = (value: number): string => ((Math.sign(value) * Math.round(Math.abs(value) * 10)) / 10).toFixed(1)

/** The rows of a day as the report must show them. */
function expected(day: number): string[] {
  const [books, before] = [truth.get(day) ?? new Map(), truth.get(yearBefore(day)) ?? new Map()] as [Books, Books]
  const later = new Map([...before].map(([group, figures]) => [aYearLater(group), figures]))
  const line = (figures: Figures): string => {
    const [rentals, days, amount, canceled, lead] = figures
    return [rentals, days, (amount / 100).toFixed(2), canceled, rentals === 0 ? '' : tenth(lead / rentals)].join(' ')
  }
  return [...new Set([...books.keys(), ...later.keys()])]
    .map((group) => `${group} | ${line(books.get(group) ?? nothing)} | ${line(later.get(group) ?? nothing)}`)
    .sort()
}

const shown = (day: number): Promise<{ line: string }[]> =>
  mirror.all(
    `select concat(departure_month, ',', company_id, ',', currency, ' | ',
       concat_ws(' ', rentals, days, round(amount, 2), canceled, coalesce(lead_days::text, '')), ' | ',
       concat_ws(' ', rentals_last_year, days_last_year, round(amount_last_year, 2), canceled_last_year, coalesce(lead_days_last_year::text, ''))) as line
     from report.pace where as_of = $1 and departure_month + interval '13 months' > as_of order by 1`,
    [dayOf(day)],
  )

/** Those whose month ended over a year ago are not shown. */
const recent = (lines: readonly string[], day: number): readonly string[] =>
  lines.filter((line) => Date.UTC(Number(line.slice(0, 4)) + 1, Number(line.slice(5, 7)), 1) > today + day * dayMs)

const days = Array.from({ length: 60 }, (_, index) => Math.round(first - 100 + (index * (daysKept + 99)) / 59))

describe('report.pace', () => {
  it('shows for each past day what was on the books, and a year before, as the history says', async () => {
    for (const day of days)
      expect((await shown(day)).map(({ line }) => line).sort(), dayOf(day)).toEqual(recent(expected(day), day))
  })

  it('marks the days before the mirror began as estimated', async () => {
    const marks = await mirror.all(
      `select estimated, min(as_of)::text as first, max(as_of)::text as last from report.pace group by 1 order by 1`,
    )
    expect(marks).toMatchObject([
      { estimated: false, first: dayOf(first), last: dayOf(-1) },
      { estimated: true, last: dayOf(first - 1) },
    ])
  })

  it('is the same when the days are rebuilt from the change log', async () => {
    const kept = () =>
      mirror.all(`select ${figures} from sync.pace_days where as_of >= $1 order by ${figures}`, [dayOf(first)])
    const figures =
      'as_of, departure_month, company_id, currencies, rentals, days, amount, canceled, lead_days, with_lead'
    const before = await kept()
    await mirror.all(`delete from sync.pace_days where as_of >= $1`, [dayOf(-10)])
    await mirror.all('update sync.settings set pace_until = $1', [dayOf(-11)])
    await keepAll()
    expect(await kept()).toEqual(before)
    await mirror.all('create table public.kept as select * from sync.pace_days; truncate sync.pace_days')
    await mirror.all('update sync.settings set pace_from = null, pace_until = null')
    await keepAll()
    for (const day of days.filter((each) => each >= first))
      expect(
        (await shown(day)).map(({ line }) => line.split(' | ').slice(0, 2)),
        dayOf(day),
      ).toEqual(recent(expected(day), day).map((line) => line.split(' | ').slice(0, 2)))
    // What is estimated depends on the last change of each rental, which has come since.
    await mirror.all(`truncate sync.pace_days;
      insert into sync.pace_days overriding system value select * from public.kept; drop table public.kept`)
  })
})
