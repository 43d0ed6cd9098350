// Rentals past, present and future in every status, with options, payments and crew, none overlapping another.

import { messages } from '../data/people.ts'
import { addDays, DAY_MS, dayStart, localDatetime } from './dates.ts'
import { createEntity, type Entity, type Rental, type RentalOption, type Resource, type User } from './entity.ts'
import { makeBlock } from './generate-companies.ts'
import { makeName } from './generate-users.ts'
import { cents, offeredDurations, optionPrice, settleTotals } from './prices.ts'
import type { Random } from './random.ts'
import { type Slot, slotDays, slotsOn } from './slots.ts'
import type { World } from './world.ts'

/** Rentals lie between these days, counted from today. */
const FIRST_DAY = -400
const LAST_DAY = 200

/** What of a world rentals and their parts are made with. */
export type Making = Pick<World, 'text' | 'references' | 'nextId'> & { readonly clock: Pick<World['clock'], 'now'> }

/** The fields a new rental has, before anything is attached to it. */
export function createRental(world: Making, key: string, slot: Slot, createdAt: string): Rental {
  const { resource, span, price } = slot
  const harbour = resource.links.harbour ?? null
  return {
    ...createEntity(
      'rentals',
      key,
      {
        creationDatetime: createdAt,
        lastModificationDatetime: createdAt,
        departureDatetime: localDatetime(span.from, resource.winterOffset),
        arrivalDatetime: localDatetime(span.to, resource.winterOffset),
        crewAdults: 0,
        crewChildren: 0,
        message: null,
        status: 'PENDING',
        depositStatus: 'PENDING',
        depositPrice: Math.round(price / 100) * 200 + 500,
        depositCurrency: { code: resource.currency },
        paymentProgress: 0,
        totalPaid: 0,
        totalToPay: price,
        rentalPrice: price,
        discountPrice: 0,
        commissionPrice: null,
        contractLink: null,
        orderLink: null,
        referenceId: null,
      },
      { departureHarbour: harbour, arrivalHarbour: harbour, user: null },
    ),
    resource,
    initialPrice: price,
    resourceText: world.text(resource),
    options: [],
    payments: [],
    crew: [],
  }
}

/** An option booked with a rental: it keeps the option as it is now. */
export function createRentalOption(
  world: Making,
  slotDayCount: number,
  option: Entity,
  quantity: number,
): RentalOption {
  const price = optionPrice(option, slotDayCount)
  return {
    ...createEntity(
      'rental_options',
      world.nextId('rental_options', 300_001),
      { fees: cents(price * 0.05), downPaymentRate: 30, price, quantity, vatRate: 20 },
      { option: world.text(option) },
    ),
    optionKey: option.key,
  }
}

/** A payment line; `method` is a record of the payment methods, kept as it is now. */
export const createPayment = (world: Making, method: Entity, fields: Entity['own']): Entity =>
  createEntity('rental_payments', world.nextId('rental_payments', 400_001), fields, { method: world.text(method) })

/** A person on board. */
export const createCrewMember = (world: Making, fields: Entity['own']): Entity =>
  createEntity('rental_crew_members', world.nextId('rental_crew_members', 500_001), fields)

/** A crew member with a made-up name. */
export function makeCrewMember(world: Making, random: Random): Entity {
  const { firstName, lastName } = makeName(random)
  const email = random.chance(0.6) ? `crew.${random.int(1000, 9999)}@example.com` : null
  return createCrewMember(world, { firstName, lastName, email, type: random.chance(0.75) ? 'ADULT' : 'CHILD' })
}

/** A payment line of an amount. */
export function makePayment(world: Making, random: Random, price: number, currency: string): Entity {
  const method = random.pick([...world.references.rental_payment_methods.records.values()])
  return createPayment(world, method, { currency, price, reference: `PAY-${random.int(100_000, 999_999)}` })
}

