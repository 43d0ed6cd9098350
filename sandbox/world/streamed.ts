// Records that are too many to store: each is made from its number on demand, the same at any time. Changed and
// inserted records are stored and take precedence; deleted ones are skipped.

import {
  type Compare,
  countBefore,
  type Ordered,
  type Records,
  type Selection,
  type Sequence,
  viewOf,
} from './collection.ts'
import type { Span } from './dates.ts'
import type { Entity } from './entity.ts'

/** Where records come from, by numbers from 0 that follow every order they are listed in. */
export interface Source<E extends Entity> {
  readonly length: number
  /** The number of the record with a key; undefined: it is none of these. */
  numberOf(key: string): number | undefined
  /** A placeholder for a record where only its position in an order counts. */
  mark(number: number): Entity
  make(number: number): E
}

/** A source of rentals: numbers follow the calendars of the boats, too. */
export interface CalendarSource<E extends Entity> extends Source<E> {
  /** From the first number that may depart on some days to the first behind them; no bound: no day. */
  departing(from: string | undefined, to: string | undefined): readonly [from: number, to: number]
  /** Numbers of one boat's rentals that may reach into a time. */
  ofBoat(boatId: string, time: Span): Iterable<number>
}

/** Selections whose places are remembered, so that the pages of one are found once. */
const REMEMBERED = 8
/** Records made for a single read that are remembered: who reads one within a change gets the same. */
const RECENT = 100

/** Numbers of the source that are not shown as they are made, in order. */
class Missing {
  readonly #numbers: number[] = []

  get length(): number {
    return this.#numbers.length
  }

  has(number: number): boolean {
    return this.#numbers[this.before(number)] === number
  }

  add(number: number): void {
    const place = this.before(number)
    if (this.#numbers[place] !== number) this.#numbers.splice(place, 0, number)
  }

  /** How many lie before a number. */
  before(number: number): number {
    return countBefore(this.#numbers, (each) => each < number)
  }

  /** The number of the `index`th record that is shown as it is made. */
  shown(index: number): number {
    let low = 0
    let high = this.#numbers.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#numbers[middle] ?? 0) - middle <= index) low = middle + 1
      else high = middle
    }
    return index + low
  }
}

/** One order of the records; places count kept and made ones together. */
class StreamedOrder<E extends Entity> implements Ordered<E> {
  readonly compare: Compare<Entity>
  readonly items: Sequence<E>
  readonly #source: Source<E>
  readonly #missing: Missing
  /** Kept records in order, with how many of the source's numbers lie before each. */
  readonly #kept: { readonly entity: E; readonly rank: number }[] = []
  #places: number[] | null = null
  readonly #selected = new Map<string, Uint32Array>()

  constructor(compare: Compare<Entity>, source: Source<E>, missing: Missing) {
    this.compare = compare
    this.#source = source
    this.#missing = missing
    const order = this
    this.items = {
      get length() {
        return source.length - missing.length + order.#kept.length
      },
      at: (index) => order.#at(index),
      slice: (start, end) => viewOf(order.items, order.items.length, (index) => index).slice(start, end),
    }
  }

