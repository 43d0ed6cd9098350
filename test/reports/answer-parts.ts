// What the answers that a test works out for itself are made of: groups, sums, and whose rentals count.

import { type ApiRental, type ApiWorld, groupBy } from './api-world.ts'

/** Makes the rows of an answer. */
export type Answer = (world: ApiWorld) => readonly Row[]

export type Row = readonly unknown[]

export const sum = <Value>(values: readonly Value[], of: (value: Value) => unknown): number =>
  values.reduce((total, value) => total + Number(of(value) ?? 0), 0)
/** As Postgres rounds numbers: halves go away from zero. */
export const round = (value: number, digits: number): number =>
  (Math.sign(value) * Math.round(Math.abs(value) * 10 ** digits + 1e-9)) / 10 ** digits

/** One row for each group: what makes it one, and what is asked of it. */
export function grouped<Value>(
  values: readonly Value[],
  by: (value: Value) => Row,
  of: (group: readonly Value[]) => Row,
): Row[] {
  return [...groupBy(values, (value) => JSON.stringify(by(value))).values()].map((group) => {
    const [first] = group
    return first === undefined ? [] : [...by(first), ...of(group)]
  })
}

export const total =
  (field: string) =>
  (rentals: readonly ApiRental[]): number =>
    sum(rentals, ({ record }) => record[field])
/** The same of a field that may be unknown: of rentals that all lack it, nothing is known. */
export const totalKnown =
  (field: string) =>
  (rentals: readonly ApiRental[]): number | null =>
    rentals.some(({ record }) => (record[field] ?? null) !== null) ? total(field)(rentals) : null
export const taking = (world: ApiWorld): ApiRental[] => world.rentals.filter(({ takesPlace }) => takesPlace)
/** What departs today or later and takes place. */
export const departing = (world: ApiWorld, until = '9999'): ApiRental[] =>
  taking(world).filter(({ departure }) => departure.day >= world.today && departure.day <= until)
