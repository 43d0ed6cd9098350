// Everything below a resource: durations, prices, options, calendars, slots with their options and tides
// (docs/sources.md, 4.3).

import {
  type Answer,
  badField,
  below,
  type Call,
  dateQuery,
  type Handlers,
  notFound,
  recordAnswer,
  requiredQuery,
  resourceById,
  resourceOf,
} from '../call.ts'
import { availabilityText, unavailabilities, yearBits } from '../world/calendar.ts'
import { byKey } from '../world/collection.ts'
import { addDays, type Duration, daysBetween, lengthInMinutes, parseDuration } from '../world/dates.ts'
import type { Resource } from '../world/entity.ts'
import { basePrice, offeredDurations } from '../world/prices.ts'
import { findSlot, freeSlots, type Slot, slotOptions, slotTides } from '../world/slots.ts'
import type { World } from '../world/world.ts'

/** Longest price table, days; a longer range is refused. */
const PRICETABLE_DAYS = 366
/** Length of a price table whose end is not asked for, days. */
const PRICETABLE_DEFAULT_DAYS = 30

function durationQuery(call: Call, name: string): { text: string; duration: Duration } {
  const text = requiredQuery(call, name)
  const duration = parseDuration(text)
  if (!duration) throw badField(name, 'must be TYPE,VALUE with MINUTES, PERIODS, DAYS, WEEKS or DATE')
  return { text, duration }
}

function requiredDate(call: Call, name: string): string {
  requiredQuery(call, name)
  return dateQuery(call, name) ?? ''
}

/** Prices of a resource from one date to another, both included, by day. */
export function pricetableDays(resource: Resource, from: string, to: string, durations: readonly string[]) {
  return Array.from({ length: daysBetween(from, to) + 1 }, (_, index) => {
    const date = addDays(from, index)
    const pricetable = durations.flatMap((duration) => {
      const price = basePrice(resource, duration, date)
      return price === null ? [] : [{ duration, base_price: price }]
    })
    return { date, pricetable }
  })
}

function pricetable(call: Call): Answer {
  const resource = resourceOf(call)
  const from = dateQuery(call, 'from') ?? call.world.today
  const to = dateQuery(call, 'to') ?? addDays(from, PRICETABLE_DEFAULT_DAYS - 1)
  if (to < from) throw badField('to', 'lies before from')
  if (daysBetween(from, to) >= PRICETABLE_DAYS) throw badField('to', `is more than ${PRICETABLE_DAYS} days after from`)
  const bound = (name: string, otherwise: number): number =>
    call.query[name] ? lengthInMinutes(durationQuery(call, name).duration) : otherwise
  const min = bound('duration_min', 0)
  const max = bound('duration_max', Number.POSITIVE_INFINITY)
  const durations = offeredDurations(resource).filter((text) => {
    const duration = parseDuration(text)
    const minutes = duration ? lengthInMinutes(duration) : Number.NaN
    return minutes >= min && minutes <= max
  })
  const results = pricetableDays(resource, from, to, durations)
  return {
    kind: 'record',
    text: JSON.stringify({ resourceId: resource.key, currency: resource.currency, results }),
  }
}

function oneAvailability(call: Call): Answer {
  const resource = resourceOf(call)
  const date = requiredDate(call, 'date')
  const { text } = durationQuery(call, 'duration')
  return { kind: 'record', text: availabilityText(call.world, resource, date, text) }
}

/** One Availability for each id, in the order asked for. */
function manyAvailabilities(call: Call): Answer {
  const ids = requiredQuery(call, 'resourceIds').split(',')
  const date = requiredDate(call, 'date')
  const { text } = durationQuery(call, 'duration')
  const resources = ids.map((id) => resourceById(call, id))
  return { kind: 'texts', texts: resources.map((resource) => availabilityText(call.world, resource, date, text)) }
}

function yearAvailability(call: Call): Answer {
  const resource = resourceOf(call)
  const year = call.query.year || call.world.today.slice(0, 4)
  if (!/^[12]\d{3}$/.test(year)) throw badField('year', 'must be a year of four digits')
  return { kind: 'record', text: yearText(call.world, resource, year) }
}

/** JSON text of the bitstring record of a year; the names of its members are not documented. */
export const yearText = (world: World, resource: Resource, year: string): string =>
  JSON.stringify({ year, bitstring: yearBits(world, resource, Number(year)) })

function slots(call: Call): Answer {
  const resource = resourceOf(call)
  const date = requiredDate(call, 'date')
  const { text: duration } = durationQuery(call, 'duration')
  const withMandatoryOptions = call.query.withMandatoryOptions === 'true'
  const found = freeSlots(call.world, resource, { date, duration, withMandatoryOptions })
  return { kind: 'texts', texts: found.map((slot) => slot.text) }
}

/** The slot of the path; a slot's own reads have no `test` parameter, so its resource is found without. */
function slotOf(call: Call): Slot {
  const { resourceId = '', slotId = '' } = call.params
  const resource = call.world.resources.get(resourceId)
  if (!resource) throw notFound(`Resource ${resourceId}`)
  const slot = findSlot(resource, slotId)
  if (!slot) throw notFound(`Slot ${slotId}`)
  return slot
}

const path = '/v3/resources/{resourceId}'

export const resourceHandlers: Handlers = {
  [`GET ${path}`]: (call) => recordAnswer(call, resourceOf(call)),
  [`GET ${path}/durations`]: (call) => {
    const { durations } = resourceOf(call).own
    dateQuery(call, 'date')
    return { kind: 'texts', texts: Array.isArray(durations) ? durations.map((entry) => JSON.stringify(entry)) : [] }
  },
  [`GET ${path}/pricetable`]: pricetable,
  [`GET ${path}/pricings`]: (call) => ({
    kind: 'texts',
    texts: resourceOf(call).pricings.map((pricing) => call.world.text(pricing)),
  }),
  [`GET ${path}/options`]: (call) => ({
    kind: 'list',
    items: resourceOf(call).options,
    compare: byKey,
    summary: ['id', 'name'],
    paging: 'below',
  }),
  [`GET ${path}/options/{optionId}`]: (call) =>
    recordAnswer(call, below(call, resourceOf(call).options, 'optionId', 'Resource option')),
  'GET /v3/resources/availabilities': manyAvailabilities,
  [`GET ${path}/availabilities`]: yearAvailability,
  [`GET ${path}/availability`]: oneAvailability,
  [`GET ${path}/unavailabilities`]: (call) => ({
    kind: 'texts',
    texts: unavailabilities(call.world, resourceOf(call), call.world.today),
  }),
  [`GET ${path}/slots`]: slots,
  [`GET ${path}/slots/{slotId}/options`]: (call) => ({
    kind: 'texts',
    texts: slotOptions(call.world, slotOf(call)).map(({ text }) => text),
  }),
  [`GET ${path}/slots/{slotId}/tides`]: (call) => ({ kind: 'texts', texts: slotTides(slotOf(call)) }),
}
