// When streams are due: sync.streams holds the schedule's truth, BullMQ's schedulers only wake us.

import type { Selectable } from 'kysely'
import { followersOf } from '../../catalog/catalog.ts'
import { type Turn, turnName } from '../../catalog/turns.ts'
import type { MirrorDatabase } from '../../database/schema.generated.ts'
import { on, type Queryable } from '../../database/sql.ts'

type StreamState = Readonly<Selectable<MirrorDatabase['sync.streams']>>

/** All streams with what is known of them. */
export async function listStreams(db: Queryable): Promise<readonly StreamState[]> {
  return await on(db).selectFrom('sync.streams').selectAll().orderBy('stream').execute()
}

export type PausedStream = {
  readonly stream: string
  readonly since: Date
  readonly who: string
}

/** The streams that are paused, since when and by whom. */
export async function pausedStreams(db: Queryable): Promise<readonly PausedStream[]> {
  return await on(db)
    .selectFrom('sync.streams as s')
    .innerJoin('sync.decisions as d', 'd.id', 's.paused_by')
    .select(['s.stream', 'd.at as since', 'd.who'])
    .orderBy('s.stream')
    .execute()
}

type Intervals = {
  readonly stream: string
  readonly intervalS: number | null
  readonly hotIntervalS?: number | null
  readonly targetS: number | null
  /** Ages of details that a quota asks for; null: DETAIL_MAX_AGE. */
  readonly maxAgeS?: number | null
  readonly soonMaxAgeS?: number | null
}

/** SQL of when a turn is due whose interval changes: from its last turn, or from what was read without one. What is due stays so. */
const dueAgain = (due: string, interval: string, asOf: string): string => `case when t.${interval} is null then null
    when s.${due} <= clock_timestamp() then s.${due}
    else least(coalesce(s.${due} - s.${interval} * interval '1 s', s.${asOf}), clock_timestamp()) + t.${interval} * interval '1 s' end`

/** Stores effective intervals and targets, in seconds; a turn without an interval is on no schedule. */
export async function saveIntervals(db: Queryable, streams: readonly Intervals[]): Promise<void> {
  await db.query(
    `update sync.streams s set interval_s = t.interval_s, hot_interval_s = t.hot_interval_s, target_s = t.target_s,
       max_age_s = t.max_age_s, soon_max_age_s = t.soon_max_age_s,
       next_due_at = ${dueAgain('next_due_at', 'interval_s', 'as_of')},
       hot_next_due_at = ${dueAgain('hot_next_due_at', 'hot_interval_s', 'hot_as_of')}
     from jsonb_to_recordset($1::jsonb) as t(stream text, interval_s numeric, hot_interval_s numeric, target_s numeric,
       max_age_s numeric, soon_max_age_s numeric)
     where s.stream = t.stream
       and (s.interval_s, s.hot_interval_s, s.target_s, s.max_age_s, s.soon_max_age_s)
         is distinct from (t.interval_s, t.hot_interval_s, t.target_s, t.max_age_s, t.soon_max_age_s)`,
    [
      JSON.stringify(
        streams.map(({ stream, intervalS, hotIntervalS = null, targetS, maxAgeS = null, soonMaxAgeS = null }) => {
          const ages = { max_age_s: maxAgeS, soon_max_age_s: soonMaxAgeS }
          return { stream, interval_s: intervalS, hot_interval_s: hotIntervalS, target_s: targetS, ...ages }
        }),
      ),
    ],
  )
}

/** Where the schedule of a turn stands. */
const columnsOf = ({ hot }: Pick<Turn, 'hot'>) =>
  hot
    ? ({ dueAt: 'hot_next_due_at', interval: 'hot_interval_s' } as const)
    : ({ dueAt: 'next_due_at', interval: 'interval_s' } as const)

/**
 * Takes a turn if it is due (at most `earlyS` seconds early) and sets the next one; turns missed meanwhile count as one.
 * Two callers never both get it.
 */
export async function takeTurn(db: Queryable, turn: Turn, earlyS: number): Promise<boolean> {
  const { dueAt, interval } = columnsOf(turn)
  const { rowCount } = await db.query(
    `update sync.streams set ${dueAt} = greatest(${dueAt}, clock_timestamp()) + ${interval} * interval '1 s'
     where stream = $1 and paused_by is null and ${interval} is not null
       and coalesce(${dueAt} <= clock_timestamp() + $2::float8 * interval '1 s', true)`,
    [turn.stream, earlyS],
  )
  return rowCount === 1
}

