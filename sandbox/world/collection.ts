// A set of records found by key and kept in one or more orders, so that a page of an unfiltered list is a slice.

import type { Entity } from './entity.ts'

/** Negative, zero or positive, as Array.sort wants it; must be total. */
export type Compare<E> = (a: E, b: E) => number

/** Numeric order for keys of digits, at any size; text order for others. */
export function compareKeys(a: string, b: string): number {
  if (a.length !== b.length && /^\d+$/.test(a) && /^\d+$/.test(b)) return a.length - b.length
  return a < b ? -1 : a > b ? 1 : 0
}

/** The order of ids. */
export const byKey: Compare<Entity> = (a, b) => compareKeys(a.key, b.key)

/** A list from which single records and pages are taken: an array, or one whose records are made on demand. */
export interface Sequence<E> {
  readonly length: number
  at(index: number): E | undefined
  slice(start: number, end: number): readonly E[]
}

/** Places of a list in another order, or some of them: `length` places, each by its place in the list. */
export function viewOf<E>(items: Sequence<E>, length: number, placeOf: (index: number) => number): Sequence<E> {
  const at = (index: number): E | undefined => (index < length ? items.at(placeOf(index)) : undefined)
  return {
    length,
    at,
    slice: (start, end) =>
      Array.from({ length: Math.max(0, Math.min(end, length) - start) }, (_, index) => at(start + index)).filter(
        (item) => item !== undefined,
      ),
  }
}

/** How many of a sorted list's first items lie before a place; by halves. */
export function countBefore<E>(items: Pick<Sequence<E>, 'length' | 'at'>, isBefore: (item: E) => boolean): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const item = items.at(middle)
    if (item !== undefined && isBefore(item)) low = middle + 1
    else high = middle
  }
  return low
}

/** Filters of a list. */
export interface Selection<E> {
  /** Says which they are: the same name, the same tests. */
  readonly name: string
  readonly tests: readonly ((entity: E) => boolean)[]
  /** Records that are made on demand need not be tried outside these numbers. */
  readonly within?: readonly [from: number, to: number] | undefined
}

/** A list in an order. */
export interface Ordered<E> {
  readonly compare: Compare<E>
  readonly items: Sequence<E>
  /** The records that pass all tests, in order. */
  select(selection: Selection<E>): Sequence<E>
}

/** Records found by key, each of which may be changed. */
export interface Records<E extends Entity> {
  readonly size: number
  get(key: string): E | undefined
  /** Those that are kept. */
  values(): IterableIterator<E>
  load(entities: Iterable<E>): void
  add(entity: E): void
  remove(entity: E): void
  /** Edits a record and puts it where it then belongs. */
  change(entity: E, edit: () => void): void
  /** Keeps a record that was changed in place. */
  keep(entity: E): void
}

/** A sorted view of a collection, optionally of some of its records only. */
export class Order<E extends Entity> implements Ordered<E> {
  readonly compare: Compare<E>
  readonly #accepts: (entity: E) => boolean
  #items: E[] = []

  constructor(compare: Compare<E>, accepts: (entity: E) => boolean = () => true) {
    this.compare = compare
    this.#accepts = accepts
  }

  /** The records in order; not to be changed by the reader. */
  get items(): readonly E[] {
    return this.#items
  }

  select({ tests }: Selection<E>): Sequence<E> {
    return tests.length === 0 ? this.#items : this.#items.filter((entity) => tests.every((test) => test(entity)))
  }

  load(entities: Iterable<E>): void {
    this.#items = [...entities].filter(this.#accepts).sort(this.compare)
  }

  add(entity: E): void {
    if (this.#accepts(entity)) this.#items.splice(this.#position(entity), 0, entity)
  }

  remove(entity: E): void {
    const index = this.#position(entity)
    if (this.#items[index] === entity) this.#items.splice(index, 1)
  }

  #position(entity: E): number {
    return countBefore(this.#items, (other) => this.compare(other, entity) < 0)
  }
}

export class Collection<E extends Entity> implements Records<E> {
  readonly #byKey = new Map<string, E>()
  readonly #orders: readonly Order<E>[]

  constructor(orders: readonly Order<E>[]) {
    this.#orders = orders
  }

  get size(): number {
    return this.#byKey.size
  }

  get(key: string): E | undefined {
    return this.#byKey.get(key)
  }

  values(): IterableIterator<E> {
    return this.#byKey.values()
  }

  /** Fills an empty collection at once. */
  load(entities: Iterable<E>): void {
    for (const entity of entities) this.#byKey.set(entity.key, entity)
    for (const order of this.#orders) order.load(this.#byKey.values())
  }

  add(entity: E): void {
    const before = this.#byKey.get(entity.key)
    if (before) this.remove(before)
    this.#byKey.set(entity.key, entity)
    for (const order of this.#orders) order.add(entity)
  }

  remove(entity: E): void {
    this.#byKey.delete(entity.key)
    for (const order of this.#orders) order.remove(entity)
  }

  change(entity: E, edit: () => void): void {
    for (const order of this.#orders) order.remove(entity)
    edit()
    for (const order of this.#orders) order.add(entity)
  }

  /** All of them are kept. */
  keep(): void {}
}
