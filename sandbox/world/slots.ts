// Slots of a resource for a date and a duration, their options and tides; a slot exists only during its request, and
// its id contains everything about it.

import { currencyObject, freeBoats } from './calendar.ts'
import { addDays, DAY_MS, dateOf, isDate, localDatetime, parseDuration, type Span, spansOf } from './dates.ts'
import type { Entity, Resource } from './entity.ts'
import { cents, offeredDurations, optionPrice, slotPrice } from './prices.ts'
import type { World } from './world.ts'

/** How far ahead slots are offered, days. */
const HORIZON_DAYS = 730

export interface Slot {
  readonly id: string
  readonly resource: Resource
  readonly span: Span
  readonly price: number
}

/** Length of a slot in days, fractions included. */
export const slotDays = ({ span }: Slot): number => (span.to - span.from) / DAY_MS

const slotId = (resource: Resource, date: string, duration: string, span: Span): string =>
  `${resource.key}/${date}/${duration}/${new Date(span.from).toISOString().slice(11, 16)}`

/** All slots a resource has on a date, taken or not; none for durations it does not offer. */
export function slotsOn(resource: Resource, date: string, durationText: string): Slot[] {
  const duration = parseDuration(durationText)
  if (!duration) return []
  if (duration.type !== 'DATE' && !offeredDurations(resource).includes(durationText)) return []
  const price = slotPrice(resource, duration, date)
  if (price === null) return []
  return spansOf(duration, date, resource.twoDepartures).map((span) => ({
    id: slotId(resource, date, durationText, span),
    resource,
    span,
    price,
  }))
}

/** The slot an id names, if that resource has it. */
export function findSlot(resource: Resource, id: string): Slot | undefined {
  const [date, duration] = id.slice(resource.key.length + 1).split('/')
  if (date === undefined || duration === undefined || !isDate(date)) return undefined
  return slotsOn(resource, date, duration).find((slot) => slot.id === id)
}

/** True when a slot may still be booked as far as its date goes. */
export function isBookableDate(world: World, slot: Slot): boolean {
  const day = dateOf(slot.span.from)
  return day >= world.today && day <= addDays(world.today, HORIZON_DAYS)
}

const mandatoryPrice = (slot: Slot): number =>
  slot.resource.options
    .filter((option) => option.own.isMandatory === true)
    .reduce((sum, option) => sum + optionPrice(option, slotDays(slot)), 0)

interface SlotWish {
  readonly date: string
  readonly duration: string
  /** Adds what the options cost that every rental must have. */
  readonly withMandatoryOptions?: boolean
}

/** JSON texts of the free slots (docs/sources.md, resources/resource-slot). */
export function freeSlots(
  world: World,
  resource: Resource,
  { date, duration, withMandatoryOptions = false }: SlotWish,
): { readonly id: string; readonly text: string }[] {
  return slotsOn(resource, date, duration)
    .filter((slot) => isBookableDate(world, slot) && resource.own.isRentable !== false)
    .map((slot) => ({ slot, free: freeBoats(world, resource, slot.span) }))
    .filter(({ free }) => free > 0)
    .map(({ slot, free }) => ({
      id: slot.id,
      text: JSON.stringify({
        id: slot.id,
        departureDatetime: localDatetime(slot.span.from, resource.winterOffset),
        arrivalDatetime: localDatetime(slot.span.to, resource.winterOffset),
        price: withMandatoryOptions ? cents(slot.price + mandatoryPrice(slot)) : slot.price,
        currency: currencyObject(resource.currency),
        nbResourcesAvailable: free,
      }),
    }))
}

/** Id of the slot option made from a resource option, as its price periods name it. */
export const slotOptionId = (optionKey: string): number => Number(optionKey) * 10 + 1

/** JSON texts of a slot's options, with their ids (docs/sources.md, resources/resource-slot-option). */
export function slotOptions(world: World, slot: Slot): { readonly id: string; readonly text: string }[] {
  return slot.resource.options.map((option: Entity) => {
    const price = optionPrice(option, slotDays(slot))
    const own = {
      id: slotOptionId(option.key),
      isIncluded: price === 0,
      isStockLimited: option.own.isMandatory !== true,
      price,
      quantityMin: option.own.isMandatory === true ? 1 : 0,
      quantityMax: option.own.isMandatory === true ? 1 : 4,
    }
    return { id: String(own.id), text: `${JSON.stringify(own).slice(0, -1)},"option":${world.text(option)}}` }
  })
}

const TIDE_MS = (12 * 60 + 25) * 60_000

/** JSON texts of high and low waters while the slot lasts, of its first day at most; their shape is not documented. */
export function slotTides({ resource, span }: Slot): string[] {
  const midnight = span.from - (span.from % DAY_MS)
  const firstHigh = midnight + (((midnight / DAY_MS) * 50 * 60_000) % TIDE_MS)
  const range = resource.hasTides ? 4.6 : 0.3
  const phase = Math.cos(((midnight / DAY_MS) % 14.77) * ((2 * Math.PI) / 14.77))
  const waters = [0, 0.5, 1, 1.5].map((step) => ({ at: firstHigh + step * TIDE_MS, high: Number.isInteger(step) }))
  return waters
    .filter(({ at }) => at < midnight + DAY_MS)
    .map(({ at, high }) =>
      JSON.stringify({
        datetime: localDatetime(Math.round(at / 60_000) * 60_000, resource.winterOffset),
        type: high ? 'HIGH' : 'LOW',
        height: cents(range * (high ? 1 + 0.3 * phase : 0.3 - 0.2 * phase)),
        coefficient: Math.round(70 + 40 * phase),
      }),
    )
}
