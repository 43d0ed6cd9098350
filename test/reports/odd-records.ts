// Records for a sandbox whose ids have more digits than a JavaScript number, and whose unavailabilities name their ends in many
// ways, or none.

import type { Sandbox } from '../../sandbox/sandbox.ts'
import { type ApiRental, addDays, type Truth } from './api-world.ts'

/** Neighbours that are one number for JavaScript. */
const longIds = ['90071992547409931', '90071992547409932', '90071992547409933']

/** Two companies with a boat each; three rentals of each boat, with customers and payments. All ids of a kind round to the same number. */
export function addLongIds({ mutate }: Sandbox): void {
  for (const [index, company] of longIds.slice(0, 2).entries()) {
    const [, , boat] = mutate([
      { record: 'companies', op: 'insert', id: company, set: { companyBrandName: 'Long' } },
      { record: 'users', op: 'insert', id: company },
      { record: 'resources', op: 'insert', parent: company },
    ])
    for (const id of longIds) {
      const rental = `${id.slice(0, -2)}${index}${id.at(-1)}`
      mutate([
        { record: 'rentals', op: 'insert', id: rental, parent: boat?.id ?? '', set: { user: { id: company } } },
        { record: 'rental_payments', op: 'insert', id, parent: rental },
        { record: 'rental_crew_members', op: 'insert', id, parent: rental },
      ])
      if (id !== longIds[2]) continue
      // Of this one it is unknown what was paid.
      mutate([
        { record: 'rental_payments', op: 'update', id, parent: rental, set: { price: null } },
        { record: 'rentals', op: 'update', id: rental, set: { status: 'VALIDATED' }, unset: ['totalPaid'] },
      ])
    }
  }
}

/** The truth of a sandbox in which numbers that JavaScript would round are texts. */
export function wholeTruth(text: string): Truth {
  const numbers = /"(?:[^"\\]|\\.)*"|-?\d{16,}(?![.\deE])/g
  return JSON.parse(text.replace(numbers, (part) => (part.startsWith('"') ? part : `"${part}"`)))
}

type Block = Readonly<Record<string, unknown>>

/** Unavailabilities as they were seen, over a rental: of some only the days can be read, of some one end or none. */
const blocksOver: readonly ((rental: ApiRental) => Block)[] = [
  ({ departure: { day } }) => ({ start: day, end: day }),
  ({ departure: { day } }) => ({ startDate: day, endDate: '9999-12-31' }),
  ({ departure: { day } }) => ({ dateFrom: `${day} 00:00:00 +02:00`, dateTo: `${addDays(day, 1)}t00:30:00z` }),
  ({ departure: { day } }) => ({
    startDatetime: null,
    from: `${day}T00:00+18:00`,
    to: `${addDays(day, 2)}T00:00:00.25`,
  }),
  ({ departure: { day } }) => ({ startDatetime: 'soon', start_date: day, end: {}, end_date: addDays(day, 1) }),
  ({ departure: { day } }) => ({ departureDatetime: `${day}T00:00:00Z`, arrivalDatetime: `${day}T23:59:60-0030` }),
  // Another one with the ends of the rental's own.
  ({ record }) => ({ startDatetime: record.departureDatetime, endDatetime: record.arrivalDatetime }),
  ({ record }) => ({
    start: record.departureDatetime,
    to: record.arrivalDatetime,
    reason: 'RENTAL',
    rentalId: record.id,
  }),
  // None of these has two ends that can be read, in their order.
  ({ departure: { day } }) => ({ startDatetime: `${day}T00:00:00Z` }),
  ({ departure: { day } }) => ({ endDatetime: `${addDays(day, 3)}T00:00:00Z` }),
  () => ({}),
  ({ departure: { day } }) => ({ startDatetime: `${addDays(day, 3)}T00:00:00Z`, endDatetime: `${day}T00:00:00Z` }),
  ({ departure: { day } }) => ({ startDatetime: '2027-02-30T00:00:00Z', endDatetime: `${addDays(day, 3)}T00:00:00Z` }),
  ({ departure: { day } }) => ({ start: Number(day.replaceAll('-', '')), end: {}, from: [day], to: '24.12.2027' }),
  ({ departure: { day } }) => ({ start: `${day}T25:00:00Z`, end: `${addDays(day, 3)}T00:00:00+25:00` }),
]

/** Puts one of these over each of the rentals, in turn. */
export function addOddBlocks({ mutate }: Sandbox, rentals: readonly ApiRental[]): void {
  for (const [index, rental] of rentals.entries()) {
    const set = { reason: 'CLOSED', ...blocksOver[index % blocksOver.length]?.(rental) }
    const unset = ['startDatetime', 'endDatetime'].filter((name) => !(name in set))
    mutate([{ record: 'resource_unavailabilities', op: 'insert', parent: rental.resourceId, set, unset }])
  }
}
