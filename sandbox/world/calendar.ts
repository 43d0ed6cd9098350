// When a boat is taken: by rentals that are pending or validated, in any of its harbours, and by the company's own
// blocks. Everything that speaks of availability is computed from here. Times are wall-clock, as if UTC.

import {
  addDays,
  DAY_MS,
  daysInYear,
  daytime,
  lengthInMinutes,
  localDatetime,
  parseDuration,
  type Span,
  spansOf,
  wallTime,
} from './dates.ts'
import type { Entity, Rental, Resource } from './entity.ts'
import { offeredDurations, slotPrice } from './prices.ts'
import type { World } from './world.ts'

/** True for rentals that hold their slot: all but the canceled ones. */
export const holdsSlot = (rental: Rental): boolean => !String(rental.own.status).startsWith('CANCELED')

/** Currency as the object that slots, availability and options show; its contents are not documented. */
export const currencyObject = (code: string): { code: string } => ({ code })

const spanOf = (entity: Entity, from: string, to: string): Span => ({
  from: wallTime(entity.own[from]),
  to: wallTime(entity.own[to]),
})
const rentalSpan = (rental: Rental): Span => spanOf(rental, 'departureDatetime', 'arrivalDatetime')
const blockSpan = (block: Entity): Span => spanOf(block, 'startDatetime', 'endDatetime')
const overlaps = (a: Span, b: Span): boolean => a.from < b.to && b.from < a.to

/** Boats of a resource that are free during a span; `except` is excluded from the count. */
export function freeBoats(world: World, resource: Resource, span: Span, except?: Rental): number {
  if (resource.unavailabilities.some((block) => overlaps(blockSpan(block), span))) return 0
  let taken = 0
  for (const rental of world.rentalsOfBoat(resource.boatId, span)) {
    if (rental.key !== except?.key && holdsSlot(rental) && overlaps(rentalSpan(rental), span)) taken++
  }
  return Math.max(0, resource.fleet - taken)
}

/** True when the rental's own time is free of others, so that a canceled one may be validated again. */
export const canHoldSlot = (world: World, rental: Rental): boolean =>
  freeBoats(world, rental.resource, rentalSpan(rental), rental) > 0

/** `0` (free) or `1` (full) for every day of a year, 1 January first. */
export function yearBits(world: World, resource: Resource, year: number): string {
  const start = Date.UTC(year, 0, 1)
  const taken = new Array<number>(daysInYear(year)).fill(0)
  const mark = ({ from, to }: Span, boats: number): void => {
    if (Number.isNaN(from) || Number.isNaN(to)) return
    const first = Math.max(0, Math.floor((from - start) / DAY_MS))
    const last = Math.min(taken.length - 1, Math.floor((to - start) / DAY_MS))
    for (let day = first; day <= last; day++) {
      if (overlaps(daytime(start + day * DAY_MS), { from, to })) taken[day] = (taken[day] ?? 0) + boats
    }
  }
  for (const block of resource.unavailabilities) mark(blockSpan(block), resource.fleet)
  const wholeYear = { from: start, to: start + taken.length * DAY_MS }
  for (const rental of world.rentalsOfBoat(resource.boatId, wholeYear))
    if (holdsSlot(rental)) mark(rentalSpan(rental), 1)
  return taken.map((boats) => (boats >= resource.fleet ? '1' : '0')).join('')
}

/** JSON texts of the times a boat is taken, from today on: the company's blocks, then one for each rental. */
export function unavailabilities(world: World, resource: Resource, today: string): string[] {
  const from = Date.parse(`${today}T00:00:00Z`)
  const rentals = [...world.rentalsOfBoat(resource.boatId, { from, to: Number.POSITIVE_INFINITY })]
    .filter((rental) => holdsSlot(rental) && rentalSpan(rental).to >= from)
    .sort((a, b) => rentalSpan(a).from - rentalSpan(b).from)
  return [
    ...resource.unavailabilities.filter((block) => !(blockSpan(block).to < from)).map((block) => world.text(block)),
    ...rentals.map(({ own }) =>
      JSON.stringify({
        startDatetime: own.departureDatetime,
        endDatetime: own.arrivalDatetime,
        reason: 'RENTAL',
        nbResources: 1,
      }),
    ),
  ]
}

/** Days that a company keeps a boat for itself, `from` being the first. */
export interface BlockedDays {
  readonly from: string
  readonly days: number
  readonly reason: string
}

/** A block of the company's calendar, from the morning of one day to the evening of another. */
export const blockFields = (resource: Resource, { from, days, reason }: BlockedDays) => ({
  startDatetime: localDatetime(wallTime(`${from}T08:00:00`), resource.winterOffset),
  endDatetime: localDatetime(wallTime(`${addDays(from, days - 1)}T20:00:00`), resource.winterOffset),
  reason,
  nbResources: resource.fleet,
})

/**
 * JSON text of the availability on a date for a duration (docs/sources.md, resources/resource-availability); null for a
 * bad duration.
 */
export function availabilityText(world: World, resource: Resource, date: string, durationText: string): string {
  const duration = parseDuration(durationText)
  if (!duration) return 'null'
  const { today } = world
  const spans = spansOf(duration, date, resource.twoDepartures)
  const free = Math.max(0, ...spans.map((span) => freeBoats(world, resource, span)))
  const offered = offeredDurations(resource)
  const shortest = offered
    .map((text) => ({ text, minutes: lengthInMinutes(parseDuration(text) ?? duration) }))
    .sort((a, b) => a.minutes - b.minutes)[0]
  const weekday = new Date(`${date}T00:00:00Z`).getUTCDay()
  const delay = resource.delayDays[weekday === 0 || weekday === 6 ? 1 : 0]
  const tooLate = date < addDays(today, delay)
  const tooShort = shortest !== undefined && lengthInMinutes(duration, date) < shortest.minutes
  return JSON.stringify({
    isAvailable: free > 0 && !tooLate && !tooShort && date >= today,
    price: slotPrice(resource, duration, date),
    currency: currencyObject(resource.currency),
    rentalDelayMin: `DAYS,${delay}`,
    rentalDelayIsTooSmall: tooLate,
    rentalDurationMin: shortest?.text ?? null,
    rentalDurationIsTooSmall: tooShort,
  })
}
