// What the API shows, as an analyst would read it off the API's own records: the other side of every documented query.
// Nothing here comes from the mirror, and nothing is SQL.

import type { TruthRow } from '../../sandbox/sandbox.ts'

export type ApiRecord = TruthRow['record']
export type Truth = Readonly<Record<string, readonly TruthRow[]>>

const dayMs = 86_400_000

/** A member of a record by its dotted path; undefined where there is none. */
export const at = (record: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (value as ApiRecord | null | undefined)?.[name], record)

/** The code of a currency that is a text or an object, in capitals; null for none. */
export function codeOf(currency: unknown): string | null {
  const code =
    typeof currency === 'string' ? currency : ['code', 'iso', 'id'].map((name) => at(currency, name)).find(Boolean)
  return typeof code === 'string' && code.trim() !== '' ? code.trim().toUpperCase() : null
}

/** A status as people compare it. */
export const wordOf = (status: unknown): string =>
  String(status ?? '')
    .trim()
    .toUpperCase()
    .replace(/[- ]/g, '_')
    .replace('CANCELLED', 'CANCELED')

/** A day, `YYYY-MM-DD`, moved by some. */
export const addDays = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * dayMs).toISOString().slice(0, 10)

/** The first days of months from that of a day on. */
export function monthsFrom(day: string, count: number): readonly string[] {
  const first = new Date(`${day.slice(0, 7)}-01T00:00:00Z`)
  return Array.from({ length: count }, (_, index) =>
    new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + index, 1)).toISOString().slice(0, 10),
  )
}

/** Days from one day to another. */
export const daysBetween = (from: string, to: string): number =>
  (Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / dayMs

/** A rental with what belongs to it; days and clocks are those of the text of the API. */
export type ApiRental = {
  readonly id: string
  readonly record: ApiRecord
  readonly status: string
  readonly canceled: boolean
  readonly takesPlace: boolean
  readonly departure: Moment
  readonly arrival: Moment
  readonly createdMs: number
  readonly resourceId: string
  readonly resourceName: unknown
  readonly boatId: unknown
  readonly companyId: unknown
  readonly companyName: unknown
  readonly departureHarbour: unknown
  readonly arrivalHarbour: unknown
  readonly currency: string | null
  readonly currencies: readonly string[]
  /** Null: unknown. */
  readonly paid: number | null
  readonly balance: number | null
  readonly statusKnown: boolean
  readonly crewListed: number
  readonly options: readonly ApiRecord[]
}

/** Where the ends of an unavailability may stand, the usual place first: nobody publishes it. */
const endNames = {
  start: ['startDatetime', 'start', 'startDate', 'start_date', 'from', 'dateFrom', 'departureDatetime'],
  end: ['endDatetime', 'end', 'endDate', 'end_date', 'to', 'dateTo', 'arrivalDatetime'],
}

const isDay = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) && new Date(Date.parse(text)).getUTCDate() === Number(text.slice(8))

/** An end of an unavailability, in milliseconds: the first member that says one; days are whole. NaN: none does. */
export function endOf(block: ApiRecord, end: keyof typeof endNames): number {
  const known = endNames[end].map((name) => {
    const text = typeof block[name] === 'string' ? block[name] : ''
    return isDay(text) ? Date.parse(text) + (end === 'end' ? dayMs : 0) : momentOf(text).ms
  })
  return known.find((ms) => !Number.isNaN(ms)) ?? Number.NaN
}

type Moment = { readonly day: string; readonly clock: string; readonly ms: number }

/** A date-time in whichever spelling; one without an offset is in UTC, as TIME_ZONE is here. Of any other text nothing is known. */
function momentOf(text: unknown): Moment {
  const [whole, day = '', minutes = '', seconds = '00', fraction = '', zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)[Tt ]([01]\d:\d\d|2[0-3]:\d\d)(?::(\d\d))?(\.\d+)?\s?([Zz]|[+-](?:[01]\d|2[0-3]):?(?:\d\d)?)?$/.exec(
      String(text),
    ) ?? []
  if (whole === undefined || !isDay(day)) return { day: '', clock: '', ms: Number.NaN }
  const [, sign, hours = '0', more = '0'] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone) ?? []
  const ahead = (Number(hours) * 60 + Number(more)) * (sign === '-' ? -1 : 1)
  const ms = Date.parse(`${day}T${minutes}:00Z`) + Number(`${seconds}${fraction}`) * 1_000 - ahead * 60_000
  return { day, clock: `${day} ${minutes}:${seconds}${fraction}`, ms }
}

/** The API's records, and what a question asks of them. */
export class ApiWorld {
  readonly #truth: Truth
  readonly today = new Date().toISOString().slice(0, 10)
  readonly year = Number(this.today.slice(0, 4))
  readonly rentals: readonly ApiRental[]

  readonly #notTakingPlace: readonly string[]

