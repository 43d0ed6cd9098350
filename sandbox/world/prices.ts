// What a boat costs on a day for a duration, from its pricing records; and what options and a whole rental cost.

import { type Duration, lengthInMinutes } from './dates.ts'
import type { Entity, Rental, Resource } from './entity.ts'

/** Rounds to cents. */
export const cents = (amount: number): number => Math.round(amount * 100) / 100

const amount = (value: unknown): number => (typeof value === 'number' ? value : 0)

/** The resource's durations as `TYPE,VALUE`, in the order it offers them. */
export function offeredDurations(resource: Resource): string[] {
  const { durations } = resource.own
  if (!Array.isArray(durations)) return []
  return durations.map((entry: { type?: unknown; value?: unknown }) => `${entry.type},${entry.value}`)
}

/** True when the day (`MM-DD`) of a date lies in a pricing's season; seasons return every year. */
function inSeason(pricing: Entity, date: string): boolean {
  const { startDate, endDate } = pricing.own
  const day = date.slice(5)
  return String(startDate).slice(5) <= day && day <= String(endDate).slice(5)
}

/** Base price of an offered duration that starts on a date; null when no pricing says. */
export function basePrice(resource: Resource, duration: string, date: string): number | null {
  const pricing = resource.pricings.find((entry) => entry.own.duration === duration && inSeason(entry, date))
  const price = pricing?.own.price
  return typeof price === 'number' ? price : null
}

/** Base price of any duration: an offered one by its pricing, `DATE` by the day. */
export function slotPrice(resource: Resource, duration: Duration, date: string): number | null {
  if (duration.type !== 'DATE') return basePrice(resource, `${duration.type},${duration.value}`, date)
  const days = lengthInMinutes(duration, date) / 1440
  const perDay = basePrice(resource, 'DAYS,1', date) ?? (basePrice(resource, 'DAYS,2', date) ?? Number.NaN) / 2
  return Number.isNaN(perDay) ? null : cents(perDay * days)
}

/** Price of one piece of an option over a number of days. */
export function optionPrice(option: Entity, days: number): number {
  const [first] = Array.isArray(option.own.prices) ? (option.own.prices as { price?: unknown; unit?: unknown }[]) : []
  const price = amount(first?.price)
  return first?.unit === 'DAY' ? cents(price * Math.max(1, Math.ceil(days))) : price
}

/** Brings `totalToPay`, `totalPaid` and `paymentProgress` in line with prices, options and payments. */
export function settleTotals(rental: Rental): void {
  const options = rental.options.reduce((sum, { own }) => sum + amount(own.price) * amount(own.quantity), 0)
  const toPay = cents(Math.max(0, amount(rental.own.rentalPrice) - amount(rental.own.discountPrice)) + options)
  const paid = cents(rental.payments.reduce((sum, { own }) => sum + amount(own.price), 0))
  rental.own.totalToPay = toPay
  rental.own.totalPaid = paid
  rental.own.paymentProgress = toPay === 0 ? 0 : Math.round((paid / toPay) * 100)
}
