// The report view of double bookings: what takes one boat at the same time.

import { fillSql } from '../database/sql.ts'
import ownBlocks from './own-blocks.sql'
import { boatOf, isFleet, type ReportView, timeZone } from './pieces.ts'
import { isCanceled, takesPlace } from './rentals.ts'

/** Where the end of a block would be by a rule, from the end of a stay. */
const placed = `cross join lateral (select r.shift + case when r.turn is null then h.local when h.local - h.day < r.turn then h.day
    else h.day + interval '1 day' end as at) s
  cross join lateral (select coalesce(s.at at time zone h.writes, (s.at - h.own) at time zone 'UTC') as at) f`

/** The function `report.blocks`, as it is created. */
export const blocksFunction = fillSql(ownBlocks, {
  ...{ boat: boatOf('b'), is_fleet: isFleet('b'), time_zone: timeZone },
  ...{ is_canceled: isCanceled, takes_place: takesPlace, placed },
})

/** Rentals that take place, with their boat. */
const rentalsOfBoats = `select r.id, r.resource_id, r.company_id, ${boatOf('b')} as boat, b.boat_id, b.name,
    r.departure_datetime as starts, r.arrival_datetime as ends
  from mirror.rentals r join mirror.resources b on b.id = r.resource_id
  where r._deleted_at is null and ${takesPlace} and r.departure_datetime is distinct from r.arrival_datetime and not ${isFleet('b')}`

/** One that has no arrival, or one before its departure, takes the moment of its departure. */
const until = (starts: string, ends: string): string => `greatest(${ends}, ${starts} + interval '1 microsecond')`

/** True if a stay ends after this: the same, faster in a join. */
const endsAfter = (stay: string, at: string): string => `(${stay}.ends > ${at} or ${stay}.starts >= ${at})`

export const overlaps: ReportView = {
  name: 'overlaps',
  comment: `Double bookings: two rentals of one boat at the same time, or a rental and an unavailability of its resource. Only rentals that are neither canceled nor PENDING, excluding those of a resource that stands for several boats. Where the API shows most rentals of a company as unavailabilities, those that have exactly the form found there are excluded. A rental without arrival overlaps with what contains its departure.`,
  columns: {
    boat_id: ['o.boat_id', 'The boat; resources in several harbours may share one.'],
    resource_id: ['o.resource_id', 'mirror.resources.id of the rental.'],
    resource_name: ['o.name', 'Name of the boat.'],
    company_id: ['o.company_id', 'mirror.companies.id.'],
    company_name: ['c.company_brand_name', 'Brand name of the company.'],
    rental_id: ['o.rental_id', 'mirror.rentals.id.'],
    departure_datetime: ['o.starts', 'Departure of the rental, as an instant.'],
    arrival_datetime: ['o.ends', 'Arrival of the rental, as an instant.'],
    other_kind: ['o.other_kind', 'What it overlaps with: rental or unavailability.'],
    other_rental_id: ['o.other_rental_id', 'The other rental, which has the higher number; null: an unavailability.'],
    other_resource_id: ['o.other_resource_id', 'mirror.resources.id of the other.'],
    other_from: ['o.other_starts', 'Start of the other, as an instant.'],
    other_to: ['o.other_ends', 'End of the other, as an instant.'],
    overlap_from: ['greatest(o.starts, o.other_starts)', 'Start of the overlap.'],
    overlap_to: [
      `least(${until('o.starts', 'o.ends')}, ${until('o.other_starts', 'o.other_ends')})`,
      'End of the overlap.',
    ],
    other_key: ['o.other_key', 'mirror.resource_unavailabilities.key of the other; null: a rental.'],
    other_company_id: ['o.other_company_id', 'mirror.companies.id of the other.'],
  },
  // Conditions on the ends of two rentals reach the index on departures, so that what is still to come is found fast.
  source: `from (
    select a.*, a.id as rental_id, 'rental' as other_kind, z.id as other_rental_id, null as other_key,
      z.resource_id as other_resource_id, z.company_id as other_company_id, z.starts as other_starts, z.ends as other_ends
    from (${rentalsOfBoats}) a
    join (${rentalsOfBoats}) z on z.boat = a.boat and z.id > a.id and ${endsAfter('a', 'z.starts')} and ${endsAfter('z', 'a.starts')}
    union all
    select a.*, a.id, 'unavailability', null, u.key, u.resource_id, u.company, u.starts, u.ends
    from (${rentalsOfBoats}) a
    join (select * from report.blocks() b where not b.is_own) u
      on u.resource_id = a.resource_id and ${endsAfter('a', 'u.starts')} and a.starts < u.ends
  ) o
  left join mirror.companies c on c.id = o.company_id`,
  orderBy: 'overlap_from, rental_id, other_rental_id, other_key',
}
