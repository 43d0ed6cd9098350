// The whole world as a complete mirror must hold it: for every table of a mirror the key fields and the record, read
// past paging, faults and limits. Texts are verbatim, so that overridden ones can be compared to the last digit.

import { pricetableDays, yearText } from '../reads/resources.ts'
import { referenceTables } from '../records/references.ts'
import { rentalResourceText } from '../rules/rentals.ts'
import { availabilityText, unavailabilities } from '../world/calendar.ts'
import { addDays } from '../world/dates.ts'
import { type Entity, keyLiteral, type Rental, type Resource, tableKeys, type User } from '../world/entity.ts'
import { offeredDurations } from '../world/prices.ts'
import { findSlot, freeSlots, slotOptions, slotTides } from '../world/slots.ts'
import type { World } from '../world/world.ts'

export interface TruthOptions {
  /** First day of the horizons; default: the sandbox's today. */
  readonly today?: string
  /** Days of slots and availability. */
  readonly days?: number
  /** How many of a resource's durations, the first ones, for slots and availability. */
  readonly durations?: number
  /** Days of the price table. */
  readonly priceDays?: number
  /** Years of calendars, this year being the first. */
  readonly calendarYears?: number
  /** Only these tables. */
  readonly only?: readonly string[]
}

/** One row as JSON text: `{"key": {...}, "record": {...}}`; a record without an id has only its parent in the key. */
type Row = string

const quote = (value: string): string => JSON.stringify(value)
const row = (key: Readonly<Record<string, string>>, record: string): Row =>
  `{"key":{${Object.entries(key)
    .map(([name, literal]) => `"${name}":${literal}`)
    .join(',')}},"record":${record}}`

function entityRow(world: World, entity: Entity, above: Readonly<Record<string, string>> = {}): Row {
  const { field } = tableKeys[entity.table]
  return row(field ? { ...above, [field]: keyLiteral(entity) } : above, world.whole(entity))
}

/** A list inside a resource's record, also when the record's text is overridden. */
function embeddedList(resource: Resource, field: string): readonly Record<string, unknown>[] {
  const own: Record<string, unknown> = resource.raw === null ? resource.own : JSON.parse(resource.raw)
  const list = own[field]
  return Array.isArray(list) ? list : []
}

type ResourceRows = (world: World, resource: Resource, options: Required<Omit<TruthOptions, 'only'>>) => Row[]

const above = (resource: Resource) => ({ resource_id: quote(resource.key) })

const embeddedRows =
  (field: string): ResourceRows =>
  (_world, resource) =>
    embeddedList(resource, field).map((entry) =>
      row({ ...above(resource), id: JSON.stringify(entry.id ?? null) }, JSON.stringify(entry)),
    )

/** The dates and durations of the slot horizon. */
function horizon(resource: Resource, { today, days, durations }: Required<Omit<TruthOptions, 'only'>>) {
  const offered = offeredDurations(resource).slice(0, durations)
  return Array.from({ length: days }, (_, index) => addDays(today, index)).flatMap((date) =>
    offered.map((duration) => ({ date, duration })),
  )
}

function slotRows(below: (world: World, resource: Resource, slotId: string, slotText: string) => Row[]): ResourceRows {
  return (world, resource, options) =>
    horizon(resource, options).flatMap((wish) =>
      freeSlots(world, resource, wish).flatMap(({ id, text }) => below(world, resource, id, text)),
    )
}