const canceled = [
  'CANCELED_BY_CLIENT',
  'CANCELED_BY_CLIENT',
  'CANCELED_BAD_WEATHER',
  'CANCELED_BREAKDOWN',
  'CANCELED_PAYMENT',
]

interface Furnishing {
  readonly rental: Rental
  readonly slot: Slot
  readonly users: readonly User[]
  readonly complete?: boolean
}

/** Gives a bare rental its status, customer, options, payments and crew; `complete` ones have everything. */
export function furnish(world: Making, random: Random, { rental, slot, users, complete = false }: Furnishing): void {
  const { own, links, resource } = rental
  const past = own.departureDatetime !== undefined && slot.span.to < world.clock.now()
  own.status = !complete && random.chance(0.17) ? random.pick(canceled) : 'VALIDATED'
  const adults = random.int(1, 5)
  own.crewAdults = adults
  own.crewChildren = random.int(0, 3)
  own.message = random.chance(0.25) ? random.pick(messages) : null
  own.commissionPrice = random.chance(0.6) ? cents(rental.initialPrice * 0.1) : null
  own.discountPrice = random.chance(0.2) ? cents(rental.initialPrice * 0.1) : 0
  own.orderLink = random.chance(0.4) ? `https://orders.example.com/${rental.key}` : null
  own.contractLink = random.chance(0.3) ? `https://contracts.example.com/${rental.key}.pdf` : null
  own.referenceId = random.chance(0.4) ? `R-${rental.key}` : null
  if (users.length > 0 && (complete || random.chance(0.95))) links.user = random.pick(users)
  for (const option of resource.options) {
    if (option.own.isMandatory === true || random.chance(0.15)) {
      rental.options.push(
        createRentalOption(world, slotDays(slot), option, option.own.isMandatory === true ? 1 : random.int(1, 2)),
      )
    }
  }
  settleTotals(rental)
  const total = Number(own.totalToPay)
  if (own.status === 'VALIDATED' && (complete || random.chance(0.9))) {
    const down = cents(total * 0.3)
    rental.payments.push(makePayment(world, random, down, resource.currency))
    if (past) rental.payments.push(makePayment(world, random, cents(total - down), resource.currency))
  }
  const crew = complete ? 2 : random.chance(0.6) ? random.int(1, 3) : 0
  for (let index = 0; index < crew; index++) rental.crew.push(makeCrewMember(world, random))
  if (past && own.status === 'VALIDATED') own.depositStatus = random.pick(['RETURNED', 'RETURNED', 'RETURNED', 'KEPT'])
  else if (own.status === 'VALIDATED' && random.chance(0.3)) own.depositStatus = 'RECEIVED'
  settleTotals(rental)
}

interface Draft {
  readonly slot: Slot
  readonly createdMs: number
}

/** One slot inside a stretch of days, in season if chance allows; none if nothing fits. */
function draftIn(
  world: World,
  random: Random,
  resource: Resource,
  { firstDay, days }: { readonly firstDay: number; readonly days: number },
): Draft | undefined {
  const durations = offeredDurations(resource)
  const end = dayStart(addDays(world.today, firstDay + days))
  for (let attempt = 0; attempt < 5; attempt++) {
    const date = addDays(world.today, firstDay + random.int(0, Math.max(0, days - 1)))
    const [slot] = slotsOn(resource, date, random.pick(durations))
    if (!slot || slot.span.to > end) continue
    const month = Number(date.slice(5, 7))
    if (attempt < 3 && (month < 4 || month > 10) && random.chance(0.7)) continue
    return draftOf(world, random, slot)
  }
  return undefined
}

/** A booking of a slot, made some time before it and before now. */
function draftOf(world: World, random: Random, slot: Slot): Draft {
  const notice = random.int(1, 120) * DAY_MS + random.int(0, DAY_MS)
  const createdMs = Math.min(slot.span.from - notice, world.clock.now() - random.int(3_600_000, 30 * DAY_MS))
  return { slot, createdMs }
}

