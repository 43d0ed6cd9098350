// Settings where the report views find them, and the rules of time zones, which Postgres and Node each bring along.

import type { Config } from '../config.ts'
import type { Queryable } from '../database/sql.ts'
import { sqlStateOf } from '../database/sql-states.ts'
import { nodeOffset, postgresZones, zoneOffset } from '../date-time.ts'
import { BoatMirrorError } from '../errors.ts'

/** Abbreviations come before names in Postgres, with one offset all year, and mean other zones in Node. */
const zoneQuery = `select where upper($1) in ('UTC', 'GMT', 'UCT', 'ZULU') or exists (select from pg_timezone_names where lower(name) = lower($1))
  and not exists (select from pg_timezone_abbrevs where abbrev = upper($1))`

const unknownZone = (timeZone: string): BoatMirrorError =>
  new BoatMirrorError('CONFIG_INVALID', `TIME_ZONE is "${timeZone}". Postgres does not know that time zone.`, {
    remedy: 'Use the name of a place from pg_timezone_names, for example Europe/Paris.',
  })

/** @throws BoatMirrorError CONFIG_INVALID for a zone that Postgres does not know */
export async function assertTimeZone(db: Queryable, timeZone: string): Promise<void> {
  if ((await db.query(zoneQuery, [timeZone])).rowCount !== 1) throw unknownZone(timeZone)
}

/** How far a zone is ahead of UTC at an instant, in milliseconds. */
const ahead = (at: string): string =>
  `extract(epoch from (${at} at time zone $1) - (${at} at time zone 'UTC'))::float8 * 1000`

/**
 * The offsets of a zone in this year and the next, to the minute: only days with a change are read minute by minute. No zone
 * has more than a dozen of them; the limit keeps the planner from expecting one a day, for which it would compile the query.
 */
const rulesQuery = `with years as (select date_trunc('year', now()) as begin, date_trunc('year', now()) + interval '2 years' as until),
  changed as (select day from years cross join generate_series(begin, until - interval '1 day', interval '1 day') day
    where ${ahead('day')} <> ${ahead(`(day + interval '1 day')`)} limit 50),
  read as (select at, ${ahead('at')} as ms from (select begin as at from years
    union all select day + minute * interval '1 minute' from changed cross join generate_series(0, 1440) minute) given)
  select extract(epoch from at)::float8 * 1000 as "from", ms as "offset", current_setting('server_version') as version
  from (select at, ms, lag(ms) over (order by at) as before from read) r where ms is distinct from before
  union all select extract(epoch from until)::float8 * 1000, null, null from years order by 1`

/** No rule of a zone lasts for less than a week. */
const stepMs = 7 * 86_400_000

type Rule = { readonly from: number; readonly offset: number | null; readonly version: string }

/**
 * Makes Node follow Postgres in the rules of a zone, for this year and the next.
 * @returns what to say if its own differ; null: they are the same
 * @throws BoatMirrorError CONFIG_INVALID for a zone that Postgres does not know
 */
export async function followZone(db: Queryable, timeZone: string): Promise<string | null> {
  const { rows } = await db.query<Rule>(rulesQuery, [timeZone]).catch((error: unknown) => {
    throw sqlStateOf(error) === '22023' ? unknownZone(timeZone) : error
  })
  postgresZones.set(timeZone, rows)
  const [begin, until] = [rows[0]?.from ?? 0, rows.at(-1)?.from ?? 0]
  const steps = Array.from({ length: Math.ceil((until - begin) / stepMs) }, (_, step) => begin + step * stepMs)
  const changes = rows.flatMap(({ from }) => [from - 1, from]).slice(1, -1)
  const differing = [...steps, ...changes].find((at) => nodeOffset(at, timeZone) !== zoneOffset(at, timeZone))
  if (differing === undefined) return null
  const day = new Date(differing).toISOString().slice(0, 10)
  return `Node ${process.versions.node} (time zones ${process.versions.tz}) and Postgres ${rows[0]?.version} differ in ${timeZone} on ${day}. Postgres decides.`
}

/**
 * Stores TIME_ZONE and NOT_TAKING_PLACE for the report views; writes nothing when they are what they were.
 * @throws BoatMirrorError CONFIG_INVALID for a zone that Postgres does not know
 */
export async function saveReportSettings(
  db: Queryable,
  { timeZone, notTakingPlace }: Pick<Config, 'timeZone' | 'notTakingPlace'>,
): Promise<void> {
  await assertTimeZone(db, timeZone)
  await db.query(
    `update sync.settings s set time_zone = $1, not_taking_place = n.words
     from (select array(select report.status_word(status) from unnest($2::text[]) as given (status))) n (words)
     where (s.time_zone, s.not_taking_place) is distinct from ($1, n.words)`,
    [timeZone, notTakingPlace ?? []],
  )
}
