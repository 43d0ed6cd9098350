// Calendars, prices by day, slots and tides of a resource (docs/sources.md, resources/resource-availability,
// resources/resource-slot, resources/resource-slot-option, resources/pricetable,
// reference/retrieve-resource-availability-details/get-resource-availabilities).

import { ResourceOption } from './resources.ts'
import { embedded, flag, formatted, integer, list, number, opaque, record, text } from './schema.ts'

export const Availability = record('Availability', 'Free or not', {
  isAvailable: flag('Free for that date and duration'),
  price: number('Computed price'),
  currency: opaque('Currency'),
  rentalDelayMin: text('Shortest notice before departure'),
  rentalDelayIsTooSmall: flag('The request comes too late for that date'),
  rentalDurationMin: text('Shortest rental'),
  rentalDurationIsTooSmall: flag('The asked duration is too short'),
})

/** The names of its members are not documented. */
export const AvailabilityYear = record('AvailabilityBitstring', 'One character per day of a year', {
  year: text('Year'),
  bitstring: text('0 = free, 1 = full; the first character is 1 January'),
})

/** Its shape is not documented: made up, without an id. */
export const Unavailability = record('Unavailability', 'A time a boat can not be rented', {
  startDatetime: formatted('date-time', 'From'),
  endDatetime: formatted('date-time', 'To'),
  reason: text('RENTAL, MAINTENANCE, CLOSED'),
  nbResources: integer('Number of boats taken'),
})

export const Slot = record('Slot', 'A time a boat can be rented', {
  id: text('Unique code built from resource id, date and duration'),
  departureDatetime: formatted('date-time', 'Departure'),
  arrivalDatetime: formatted('date-time', 'Arrival'),
  price: number('Slot price'),
  currency: opaque('Currency'),
  nbResourcesAvailable: integer('Boats free for this slot'),
})

export const SlotOption = record('SlotOption', 'An option of a slot', {
  id: integer('Slot option ID'),
  isIncluded: flag('True if it costs nothing'),
  isStockLimited: flag('True if the stock is limited'),
  option: embedded(ResourceOption, 'Option'),
  price: number('Price for the slot'),
  quantityMin: integer('Smallest quantity'),
  quantityMax: integer('Largest quantity'),
})

/** Its shape is not documented: made up, without an id. */
export const Tide = record('Tide', 'High or low water during a slot', {
  datetime: formatted('date-time', 'When'),
  type: text('HIGH, LOW'),
  height: number('Height, metres'),
  coefficient: integer('Tidal coefficient'),
})

const DayPrice = record('DayPrice', 'Price of a duration', {
  duration: text('TYPE,VALUE'),
  base_price: number('Price of that duration'),
})

const PricetableDay = record('PricetableDay', 'Prices of a day', {
  date: formatted('date', 'Day'),
  pricetable: list(DayPrice, 'Prices'),
})

export const Pricetable = record('Pricetable', 'Prices by day and duration', {
  resourceId: text('Resource'),
  currency: text('Currency of all prices'),
  results: list(PricetableDay, 'One entry per date'),
})