const resourceTables: Readonly<Record<string, ResourceRows>> = {
  resources: (world, resource) => [entityRow(world, resource)],
  resource_characteristics: embeddedRows('characteristics'),
  resource_equipments: embeddedRows('equipments'),
  resource_durations: (_world, resource) =>
    embeddedList(resource, 'durations').map((entry) =>
      row(
        { ...above(resource), type: JSON.stringify(entry.type), value: JSON.stringify(entry.value) },
        JSON.stringify(entry),
      ),
    ),
  resource_options: (world, resource) => resource.options.map((option) => entityRow(world, option, above(resource))),
  resource_pricings: (world, resource) => resource.pricings.map((entry) => entityRow(world, entry, above(resource))),
  resource_pricetable: (_world, resource, { today, priceDays }) =>
    priceDays < 1
      ? []
      : pricetableDays(resource, today, addDays(today, priceDays - 1), offeredDurations(resource)).flatMap((day) =>
          day.pricetable.map((price) =>
            row(
              { ...above(resource), date: quote(day.date), duration: quote(price.duration) },
              JSON.stringify({ resourceId: resource.key, currency: resource.currency, date: day.date, ...price }),
            ),
          ),
        ),
  resource_availability: (world, resource, options) =>
    horizon(resource, options).map(({ date, duration }) =>
      row(
        { ...above(resource), date: quote(date), duration: quote(duration) },
        availabilityText(world, resource, date, duration),
      ),
    ),
  resource_availability_years: (world, resource, { today, calendarYears }) =>
    Array.from({ length: calendarYears }, (_, index) => String(Number(today.slice(0, 4)) + index)).map((year) =>
      row({ ...above(resource), year }, yearText(world, resource, year)),
    ),
  resource_unavailabilities: (world, resource, { today }) =>
    unavailabilities(world, resource, today).map((text) => row(above(resource), text)),
  resource_slots: slotRows((_world, resource, id, text) => [row({ ...above(resource), id: quote(id) }, text)]),
  resource_slot_options: slotRows((world, resource, id) => {
    const slot = findSlot(resource, id)
    const key = { ...above(resource), slot_id: quote(id) }
    return slot ? slotOptions(world, slot).map((option) => row({ ...key, id: option.id }, option.text)) : []
  }),
  resource_slot_tides: slotRows((_world, resource, id) => {
    const slot = findSlot(resource, id)
    return slot ? slotTides(slot).map((text) => row({ ...above(resource), slot_id: quote(id) }, text)) : []
  }),
}

const rentalTables: Readonly<Record<string, (world: World, rental: Rental) => Row[]>> = {
  rentals: (world, rental) => [entityRow(world, rental)],
  rental_resources: (_world, rental) => [row({ rental_id: keyLiteral(rental) }, rentalResourceText(rental))],
  rental_options: (world, rental) => rentalParts(world, rental, rental.options),
  rental_payments: (world, rental) => rentalParts(world, rental, rental.payments),
  rental_crew_members: (world, rental) => rentalParts(world, rental, rental.crew),
}

const rentalParts = (world: World, rental: Rental, parts: readonly Entity[]): Row[] =>
  parts.map((part) => entityRow(world, part, { rental_id: keyLiteral(rental) }))

const userTables: Readonly<Record<string, (world: World, user: User) => Row[]>> = {
  users: (world, user) => [entityRow(world, user)],
  user_identities: (world, user) => documentRows(world, user, user.identity),
  user_licenses: (world, user) => documentRows(world, user, user.license),
}

const documentRows = (world: World, user: User, document: Entity | null): Row[] =>
  document ? [entityRow(world, document, { user_id: keyLiteral(user) })] : []

/**
 * JSON text `{table: [{key, record}]}`, tables by their name in a mirror. Excludes test resources, which no list
 * shows; includes deactivated users.
 */
export function truthText(world: World, options: TruthOptions = {}): string {
  world.expire()
  const { today = world.today, days = 3, durations = 1, priceDays = 90, calendarYears = 2, only } = options
  const horizons = { today, days, durations, priceDays, calendarYears }
  const tables: string[] = []
  const add = (table: string, rows: () => Row[]): void => {
    if (!only || only.includes(table)) tables.push(`${quote(table)}:[${rows().join(',\n')}]`)
  }
  add('companies', () => world.companiesById.items.map((company) => entityRow(world, company)))
  for (const [table, rows] of Object.entries(resourceTables)) {
    add(table, () => world.listedResources.items.flatMap((resource) => rows(world, resource, horizons)))
  }
  for (const [table, rows] of Object.entries(rentalTables)) {
    add(table, () => {
      const { items } = world.rentalsById
      return items.slice(0, items.length).flatMap((rental) => rows(world, rental))
    })
  }
  for (const [table, rows] of Object.entries(userTables)) {
    add(table, () => [...world.activeUsers.items, ...world.deactivatedUsers.items].flatMap((user) => rows(world, user)))
  }
  for (const table of referenceTables) {
    add(table, () => world.references[table].order.items.map((entity) => entityRow(world, entity)))
  }
  return `{${tables.join(',\n')}}`
}