  /** @param notTakingPlace words of statuses, as `wordOf` has them */
  constructor(truth: Truth, notTakingPlace: readonly string[] = []) {
    this.#truth = truth
    this.#notTakingPlace = notTakingPlace
    const below = (table: string) => groupBy(this.rows(table), ({ key }) => String(key.rental_id))
    const parts = {
      resources: below('rental_resources'),
      payments: below('rental_payments'),
      options: below('rental_options'),
      crew: below('rental_crew_members'),
    }
    this.rentals = this.records('rentals').map((record) => this.#rental(record, parts))
  }

  /** Keys and records of a table. */
  rows(table: string): readonly TruthRow[] {
    return this.#truth[table] ?? []
  }

  records(table: string): readonly ApiRecord[] {
    return this.rows(table).map(({ record }) => record)
  }

  /** How many records of each table the API has. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(Object.entries(this.#truth).map(([table, rows]) => [table, rows.length]))
  }

  /** A record of a table with an id. */
  find(table: string, id: unknown): ApiRecord | undefined {
    return this.records(table).find((record) => record.id === id)
  }

  /** The price table of a resource from today on, by day. */
  prices(resourceId: unknown): readonly ApiRecord[] {
    return this.rows('resource_pricetable')
      .filter(({ key }) => key.resource_id === resourceId)
      .map(({ record }) => record)
  }

  /** Whether a resource is full on a day, and undefined where its calendar does not say. */
  isFull(resourceId: unknown, day: string): boolean | undefined {
    const year = this.rows('resource_availability_years').find(
      ({ key }) => key.resource_id === resourceId && Number(key.year) === Number(day.slice(0, 4)),
    )
    const sign = String(year?.record.bitstring ?? '')[daysBetween(`${day.slice(0, 4)}-01-01`, day)]
    return sign === undefined ? undefined : sign === '1'
  }

  /** Boats of which a slot shows several free. */
  get fleets(): ReadonlySet<unknown> {
    const several = this.rows('resource_slots').filter(({ record }) => Number(record.nbResourcesAvailable) > 1)
    return new Set(several.map(({ key }) => at(this.find('resources', key.resource_id), 'boatId')))
  }

  /** Full days and days of a resource in some months that are known. */
  occupancy(resourceId: unknown, months: readonly string[]): { readonly full: number; readonly days: number } {
    const known = months.flatMap((first) => {
      const length = daysBetween(first, monthsFrom(first, 2)[1] ?? first)
      return Array.from({ length }, (_, index) => this.isFull(resourceId, addDays(first, index)))
    })
    return {
      full: known.filter((full) => full === true).length,
      days: known.filter((full) => full !== undefined).length,
    }
  }

  #rental(record: ApiRecord, parts: Readonly<Record<string, ReadonlyMap<string, readonly TruthRow[]>>>): ApiRental {
    const own = (part: string): readonly ApiRecord[] =>
      (parts[part]?.get(String(record.id)) ?? []).map((row) => row.record)
    const booked = at(own('resources')[0], 'resource') as ApiRecord | undefined
    const companyId = at(booked, 'company.id')
    const status = wordOf(record.status)
    const canceled = status.startsWith('CANCELED') || this.#notTakingPlace.includes(status)
    const named = [
      ...own('payments').map(({ currency }) => currency),
      ...own('options')
        .flatMap((option) => (at(option, 'option.prices') as ApiRecord[] | null) ?? [])
        .map(({ currency }) => currency),
      record.depositCurrency,
    ]
    const currencies = [...new Set(named.flatMap((each) => codeOf(each) ?? []))].sort()
    const amounts = own('payments').map(({ price }) => price ?? null)
    const inLines =
      currencies.length > 1 || amounts.includes(null)
        ? null
        : amounts.reduce<number>((sum, price) => sum + Number(price), 0)
    const paid = (record.totalPaid ?? null) === null ? inLines : Number(record.totalPaid)
    return {
      id: String(record.id),
      record,
      status,
      canceled,
      takesPlace: !canceled && status !== 'PENDING',
      departure: momentOf(record.departureDatetime),
      arrival: momentOf(record.arrivalDatetime),
      createdMs: Date.parse(String(record.creationDatetime)),
      resourceId: String(booked?.id),
      resourceName: (this.find('resources', booked?.id) ?? booked)?.name,
      boatId: booked?.boatId,
      companyId,
      companyName: this.find('companies', companyId)?.companyBrandName,
      departureHarbour: at(record, 'departureHarbour.name'),
      arrivalHarbour: at(record, 'arrivalHarbour.name'),
      currency: currencies.length === 1 ? (currencies[0] ?? null) : null,
      currencies,
      paid,
      balance: paid === null ? null : Number(record.totalToPay) - paid,
      statusKnown: canceled || status === 'VALIDATED' || status === 'PENDING',
      crewListed: own('crew').length,
      options: own('options'),
    }
  }
}

/** Values by a text made of each, in the order in which the texts came. */
export function groupBy<Value>(values: Iterable<Value>, textOf: (value: Value) => string): Map<string, Value[]> {
  const groups = new Map<string, Value[]>()
  for (const value of values) groups.set(textOf(value), [...(groups.get(textOf(value)) ?? []), value])
  return groups
}
