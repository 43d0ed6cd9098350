// The report view of double bookings: what takes one boat at the same time.

import type { ReportView } from './pieces.ts'
import { takesPlace } from './rentals.ts'

/** Rentals that take place, with their boat. One without boat_id counts as a separate boat. */
const rentalsOfBoats = `select r.id, r.resource_id, r.company_id, coalesce(b.boat_id::text, b.id) as boat, b.boat_id, b.name,
    r.departure_datetime as starts, r.arrival_datetime as ends
  from mirror.rentals r join mirror.resources b on b.id = r.resource_id
  where r._deleted_at is null and ${takesPlace} and r.departure_datetime < r.arrival_datetime`

export const overlaps: ReportView = {
  name: 'overlaps',
  comment: `Double bookings: two rentals of one boat at the same time, or a rental and an unavailability of its resource. Only rentals that are neither canceled nor PENDING, excluding those of a resource that stands for several boats. The block that the API shows for a rental itself is excluded.`,
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
    overlap_to: ['least(o.ends, o.other_ends)', 'End of the overlap.'],
  },
  // Conditions on the ends of both reach the index on arrivals, so that what is still to come is found fast. The first `offset 0`
  // reads each unavailability once, the second looks for its rental by the index on departures.
  source: `from (
    select a.boat, a.boat_id, a.resource_id, a.name, a.company_id, a.id as rental_id, a.starts, a.ends,
      'rental' as other_kind, z.id as other_rental_id, z.resource_id as other_resource_id, z.starts as other_starts,
      z.ends as other_ends
    from (${rentalsOfBoats}) a
    join (${rentalsOfBoats}) z on z.boat = a.boat and z.id > a.id and z.starts < a.ends and a.starts < z.ends
    union all
    select a.boat, a.boat_id, a.resource_id, a.name, a.company_id, a.id, a.starts, a.ends,
      'unavailability', null, u.resource_id, u.starts, u.ends
    from (${rentalsOfBoats}) a
    join (select u.resource_id, u.start_datetime as starts, u.end_datetime as ends from mirror.resource_unavailabilities u
      where u._deleted_at is null and u.start_datetime < u.end_datetime and not report.is_block_of_rental(u._payload) offset 0) u
      on u.resource_id = a.resource_id and u.starts < a.ends and a.starts < u.ends
    where not exists (select from mirror.rentals k join mirror.resources kb on kb.id = k.resource_id
        where coalesce(kb.boat_id::text, kb.id) = a.boat and k._deleted_at is null
          and k.departure_datetime = u.starts and k.arrival_datetime = u.ends offset 0)
  ) o
  left join mirror.companies c on c.id = o.company_id
where not exists (select from sync.fleets f join mirror.resources b on b.id = f.resource_id
  where coalesce(b.boat_id::text, b.id) = o.boat)`,
  orderBy: 'overlap_from, rental_id, other_rental_id',
}
