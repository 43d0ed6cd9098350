// What the mirror knows of when a boat is taken.

import { streamNamed } from '../../catalog/catalog.ts'
import type { Queryable } from '../../database/sql.ts'
import { boatOf, isFleet, localDay, timeZone } from '../../reports/pieces.ts'
import { isCanceled } from '../../reports/rentals.ts'
import type { BoatFacts, CalendarYear, Stay } from './busy-times.ts'

export type Boat = BoatFacts & {
  readonly name: string
  /** Everything older than this upstream is in the facts; null: something was not read yet. */
  readonly asOf: Date | null
}

/** Streams that say when a boat is taken. */
const streams = [
  streamNamed('rentals'),
  streamNamed('resources'),
  streamNamed('resource_unavailabilities'),
  streamNamed('resource_availability_years'),
].map(({ name }) => name)

/**
 * Reads a resource by its id, in the caller's transaction, which should see one moment. Rentals are those of the
 * boat, in all its harbours; for a resource of several boats a single rental shows nothing.
 * @returns null: the resource does not exist
 */
export async function readBoat(db: Queryable, resourceId: string): Promise<Boat | null> {
  const { rows } = await db.query<
    Pick<Boat, 'name' | 'isRentable' | 'changedAt' | 'asOf'> & { boat: string; fleet: boolean }
  >(
    `select coalesce(b.name, b.id) as name, b.is_rentable is distinct from false as "isRentable", b._changed_at as "changedAt",
       ${boatOf('b')} as boat, ${isFleet('b')} as fleet,
       (select case when count(as_of) = count(*) then min(as_of) end from sync.streams where stream = any($2)) as "asOf"
     from mirror.resources b where b.id = $1 and b._deleted_at is null`,
    [resourceId, streams],
  )
  const [boat] = rows
  if (boat === undefined) return null
  const rentals = boat.fleet ? [] : await readRentals(db, boat.boat)
  const blocks = await readBlocks(db, resourceId)
  const years = await readYears(db, resourceId)
  const { name, isRentable, changedAt, asOf } = boat
  return {
    ...{ resourceId, name, isRentable, changedAt, asOf, years },
    stays: [...rentals, ...ownBlocks(blocks, rentals, boat.fleet)],
  }
}

type Block = Stay & { readonly isOfRental: boolean }

/** The API shows a block for each rental, too: one that is known is shown once, and one boat of several is not all of them. */
const ownBlocks = (blocks: readonly Block[], rentals: readonly Stay[], isFleet: boolean): readonly Stay[] =>
  blocks
    .filter(({ from, to, isOfRental }) => {
      if (isFleet) return !isOfRental
      return !rentals.some((stay) => stay.from.getTime() === from.getTime() && stay.to.getTime() === to.getTime())
    })
    .map(({ isOfRental: _, ...stay }) => stay)

/** Rentals of a boat that were not cancelled, pending without a status; those that ended more than a day ago affect nothing. */
async function readRentals(db: Queryable, boat: string): Promise<readonly Stay[]> {
  const { rows } = await db.query<Stay>(
    `select 'rental-' || r.id as uid, case when coalesce(nullif(report.status_word(r.status), ''), 'PENDING') = 'PENDING' then 'pending' else 'rental' end as kind,
       r.departure_datetime as "from", r.arrival_datetime as "to",
       ${localDay('departure')}::text as "firstDay", ${localDay('arrival')}::text as "lastDay", r._changed_at as "changedAt"
     from mirror.rentals r join mirror.resources b on b.id = r.resource_id
     where ${boatOf('b')} = $1 and r._deleted_at is null and not ${isCanceled}
       and r.departure_datetime < r.arrival_datetime and r.arrival_datetime > now() - interval '2 days'
     order by r.id`,
    [boat],
  )
  return rows
}

/** Unavailabilities whose ends are known; of the others the calendar of the year knows the days. */
async function readBlocks(db: Queryable, resourceId: string): Promise<readonly Block[]> {
  const end = `least(u.end_datetime, '9999-12-31')` // calendars have no later years
  const { rows } = await db.query<Block>(
    `select 'block-' || u.key || '-' || u.resource_id as uid, 'block' as kind, u.start_datetime as "from", ${end} as "to",
       (u.start_datetime at time zone ${timeZone})::date::text as "firstDay", (${end} at time zone ${timeZone})::date::text as "lastDay",
       u._changed_at as "changedAt", report.is_block_of_rental(u._payload) as "isOfRental"
     from mirror.resource_unavailabilities u
     where u.resource_id = $1 and u._deleted_at is null and u.start_datetime < u.end_datetime
       and u.end_datetime > now() - interval '2 days' order by u.key`,
    [resourceId],
  )
  return rows
}

async function readYears(db: Queryable, resourceId: string): Promise<readonly CalendarYear[]> {
  const { rows } = await db.query<CalendarYear>(
    `select year::int as year, coalesce(days, '') as days, _changed_at as "changedAt"
     from mirror.resource_availability_years where resource_id = $1 and _deleted_at is null order by year`,
    [resourceId],
  )
  return rows
}
