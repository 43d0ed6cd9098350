// A million rentals without storing them: each is made from seed and number only, on demand. Each boat's calendar is
// cut into stretches; a number names a stretch and a boat, so that rentals of one boat never overlap, and numbers
// follow the order of creation.

import { addDays, DAY_MS, dateOf, dayStart, lengthInMinutes, parseDuration, type Span } from './dates.ts'
import { createEntity, type Entity, type Rental, type Resource, type Table } from './entity.ts'
import { makeBlock } from './generate-companies.ts'
import { createRental, furnish, type Making } from './generate-rentals.ts'
import { offeredDurations } from './prices.ts'
import { createRandom } from './random.ts'
import { slotsOn } from './slots.ts'
import type { CalendarSource } from './streamed.ts'
import type { World } from './world.ts'

const FIRST_ID = 20_001
/** Days of a boat's calendar that one rental lies in. */
const STRETCH_DAYS = 4
/** The last stretch ends so many days from today; a rental is booked so many days before its stretch begins. */
const LAST_DAY = 60
/** No rental has more records of one kind below it. */
const PARTS = 8
const firstPartIds = { rental_options: 300_001, rental_payments: 400_001, rental_crew_members: 500_001 } as const

/** A resource as it is when the stream begins: later changes of it do not change what was booked. */
interface Offer {
  readonly live: Resource
  readonly booked: Resource
  readonly text: string
}

const copyOf = <E extends Entity>(entity: E): E => ({ ...entity, own: { ...entity.own }, cache: null })

const offerOf = (world: World, live: Resource): Offer => ({
  live,
  booked: { ...copyOf(live), options: live.options.map(copyOf), pricings: live.pricings.map(copyOf) },
  text: world.text(live),
})

/** Rentals by number, and which numbers a time or a boat may have. */
export class RentalSource implements CalendarSource<Rental> {
  readonly length: number
  readonly #world: World
  readonly #boats: readonly (readonly Offer[])[]
  readonly #boatNumbers: ReadonlyMap<string, number>
  readonly #users: readonly string[]
  /** Midnight of the first stretch's first day. */
  readonly #first: number
  /** Midnight of the day on which the stream began: what is past and what is to come. */
  readonly #now: number

  constructor(world: World, length: number) {
    const boats = new Map<string, Offer[]>()
    for (const resource of world.listedResources.items)
      boats.set(resource.boatId, [...(boats.get(resource.boatId) ?? []), offerOf(world, resource)])
    this.length = length
    this.#world = world
    this.#boats = [...boats.values()]
    this.#boatNumbers = new Map([...boats.keys()].map((boatId, index) => [boatId, index]))
    this.#users = [...world.users.values()].map(({ key }) => key)
    this.#now = dayStart(world.today)
    this.#first = this.#now + (LAST_DAY - STRETCH_DAYS * Math.ceil(length / this.#boats.length)) * DAY_MS
    world.reserveId('rentals', String(FIRST_ID + length - 1))
    for (const [table, first] of Object.entries(firstPartIds))
      world.reserveId(table as Table, String(first + length * PARTS))
  }

  numberOf(key: string): number | undefined {
    if (!/^[1-9]\d{0,14}$/.test(key)) return undefined
    const number = Number(key) - FIRST_ID
    return number >= 0 && number < this.length ? number : undefined
  }

  mark(number: number): Entity {
    return createEntity('rentals', String(FIRST_ID + number), { creationDatetime: this.#createdAt(number) })
  }

  make(number: number): Rental {
    const random = createRandom(this.#world.seed, `rental/${number}`)
    const { live, booked, text } = random.pick(this.#boats[number % this.#boats.length] ?? [])
    const durations = offeredDurations(booked).filter((name) => daysOf(name) < STRETCH_DAYS)
    const duration = random.pick(durations)
    const day = dateOf(this.#stretch(number) + random.int(0, STRETCH_DAYS - 1 - daysOf(duration)) * DAY_MS)
    const [slot] = slotsOn(booked, day, duration)
    if (slot === undefined) throw new Error(`Resource ${booked.key} has no slot of ${duration} on ${day}`)
    const making = this.#making(number)
    const rental = createRental(making, String(FIRST_ID + number), slot, this.#createdAt(number))
    const user = this.#world.users.get(random.pick(this.#users))
    furnish(making, random, { rental, slot, users: user === undefined ? [] : [user] })
    const created = this.#createdMs(number)
    const changed = Math.min(created + random.int(0, 20 * DAY_MS), this.#now)
    rental.own.lastModificationDatetime = new Date(Math.max(created, changed)).toISOString()
    return { ...rental, resource: live, resourceText: text }
  }

  departing(from: string | undefined, to: string | undefined): readonly [from: number, to: number] {
    return [
      from === undefined ? 0 : this.#round(from) * this.#boats.length,
      to === undefined ? this.length : (this.#round(to) + 1) * this.#boats.length,
    ]
  }

  *ofBoat(boatId: string, { from, to }: Span): Iterable<number> {
    const boat = this.#boatNumbers.get(boatId)
    if (boat === undefined) return
    const rounds = Math.ceil(this.length / this.#boats.length)
    const last = to === Number.POSITIVE_INFINITY ? rounds : this.#round(dateOf(to))
    for (let round = Math.max(0, this.#round(dateOf(from))); round <= Math.min(last, rounds); round++) {
      const number = round * this.#boats.length + boat
      if (number < this.length) yield number
    }
  }

  #round(day: string): number {
    return Math.floor((dayStart(day) - this.#first) / (STRETCH_DAYS * DAY_MS))
  }

  /** Midnight of the first day of a number's stretch. */
  #stretch(number: number): number {
    return this.#first + STRETCH_DAYS * DAY_MS * Math.floor(number / this.#boats.length)
  }

  #createdMs(number: number): number {
    const share = (number % this.#boats.length) / this.#boats.length
    return this.#stretch(number) - LAST_DAY * DAY_MS + Math.floor(share * STRETCH_DAYS * DAY_MS)
  }

  #createdAt(number: number): string {
    return new Date(this.#createdMs(number)).toISOString()
  }

  /** What a rental is made with: ids of its parts follow from its number, and time stands still. */
  #making(number: number): Making {
    const made = new Map<Table, number>()
    const world = this.#world
    return {
      text: (entity) => world.text(entity),
      references: world.references,
      clock: { now: () => this.#now },
      nextId: (table, first = 1) => {
        const index = made.get(table) ?? 0
        made.set(table, index + 1)
        return String(first + number * PARTS + index)
      },
    }
  }
}

/** Days that a duration takes part of. */
function daysOf(name: string): number {
  const duration = parseDuration(name)
  return duration === null ? Number.POSITIVE_INFINITY : Math.max(0, Math.ceil(lengthInMinutes(duration) / 1_440) - 1)
}

/** Makes rentals on demand, and gives each boat a block behind the last of them. */
export function streamRentals(world: World, count: number): void {
  const random = createRandom(world.seed, 'blocks')
  for (const resource of world.listedResources.items) {
    const from = addDays(world.today, LAST_DAY + random.int(1, 60))
    resource.unavailabilities.push(makeBlock(world, resource, { from, days: random.int(2, 12), reason: 'MAINTENANCE' }))
  }
  world.streamRentals(new RentalSource(world, count))
}