/** Names of the turns that came more than `lateS` seconds ago: their wake-up was lost. */
export async function overdueTurns(db: Queryable, lateS: number): Promise<readonly string[]> {
  const { rows } = await db.query<Turn>(
    `select s.stream, t.hot from sync.streams s cross join lateral (values (false, s.next_due_at, s.interval_s),
       (true, s.hot_next_due_at, s.hot_interval_s)) t (hot, due_at, interval_s)
     where s.paused_by is null and t.interval_s is not null and t.due_at < clock_timestamp() - $1::float8 * interval '1 s'
     order by t.due_at`,
    [lateS],
  )
  return rows.map(turnName)
}

/** Nothing below the parent is due: the stream is as fresh as its parent. */
export async function inheritFreshness(db: Queryable, stream: string, parent: string): Promise<void> {
  await db.query(
    `update sync.streams s set as_of = greatest(s.as_of, p.as_of) from sync.streams p where s.stream = $1 and p.stream = $2`,
    [stream, parent],
  )
}

/** Average requests of the last ten runs within a week: what a turn costs, by its name. */
export async function turnCosts(db: Queryable): Promise<ReadonlyMap<string, number>> {
  const { rows } = await db.query<Turn & { cost: number }>(
    `select stream, hot, avg(requests)::float8 as cost
     from (select stream, hot, requests, row_number() over (partition by stream, hot order by id desc) as recent
       from sync.runs where status in ('done', 'partial', 'held') and trigger = 'schedule'
         and started_at > now() - interval '7 days') r
     where recent <= 10 group by stream, hot`,
  )
  return new Map(rows.map((row) => [turnName(row), row.cost]))
}

/** Pages of the last complete sweep of a list; null: there was none. */
export async function pagesOfList(db: Queryable, stream: string): Promise<number | null> {
  const { rows } = await db.query<{ pages: number }>(
    `select pages::float8 as pages from sync.runs where stream = $1 and not hot and record_key is null
       and status in ('done', 'held') and trigger <> 'release' order by id desc limit 1`,
    [stream],
  )
  return rows[0]?.pages ?? null
}

/** Above this share of unexpected changes a stream is read as often as if nothing made it due; known after so many reads. */
const unexpectedAllowed = 0.01
const readsToDecide = 100

export type UnexpectedShare = { readonly stream: string; readonly share: number }

/** Streams of whose details, as the schedule read them within a week, too many had changed although nothing had made them due. */
export async function unexpectedShares(db: Queryable): Promise<readonly UnexpectedShare[]> {
  const { rows } = await db.query<UnexpectedShare>(
    `select stream, sum(unexpected)::float8 / sum(total)::float8 as share
     from sync.runs where trigger = 'schedule' and not hot and started_at > clock_timestamp() - interval '7 days'
     group by stream having sum(total) >= $1 and sum(unexpected) > sum(total) * $2::float8 order by stream`,
    [readsToDecide, unexpectedAllowed],
  )
  return rows
}

/** Consecutive failures of hot runs: this many are not an accident. */
const failuresToReport = 3

export type FailingHotRuns = {
  readonly stream: string
  /** The last of them. */
  readonly runId: number
  readonly error: string | null
}

/** Streams whose last hot runs of a day all failed; one that goes well ends it. */
export async function failingHotRuns(db: Queryable): Promise<readonly FailingHotRuns[]> {
  const { rows } = await db.query<FailingHotRuns>(
    `select s.stream, f.id::float8 as "runId", f.error
     from sync.streams s cross join lateral (
       select max(l.id) as id, (array_agg(l.error order by l.id desc))[1] as error
       from (select r.id, r.status, r.error from sync.runs r
         where r.stream = s.stream and r.hot and r.finished_at > clock_timestamp() - interval '1 day'
         order by r.id desc limit $1) l
       having count(*) filter (where l.status in ('failed', 'partial')) = $1) f
     where s.hot_interval_s is not null and s.paused_by is null order by s.stream`,
    [failuresToReport],
  )
  return rows
}

/** Makes the turns due that follow from changed rows of a stream. */
export async function makeFollowersDue(db: Queryable, stream: string): Promise<void> {
  const { hot, details } = followersOf(stream)
  for (const [names, { dueAt, interval }] of [
    [details, columnsOf({ hot: false })],
    [hot, columnsOf({ hot: true })],
  ] as const)
    if (names.length > 0)
      await db.query(
        `update sync.streams set ${dueAt} = least(${dueAt}, clock_timestamp()) where stream = any($1) and ${interval} is not null`,
        [names],
      )
}
