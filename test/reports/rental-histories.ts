// Random months of rentals with their money, written as a sync writes them, and read back from `_payload` alone.

import fc from 'fast-check'
import type { Json } from '../../src/api/wire/json.ts'
import { streamNamed } from '../../src/catalog/catalog.ts'
import type { SourcedRow } from '../../src/mirror/rows.ts'
import { projectRecord } from '../../src/sync/records/project.ts'
import { at, type Mirror, tableOf } from '../helpers/rows.ts'
import { ApiWorld, type Truth } from './api-world.ts'

type ApiRecord = { readonly [name: string]: Json }
type Rental = {
  readonly record: ApiRecord
  readonly resource: ApiRecord
  readonly payments: readonly ApiRecord[]
  readonly options: readonly ApiRecord[]
}
/** What the API shows at a moment, by the id of the rental. */
export type State = Readonly<Record<string, Rental>>

const cents = fc.constantFrom<Json>(0, 0.01, 0.1, 0.2, 19.99, 100, 1234.5, 100000.07, -5.25)
const orNone = <T extends Json>(value: fc.Arbitrary<T>) => fc.option<Json>(value, { nil: null, freq: 4 })
const currency = fc.constantFrom<Json>('EUR', 'eur', { code: 'GBP' }, 'USD')
const payment = fc.record({
  price: fc.oneof({ weight: 9, arbitrary: cents }, { weight: 1, arbitrary: fc.constant<Json>(null) }),
  currency: orNone(currency),
  method: fc.constantFrom<Json>({ id: 1 }, { id: 2 }, 'cheque', null),
  reference: fc.constantFrom<Json>('a', 'b'),
})
const option = fc.record({
  vatRate: fc.constantFrom<Json>(20, 20, 10, null),
  prices: fc.array(
    currency.map((code): Json => ({ currency: code })),
    { maxLength: 2 },
  ),
})
const rental: fc.Arbitrary<Rental> = fc
  .record({
    record: fc.record(
      {
        status: fc.constantFrom<Json>(
          'VALIDATED',
          'VALIDATED',
          'validated',
          'CANCELED_BY_CLIENT',
          'Cancelled',
          'PENDING',
          'ODD',
          null,
        ),
        totalToPay: orNone(cents),
        totalPaid: orNone(cents),
        depositCurrency: orNone(currency),
        departureDatetime: fc.constantFrom<Json>('2026-07-01T00:30:00+02:00', '2026-07-31T23:30:00-04:00', null),
        referenceId: fc.constantFrom<Json>('ref', null),
      },
      { requiredKeys: ['status'] },
    ),
    company: fc.constantFrom(1, 1, 2),
    vatRate: fc.constantFrom<Json>(20, 20, 10),
    payments: fc.array(payment, { maxLength: 3 }),
    options: fc.array(option, { maxLength: 1 }),
  })
  .map(({ record, company, vatRate, payments, options }) => ({
    record,
    resource: { vatRate, resource: { id: `boat ${company}`, company: { id: company } } },
    payments: payments.map((each, index) => ({ id: index + 1, ...each })),
    options: options.map(({ vatRate: own, prices }, index) => ({
      id: index + 1,
      vatRate: own,
      option: { prices, id: index + 1 },
    })),
  }))

/** States one after the other: of each rental, some stay as they were, and some are gone. */
export const histories = (rentals: number, maxLength: number): fc.Arbitrary<readonly State[]> =>
  fc
    .array(
      fc.array(
        fc.oneof({ weight: 3, arbitrary: rental }, { weight: 3, arbitrary: fc.constant('same') }, fc.constant('gone')),
        {
          minLength: rentals,
          maxLength: rentals,
        },
      ),
      { minLength: 2, maxLength },
    )
    .map((rounds) => {
      let state: State = {}
      return rounds.map((round) => {
        const next = round.flatMap((each, index): (readonly [string, Rental])[] => {
          const id = String(index + 1)
          const now = each === 'same' ? state[id] : typeof each === 'string' ? undefined : each
          return now === undefined ? [] : [[id, now]]
        })
        state = Object.fromEntries(next)
        return state
      })
    })

const row = (name: string, record: ApiRecord, request: Readonly<Record<string, string>>): SourcedRow => {
  const projected = projectRecord(streamNamed(name), record, request, 'UTC')
  if (!projected.ok) throw new Error(`${name} cannot be mirrored: ${JSON.stringify(record)}`)
  return projected.row
}

/** The tables that hold these histories. */
const tables = ['rentals', 'rental_resources', 'rental_payments', 'rental_options'] as const

/** Empties them, the log and the closes. */
export const forget = (mirror: Mirror): Promise<unknown> =>
  mirror.all(
    `truncate mirror.change_log, sync.closes cascade; truncate ${tables.map((name) => `mirror.${name}`).join(', ')}`,
  )

let minute = 0

/** Writes what the API shows now: rentals that are not there are gone. Payments may be known before the boat. */
export async function show(mirror: Mirror, state: State): Promise<void> {
  const shown = Object.entries(state)
  const live = await mirror.all<{ id: string }>('select id from mirror.rentals where _deleted_at is null')
  const gone = live.map(({ id }) => id).filter((id) => state[id] === undefined)
  const below = (name: (typeof tables)[number], records: (rental: Rental) => readonly ApiRecord[]) =>
    tableOf(
      name,
      minute,
      shown.flatMap(([id, each]) => records(each).map((record) => row(name, record, { rental_id: id }))),
      { replace: shown.map(([id]) => ({ columns: ['rental_id'], values: [id] })) },
    )
  minute++
  await mirror.write({
    tables: [
      tableOf(
        'rentals',
        minute,
        shown.map(([id, { record }]) => row('rentals', { id: Number(id), ...record }, {})),
      ),
      below('rental_payments', ({ payments }) => payments),
      below('rental_options', ({ options }) => options),
    ],
    tombstones: [{ stream: streamNamed('rentals'), keys: gone.map((id) => [id]), source: 'GET', readAt: at(minute) }],
  })
  await mirror.write({
    tables: [below('rental_resources', ({ resource }) => [resource])],
    filled: [
      {
        stream: streamNamed('rentals'),
        readAt: at(minute),
        rows: shown.map(([id, { resource }]) => {
          const boat = resource.resource as { id: string; company: { id: number } }
          return { key: [id], values: { resource_id: boat.id, company_id: String(boat.company.id) } }
        }),
      },
    ],
  })
  await mirror.all(
    `insert into sync.records (stream, key, detail_read_at) select 'rental_payments', unnest($1::text[]), now()
     on conflict (stream, key) do update set detail_read_at = excluded.detail_read_at`,
    [Object.keys(state)],
  )
}

/** What the payloads in the mirror say, read as an analyst would. */
export async function told(mirror: Mirror): Promise<ApiWorld> {
  const truth: Record<string, Truth[string]> = {}
  for (const name of tables) {
    const key = streamNamed(name).key.map((column) => `'${column}', ${column}`)
    truth[name] = await mirror.all(
      `select jsonb_build_object(${key.join(', ')}) as key, _payload as record from mirror.${name} where _deleted_at is null`,
    )
  }
  return new ApiWorld(truth)
}