  add(entity: E): void {
    const numbers = { length: this.#source.length, at: (number: number) => this.#source.mark(number) }
    const rank = countBefore(numbers, (mark) => this.compare(mark, entity) < 0)
    const place = countBefore(this.#kept, (other) => this.compare(other.entity, entity) < 0)
    this.#kept.splice(place, 0, { entity, rank })
    this.moved()
  }

  remove(entity: E): void {
    const place = countBefore(this.#kept, (other) => this.compare(other.entity, entity) < 0)
    if (this.#kept[place]?.entity === entity) this.#kept.splice(place, 1)
    this.moved()
  }

  /** Forgets where records stand. */
  moved(): void {
    this.#places = null
    this.#selected.clear()
  }

  select({ name, tests, within: [from, to] = [0, this.#source.length] }: Selection<E>): Sequence<E> {
    if (tests.length === 0) return this.items
    const passes = (entity: E | undefined): boolean => entity !== undefined && tests.every((test) => test(entity))
    let found = this.#selected.get(name)
    if (found === undefined) {
      const places = this.#keptPlaces().filter((_, index) => passes(this.#kept[index]?.entity))
      for (let number = Math.max(0, from); number < Math.min(to, this.#source.length); number++)
        if (!this.#missing.has(number) && passes(this.#source.make(number))) places.push(this.#placeOf(number))
      found = Uint32Array.from(places).sort()
      if (this.#selected.size >= REMEMBERED) this.#selected.clear()
      this.#selected.set(name, found)
    }
    const places = found
    return viewOf(this.items, places.length, (index) => places[index] ?? 0)
  }

  #keptPlaces(): readonly number[] {
    this.#places ??= this.#kept.map(({ rank }, index) => rank - this.#missing.before(rank) + index)
    return this.#places
  }

  #at(index: number): E | undefined {
    if (index < 0 || index >= this.items.length) return undefined
    const places = this.#keptPlaces()
    const before = countBefore(places, (place) => place < index)
    if (places[before] === index) return this.#kept[before]?.entity
    return this.#source.make(this.#missing.shown(index - before))
  }

  /** Where a record of the source stands that is shown as it is made. */
  #placeOf(number: number): number {
    const shown = number - this.#missing.before(number)
    return shown + countBefore(this.#kept, ({ rank }) => rank <= number)
  }
}

/** Records of a source, and what was changed of them. */
export class StreamedRecords<E extends Entity> implements Records<E> {
  readonly #source: Source<E>
  readonly #missing = new Missing()
  readonly #kept = new Map<string, E>()
  readonly #recent = new Map<string, E>()
  readonly orders: readonly StreamedOrder<E>[]

  constructor(source: Source<E>, compares: readonly Compare<Entity>[]) {
    this.#source = source
    this.orders = compares.map((compare) => new StreamedOrder(compare, source, this.#missing))
  }

  get size(): number {
    return this.#source.length - this.#missing.length + this.#kept.size
  }

  get(key: string): E | undefined {
    const known = this.#kept.get(key) ?? this.#recent.get(key)
    if (known !== undefined) return known
    const number = this.#source.numberOf(key)
    if (number === undefined || this.#missing.has(number)) return undefined
    const made = this.#source.make(number)
    if (this.#recent.size >= RECENT) this.#recent.clear()
    this.#recent.set(key, made)
    return made
  }

  values(): IterableIterator<E> {
    return this.#kept.values()
  }

  /** Those of some numbers that are shown as they are made. */
  *made(numbers: Iterable<number>): Iterable<E> {
    for (const number of numbers) if (!this.#missing.has(number)) yield this.#source.make(number)
  }

  load(entities: Iterable<E>): void {
    for (const entity of entities) this.add(entity)
  }

  add(entity: E): void {
    const before = this.#kept.get(entity.key)
    if (before) this.remove(before)
    this.#leaveOut(entity.key)
    this.#kept.set(entity.key, entity)
    for (const order of this.orders) order.add(entity)
  }

  remove(entity: E): void {
    this.#leaveOut(entity.key)
    if (!this.#kept.delete(entity.key)) return
    for (const order of this.orders) order.remove(entity)
  }

  change(entity: E, edit: () => void): void {
    this.keep(entity)
    for (const order of this.orders) order.remove(entity)
    edit()
    for (const order of this.orders) order.add(entity)
  }

  keep(entity: E): void {
    if (this.#kept.get(entity.key) !== entity) this.add(entity)
  }

  #leaveOut(key: string): void {
    const number = this.#source.numberOf(key)
    if (number === undefined) return
    this.#missing.add(number)
    this.#recent.delete(key)
    for (const order of this.orders) order.moved()
  }
}
