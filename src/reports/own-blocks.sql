-- Unavailabilities (`blocks`), rentals that hold their boat (`held`), and those of the blocks that the API shows for a rental. In which
-- form it shows them is found in the data of each company (`forms`): each end of a block lies a constant time from that of its rental,
-- or from a midnight, on the clock of TIME_ZONE, of the rental or of UTC; rentals that touch may share a block. No table says how many
-- rows a step has, and a loop over two large ones takes minutes.
create or replace function report.blocks() returns table (resource_id text, key text, company bigint, starts timestamptz, ends timestamptz,
  is_own boolean, joined boolean, rules jsonb)
language sql stable security definer set search_path = pg_catalog, pg_temp set enable_nestloop = off
  set enable_mergejoin = off set jit = off
as $$
with blocks as materialized (
  select u.resource_id, u.key, coalesce(b.company_id, 0) as company, {{boat}} as boat, u.start_datetime as starts, u.end_datetime as ends,
    row_number() over (partition by u.resource_id, u.start_datetime, u.end_datetime order by u.key) as nth
  from mirror.resource_unavailabilities u join mirror.resources b on b.id = u.resource_id
  where u._deleted_at is null and u.start_datetime < u.end_datetime and not {{is_fleet}}
), held as materialized (
  select r.id, r.resource_id, coalesce(b.company_id, 0) as company, {{boat}} as boat,
    {{takes_place}} and r.departure_datetime < r.arrival_datetime as counts,
    r.departure_datetime as starts, greatest(r.departure_datetime, r.arrival_datetime) as ends,
    r.departure_local - (r.departure_datetime at time zone 'UTC') as own_start,
    r.arrival_local - (r.arrival_datetime at time zone 'UTC') as own_end,
    row_number() over (partition by b.company_id order by r.departure_datetime desc) as place,
    bool_or((r.departure_local, r.arrival_local) is distinct from (r.departure_datetime at time zone {{time_zone}},
      r.arrival_datetime at time zone {{time_zone}})) over (partition by b.company_id) as is_elsewhere
  from mirror.rentals r join mirror.resources b on b.id = r.resource_id
  where r._deleted_at is null and r.departure_datetime is not null and not {{is_canceled}} and not {{is_fleet}}
    -- No rental has a block that ended before all of them began: APIs show few of the past.
    and greatest(r.departure_datetime, r.arrival_datetime) >= (select min(starts) - interval '3 days' from blocks)
), clocks as (
  -- The clock that gives the day of a rental, and the one that gives the day of a block; null: the rental's own.
  select min(clock) as clock, reads, writes
  from (values (1, {{time_zone}}, {{time_zone}}), (2, null, null), (3, null, {{time_zone}}), (4, 'UTC', 'UTC'), (5, null, 'UTC')) c (clock, reads, writes)
  group by reads, writes
), edges as materialized (
  select resource_id, edge, at, count(*) as blocks
  from blocks cross join lateral (values ('start', starts), ('end', ends)) e (edge, at) group by 1, 2, 3
), stays as not materialized (
  select h.id, h.company, h.resource_id, h.place, e.edge, e.at, c.clock, c.writes, e.own, t.at as local, date_trunc('day', t.at) as day
  from held h cross join lateral (values ('start', h.starts, h.own_start), ('end', h.ends, h.own_end)) e (edge, at, own)
  join clocks c on c.reads is not null or h.is_elsewhere
  cross join lateral (select coalesce(e.at at time zone c.reads, e.at at time zone 'UTC' + e.own) as at) t
), newest as materialized (
  -- Those that teach the form.
  select *, date_bin('4 days', at, 'epoch') as days from stays where place <= 200 and local is not null
), seen as (
  -- How many of them have an end at this hour, and within two days an end of a block so far away from the midnight before.
  select h.company, h.edge, h.clock, h.local - h.day as hour, t.at - h.day as away, count(*) as votes
  from newest h
  join (select resource_id, edge, at, date_bin('4 days', at - interval '2 days', 'epoch') + away as days
      from edges cross join (values (interval '0'), ('4 days')) w (away)) b
    on b.resource_id = h.resource_id and b.edge = h.edge and b.days = h.days
      and b.at between h.at - interval '2 days' and h.at + interval '2 days'
  cross join lateral (select coalesce(b.at at time zone h.writes, b.at at time zone 'UTC' + h.own) as at) t
  where t.at is not null
  group by 1, 2, 3, 4, 5
), turns as (
  -- How many rentals a block's end fits that lies `shift` after their midnight; from each hour on, after the next one. Between two
  -- hours the turn is where rentals of neither hour stick out of their blocks.
  select company, edge, clock, shift, case edge when 'start' then hour else first_value(hour) over just_before + interval '1 microsecond' end as hour,
    coalesce(sum(sum(early)) over before, 0) as early,
    coalesce(sum(sum(early - late)) over before, 0) + sum(sum(late)) over (partition by company, edge, clock, shift) as votes
  from (select company, edge, clock, hour, away as shift, votes as early, 0 as late from seen
    union all select company, edge, clock, hour, away - interval '1 day', 0, votes from seen) s
  group by company, edge, clock, shift, hour
  window before as (partition by company, edge, clock, shift order by hour rows between unbounded preceding and 1 preceding),
    just_before as (partition by company, edge, clock, shift order by hour rows between 1 preceding and 1 preceding)
), candidates as (
  -- Of each kind of rule, the plainest first: the same moment, whole days, an addition, another hour, a turn of the day.
  select *, row_number() over (order by company, edge) as number
  from (select r.*, max(votes) over (partition by company, edge) as most,
      row_number() over (partition by company, edge, clock, oddity order by votes desc, turn) as place
    from (select company, edge, clock, null::interval as turn, away - hour as shift, sum(votes) as votes,
        case when away = hour then 0 else 2 end as oddity
      from seen group by company, edge, clock, away - hour, away = hour
      union all
      select company, edge, clock, case when early = 0 then interval '0' else hour end, shift, votes,
        case when early > 0 then 4 when shift = case edge when 'start' then interval '-1 day' else interval '0' end then 1 else 3 end
      from turns) r) r
  where (votes * 2 >= most or oddity < 2) and (place = 1 or oddity = 4 and place <= 6)
), placed as materialized (
  -- Where each end would be by each of these rules.
  select h.id, h.resource_id, h.edge, r.number, f.at, case h.edge when 'start' then f.at - h.at else h.at - f.at end > interval '1 minute' as is_short
  from newest h join candidates r on r.company = h.company and r.edge = h.edge and r.clock = h.clock
  {{placed}}
), rules as (
  -- The rule that explains most ends of blocks, each by a rental of its own, and leaves least of rentals out of their blocks.
  select distinct on (company, edge) r.*
  from candidates r join (select p.number, sum(least(p.rentals, coalesce(b.blocks, 0)) - p.short) as fits
    from (select number, edge, resource_id, at, count(*) as rentals, count(*) filter (where is_short) as short from placed group by 1, 2, 3, 4) p
    left join edges b using (resource_id, edge, at) group by p.number) f using (number)
  order by company, edge, fits desc, oddity, clock
), formed as (
  select h.id, h.company, h.boat, h.counts, h.ends > now() as is_live, p.starts, p.ends
  from held h join (select h.id, min(f.at) filter (where h.edge = 'start') as starts, min(f.at) filter (where h.edge = 'end') as ends
    from stays h join rules r on r.company = h.company and r.edge = h.edge and r.clock = h.clock
    {{placed}}
    group by h.id) p using (id)
), chained as (
  -- Those of one boat that touch have the same number; 23:59 counts as the end of its day.
  select f.*, count(*) filter (where is_first) over (partition by boat order by starts, ends, id) as chain
  from (select f.*, starts - interval '1 minute' > coalesce(max(ends) over (partition by boat order by starts, ends, id
      rows between unbounded preceding and 1 preceding), '-infinity') as is_first
    from formed f where starts < ends) f
), spans as (
  select boat, chain, starts, ends, count(*) as rentals, sum(count(*)) over of_chain as chained, min(starts) over of_chain as first,
    max(ends) over of_chain as last
  from chained group by boat, chain, starts, ends window of_chain as (partition by boat, chain)
), matched as (
  select b.resource_id, b.key, b.company, b.boat, b.starts, b.ends, b.nth, s.chain, s.chained,
    max(s.rentals) filter (where s.ends = b.ends) as rentals, b.nth = 1 and b.starts = s.first and b.ends = s.last as is_whole
  from blocks b join spans s on s.boat = b.boat and s.starts = b.starts
  join spans e on e.boat = b.boat and e.chain = s.chain and e.ends = b.ends
  group by b.resource_id, b.key, b.company, b.boat, b.starts, b.ends, b.nth, s.chain, s.chained, s.first, s.last
), joins as (
  select company, count(*) filter (where is_whole or rentals is null) > count(*) filter (where not is_whole and rentals is not null) as joined
  from matched where chained > 1 group by company
), fitting as (
  -- Each rental has one block: another one with the same ends is not its own, nor is one within that of all that it is joined to.
  select * from (select m.*, j.joined, coalesce(max(ends) over (partition by resource_id, chain order by starts, ends desc, nth
      rows between unbounded preceding and 1 preceding) >= ends, false) as is_within
    from matched m left join joins j using (company)) m
  where case when joined then not is_within else nth <= rentals end
), forms as (
  -- Most rentals that have not ended have a block of their own, or most since the first block. A single one proves only the form that
  -- leaves nothing open.
  select company, j.joined, r.rules
  from (select company, count(*) as rentals, count(*) filter (where ends > now()) as live from held where counts group by company) h
  join (select c.company, count(*) as shown, count(*) filter (where is_live) as live
    from chained c where counts and exists (select from fitting f
      where f.boat = c.boat and f.chain = c.chain and f.starts <= c.starts and f.ends >= c.ends) group by c.company) s using (company)
  left join joins j using (company)
  join (select company, max(oddity) as oddity, jsonb_agg(jsonb_build_object('turn', extract(epoch from turn), 'shift', extract(epoch from shift))
    order by edge desc) as rules from rules group by company) r using (company)
  where (s.live * 2 > h.live or s.shown * 2 > h.rentals)
    and (s.shown > 1 or r.oddity = 0)
)
select b.resource_id, b.key, nullif(b.company, 0), b.starts, b.ends, o.key is not null, f.joined, f.rules
from blocks b left join forms f on f.company = b.company
left join fitting o on o.resource_id = b.resource_id and o.key = b.key and o.company = f.company
$$;
comment on function report.blocks() is
  'Returns each unavailability with valid ends. is_own: it has the form in which the API shows the rentals of its company.';
