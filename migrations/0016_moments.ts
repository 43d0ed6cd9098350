// What the sync reads of date-times, in columns: the wall clock of departures and arrivals, the ends of unavailabilities. Existing
// rows are filled from their payload as the sync would read it, without entries in the change log. And which statuses of rentals
// do not take place.

import { type Kysely, sql } from 'kysely'

/** As the sync reads a date-time: its wall clock, and how far that is ahead of UTC (null: it has no offset). */
const readers = `
create function mirror.date_time_parts(written text, out wall timestamp, out ahead interval)
  language plpgsql immutable as $$
declare
  part constant text[] := regexp_match(written, '^([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]((?:[01][0-9]|2[0-3]):[0-5][0-9])'
    || '(?::([0-5][0-9]|60)(?:[.]([0-9]+))?)?[[:space:]]?([Zz]|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)?$');
begin
  wall := (part[1] || ' ' || part[2] || ':' || replace(coalesce(part[3], '00'), '60', '59') || '.' || left(coalesce(part[4], '0'), 15))::timestamp
    + case part[3] when '60' then interval '1 second' else interval '0' end;
  ahead := case when upper(part[5]) = 'Z' then interval '0'
    else (left(part[5], 1) || '1')::int * make_interval(hours => substr(part[5], 2, 2)::int,
      mins => coalesce(nullif(replace(substr(part[5], 4), ':', ''), ''), '0')::int) end;
exception when datetime_field_overflow or invalid_datetime_format then
  wall := null;
end $$;

create function mirror.moment_in(payload jsonb, names text[], if_day text) returns timestamptz
  language plpgsql stable as $$
declare
  written text;
  parts record;
begin
  for written in select payload ->> name from unnest(names) with ordinality as n (name, place)
      where jsonb_typeof(payload -> name) = 'string' order by place
  loop
    parts := mirror.date_time_parts(written || case when length(written) = 10 then if_day else '' end);
    continue when parts.wall is null;
    return case when parts.ahead is null then parts.wall at time zone (select time_zone from sync.settings)
      else (parts.wall - parts.ahead) at time zone 'UTC' end;
  end loop;
  return null;
end $$;

create function mirror.wall_clock(instant timestamptz, written text) returns timestamp
  language sql immutable as $$
    select case when instant is not null then coalesce((instant at time zone 'UTC') + p.ahead, p.wall) end
    from mirror.date_time_parts(written) p where p.wall is not null
  $$;`

/** Triggers of others stay silent, whatever they are enabled for: nothing has changed upstream. */
const silently = (table: string, update: string): string => `do $$
declare
  trigger record;
  statement text;
  enable text[] := '{}';
begin
  for trigger in select tgname, tgenabled from pg_trigger
    where tgrelid = '${table}'::regclass and not tgisinternal and tgenabled <> 'D'
  loop
    execute format('alter table ${table} disable trigger %I', trigger.tgname);
    enable := enable || format('alter table ${table} enable %s trigger %I',
      case trigger.tgenabled when 'R' then 'replica' when 'A' then 'always' else '' end, trigger.tgname);
  end loop;
  ${update};
  foreach statement in array enable loop
    execute statement;
  end loop;
end $$;`

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `alter table mirror.rentals add column departure_local timestamp, add column arrival_local timestamp;
alter table mirror.resource_unavailabilities add column start_datetime timestamptz, add column end_datetime timestamptz;
alter table sync.settings add column not_taking_place text[] not null default '{}';
${readers}
${silently(
  'mirror.rentals',
  `update mirror.rentals set departure_local = mirror.wall_clock(departure_datetime, _payload ->> 'departureDatetime'),
    arrival_local = mirror.wall_clock(arrival_datetime, _payload ->> 'arrivalDatetime')
  where departure_datetime is not null or arrival_datetime is not null`,
)}
${silently(
  'mirror.resource_unavailabilities',
  `update mirror.resource_unavailabilities set
    start_datetime = mirror.moment_in(_payload, array['startDatetime', 'start', 'startDate', 'start_date', 'from', 'dateFrom',
      'departureDatetime'], 'T00:00'),
    end_datetime = mirror.moment_in(_payload, array['endDatetime', 'end', 'endDate', 'end_date', 'to', 'dateTo',
      'arrivalDatetime'], 'T23:59:60')`,
)}
drop function mirror.wall_clock(timestamptz, text), mirror.moment_in(jsonb, text[], text), mirror.date_time_parts(text);`,
    )
    .execute(db)
}
