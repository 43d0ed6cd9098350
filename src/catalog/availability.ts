// What changes with every booking: calendars, unavailabilities, availability and slots (docs/sources.md, 4.3).

import {
  bigint,
  boolean,
  currency,
  fromRequest,
  keyedByContent,
  numeric,
  reference,
  text,
  timestamp,
} from './columns.ts'
import { belowResource, resourceId } from './resources.ts'
import type { Column, StreamDef } from './types.ts'

const withSlots = { onlyWith: ['slotDays', 'slotDurations'] } as const
/** Read for the first durations of a resource. */
const byDuration = { ...withSlots, needs: ['resource_durations'] } as const

/** A new, changed or gone rental changes what is free of its boat. */
const dueByRentals = <const T extends string>(otherwise: T) =>
  ({ hotEvery: '1m', dueBy: { stream: 'rentals', column: 'resource_id', otherwise } }) as const

const askedDate = fromRequest('date', 'date', 'Requested day of departure.')
const askedDuration = fromRequest('duration', 'text', 'Requested duration as TYPE,VALUE.')

export const resourceAvailability: StreamDef = {
  name: 'resource_availability',
  comment:
    'Whether a resource is free on a day for a duration: SLOT_DAYS from today, the first SLOT_DURATIONS durations.',
  source: 'docs/sources.md, 4.3, resources/resource-availability',
  key: ['resource_id', 'date', 'duration'],
  ...belowResource,
  ...byDuration,
  columns: [
    resourceId,
    askedDate,
    askedDuration,
    boolean('isAvailable', 'True if free for that date and duration. Read only.'),
    numeric('price', 'Computed price. Read only.'),
    currency('currency', 'Currency, as text or as an object. Read only.'),
    text('rentalDelayMin', 'Minimum notice before departure. Read only.'),
    boolean('rentalDelayIsTooSmall', 'True if the request comes too late for that date. Read only.'),
    text('rentalDurationMin', 'Minimum rental duration. Read only.'),
    boolean('rentalDurationIsTooSmall', 'True if the requested duration is too short. Read only.'),
  ],
  reads: {
    kind: 'availability',
    batch: 'GET /v3/resources/availabilities',
    single: 'GET /v3/resources/{resourceId}/availability',
  },
  freshness: 'always',
  horizon: 'date',
  every: '2h',
  ...dueByRentals('1h'),
}

export const resourceAvailabilityYears: StreamDef = {
  name: 'resource_availability_years',
  comment: 'Calendar of a resource: one character per day of the year from 1 January, 0 free, 1 full.',
  source: 'docs/sources.md, 4.3, reference/retrieve-resource-availability-details/get-resource-availabilities',
  key: ['resource_id', 'year'],
  ...belowResource,
  columns: [
    resourceId,
    fromRequest('year', 'bigint', 'Calendar year.'),
    fromRequest('days', 'text', 'One character per day of the year from 1 January: 0 free, 1 full.'),
  ],
  reads: { kind: 'calendar', endpoint: 'GET /v3/resources/{resourceId}/availabilities' },
  freshness: 'always',
  horizon: 'year',
  onlyWith: ['calendarYears'],
  every: '1h',
  ...dueByRentals('10m'),
}

/** The end of an unavailability, whose shape is not published: the usual names of it first. */
const endOf = (of: 'start' | 'end', names: readonly string[], comment: string): Column => ({
  ...fromRequest(`${of}_datetime`, 'timestamptz', comment),
  moment: { of, names },
  lenient: true,
})

export const resourceUnavailabilities: StreamDef = {
  name: 'resource_unavailabilities',
  comment: 'Unavailabilities of a resource. Shape not published; the whole record is in _payload.',
  source: 'docs/sources.md, 4.3',
  key: ['resource_id', 'key'],
  keyed: 'content',
  passes: true,
  ...belowResource,
  columns: [
    resourceId,
    ...keyedByContent,
    endOf(
      'start',
      ['startDatetime', 'start', 'startDate', 'start_date', 'from', 'dateFrom', 'departureDatetime'],
      'Start; of a date alone, the start of that day in TIME_ZONE. Null if no member is known to say it.',
    ),
    endOf(
      'end',
      ['endDatetime', 'end', 'endDate', 'end_date', 'to', 'dateTo', 'arrivalDatetime'],
      'End, not included; of a date alone, the end of that day in TIME_ZONE. Null if no member is known to say it.',
    ),
  ],
  reads: { kind: 'collection', list: 'GET /v3/resources/{resourceId}/unavailabilities' },
  freshness: 'always',
  every: '6h',
  ...dueByRentals('10m'),
}

export const resourceSlots: StreamDef = {
  name: 'resource_slots',
  comment:
    'Slots of a resource: SLOT_DAYS from today, the first SLOT_DURATIONS durations. The price excludes mandatory options.',
  source: 'docs/sources.md, 4.3, resources/resource-slot',
  key: ['resource_id', 'id'],
  ...belowResource,
  ...byDuration,
  columns: [
    resourceId,
    text('id', 'Unique code built from resource id, date and duration. Read only.'),
    askedDate,
    askedDuration,
    timestamp('departureDatetime', 'Departure. Read only.'),
    timestamp('arrivalDatetime', 'Arrival. Read only.'),
    numeric('price', 'Slot price, excluding mandatory options. Read only.'),
    currency('currency', 'Currency, as text or as an object. Read only.'),
    bigint('nbResourcesAvailable', 'Number of boats free for this slot. Read only.'),
  ],
  switches: ['test', 'withMandatoryOptions'],
  reads: { kind: 'slots', list: 'GET /v3/resources/{resourceId}/slots' },
  freshness: 'always',
  horizon: 'date',
  every: '2h',
  ...dueByRentals('1h'),
}

const slotId: Column = fromRequest('slot_id', 'text', 'Slot: resource_slots.id.')
const belowSlot = {
  parent: 'resource_slots',
  parentParams: ['resourceId', 'slotId'],
  parentKey: ['resource_id', 'slot_id'],
  ...withSlots,
} as const

export const resourceSlotOptions: StreamDef = {
  name: 'resource_slot_options',
  comment: 'Options of a slot.',
  source: 'docs/sources.md, 4.3, resources/resource-slot-option',
  key: ['resource_id', 'slot_id', 'id'],
  ...belowSlot,
  columns: [
    resourceId,
    slotId,
    bigint('id', 'Slot option ID. Read only.'),
    reference('option.id', 'Option: resource_options.id. Read only.'),
    boolean('isIncluded', 'True if the option is included (in practice, its price is 0). Read only.'),
    boolean('isStockLimited', 'True if the number of options is limited. Read only.'),
    numeric('price', 'Price. Read only.'),
    bigint('quantityMin', 'Minimum quantity. Read only.'),
    bigint('quantityMax', 'Maximum quantity. Read only.'),
  ],
  reads: { kind: 'collection', list: 'GET /v3/resources/{resourceId}/slots/{slotId}/options' },
  freshness: 'always',
  scheduledAs: 'detail',
  every: '10m',
  alsoKnown: ['option'],
}

export const resourceSlotTides: StreamDef = {
  name: 'resource_slot_tides',
  comment: 'Tides during a slot. Shape not published; the whole record is in _payload.',
  source: 'docs/sources.md, 4.3',
  key: ['resource_id', 'slot_id', 'key'],
  keyed: 'content',
  ...belowSlot,
  columns: [resourceId, slotId, ...keyedByContent],
  reads: { kind: 'collection', list: 'GET /v3/resources/{resourceId}/slots/{slotId}/tides' },
  freshness: 'detail',
  every: '10m',
}