/** A slot running today: of the longest duration that is no longer than three days. */
function presentDraft(world: World, random: Random, resource: Resource): Draft | undefined {
  const duration = offeredDurations(resource)
    .filter((text) => !text.startsWith('WEEKS'))
    .at(-1)
  const multiDay = duration !== undefined && duration !== 'DAYS,1' && duration.startsWith('DAYS')
  const [slot] = duration ? slotsOn(resource, addDays(world.today, multiDay ? -1 : 0), duration) : []
  return slot && draftOf(world, random, slot)
}

/**
 * Rentals of one boat (offered by one or more resources), each in its own stretch of the calendar; two further
 * stretches hold a block each. With `present`, one rental is running today.
 */
function draftsOf(
  world: World,
  random: Random,
  offers: readonly Resource[],
  { count, present }: { readonly count: number; readonly present: boolean },
): Draft[] {
  const stretches = count + 2
  const length = Math.max(1, Math.floor((LAST_DAY - FIRST_DAY) / stretches))
  const isToday = (firstDay: number): boolean => firstDay <= 0 && firstDay + length > 0
  const order = random.shuffle(Array.from({ length: stretches }, (_, index) => FIRST_DAY + index * length))
  if (present) order.sort((a, b) => Number(isToday(b)) - Number(isToday(a)))
  const drafts: Draft[] = []
  for (const [index, firstDay] of order.entries()) {
    const resource = random.pick(offers)
    if (index < count) {
      const draft =
        present && isToday(firstDay)
          ? presentDraft(world, random, resource)
          : draftIn(world, random, resource, { firstDay, days: length })
      if (draft) drafts.push(draft)
      continue
    }
    const days = Math.min(random.int(2, 12), length)
    // The fleet stays bookable around today, so that a slot is always available.
    if (resource.fleet > 1 && firstDay + days >= -1 && firstDay <= 10) continue
    const reason = index === count ? 'MAINTENANCE' : 'CLOSED'
    resource.unavailabilities.push(makeBlock(world, resource, { from: addDays(world.today, firstDay), days, reason }))
  }
  return drafts
}

/** How many future rentals are still pending. */
const pendingCount = (rentals: number): number => Math.min(5, Math.max(1, Math.floor(rentals / 50)))

/** Fills the rentals, spread over the boats; ids follow creation. */
export function generateRentals(world: World, random: Random, count: number): void {
  const users = [...world.users.values()]
  const boats = new Map<string, Resource[]>()
  for (const resource of world.listedResources.items) {
    boats.set(resource.boatId, [...(boats.get(resource.boatId) ?? []), resource])
  }
  const drafts = [...boats.values()].flatMap((offers, index) => {
    const share = Math.floor(count / boats.size) + (index < count % boats.size ? 1 : 0)
    return draftsOf(world, random, offers, { count: share, present: index === 1 })
  })
  drafts.sort((a, b) => a.createdMs - b.createdMs)
  const now = world.clock.now()
  const future = drafts.filter(({ slot }) => slot.span.from > now + DAY_MS)
  const pending = new Set(future.slice(0, pendingCount(drafts.length)))
  const settled = drafts.filter((draft) => !pending.has(draft))
  const rentals = settled.map(({ slot, createdMs }, index) => {
    const rental = createRental(world, world.nextId('rentals', 20_001), slot, new Date(createdMs).toISOString())
    furnish(world, random, { rental, slot, users, complete: index === 0 })
    const changed = Math.min(createdMs + random.int(0, 20 * DAY_MS), now - 60_000)
    rental.own.lastModificationDatetime = new Date(Math.max(createdMs, changed)).toISOString()
    return rental
  })
  for (const { slot } of pending) {
    const createdAt = new Date(now - random.int(0, 60_000)).toISOString()
    rentals.push(createRental(world, world.nextId('rentals', 20_001), slot, createdAt))
  }
  world.loadRentals(rentals)
}
