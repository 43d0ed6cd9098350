// Streams: schedule, freshness now and by day, and what the page of one shows. Reads only.

import { findStream, readsOf } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { Queryable } from '../database/sql.ts'
import { type QuarantineFacts, quarantineFacts } from '../sync/quarantine.ts'
import { listRuns, type Run, type RunStatus } from '../sync/runs/runs.ts'

/** The states of report.freshness. Its comment explains them. */
export type Freshness = 'fresh' | 'late' | 'unknown' | 'failing' | 'reading' | 'off'

/** Also `held`, if deletions need a decision; `off` also by the settings. */
export type StreamState = Freshness | 'held'

export type StreamStatus = {
  readonly stream: string
  readonly asOf: Date | null
  /** The same for its hot window of new and upcoming records; null: it has none, or it was never read. */
  readonly hotAsOf: Date | null
  /** Live rows, as counted when a run last ended. */
  readonly rows: number
  /** Rows so far, while the stream is read for the first time; null at other times. */
  readonly rowsSoFar: number | null
  readonly lastRunId: number | null
  readonly nextDueAt: Date | null
  readonly intervalS: number | null
  /** The configured target, or what its schedule allows; null: neither. */
  readonly targetS: number | null
  /** The start of its age: `hotAsOf` if the target is configured, else `asOf`. */
  readonly countsAsOf: Date | null
  readonly state: StreamState
  /** Since when it is paused, and who paused it; null: it is not. */
  readonly paused: { readonly since: Date; readonly who: string } | null
  /** The status of the last complete run; null: there was none. */
  readonly lastRunStatus: RunStatus | null
}

type StreamRow = Omit<StreamStatus, 'paused' | 'rowsSoFar'> & {
  readonly pausedSince: Date | null
  readonly pausedBy: string | null
  readonly listed: number | null
  readonly written: number | null
}

// The running complete run, or the one that ended last: earlier ones are irrelevant.
const streamsSql = `select s.stream, s.as_of as "asOf", s.hot_as_of as "hotAsOf", s.rows::float8 as rows, s.last_run_id::float8 as "lastRunId",
    case when s.paused_by is null then s.next_due_at end as "nextDueAt", s.interval_s::float8 as "intervalS",
    f.target_s::float8 as "targetS", f.counts_as_of as "countsAsOf", f.state, r.status as "lastRunStatus",
    d.at as "pausedSince", d.who as "pausedBy",
    coalesce(r.total, r.read)::float8 as listed, (s.rows + r.inserted - r.deleted)::float8 as written
  from sync.streams s join report.freshness f on f.stream = s.stream
    left join sync.runs r on r.stream = s.stream and r.id = coalesce((select g.id from sync.runs g
      where g.stream = s.stream and g.status = 'running' and not g.hot and g.record_key is null), s.last_run_id)
    left join sync.decisions d on d.id = s.paused_by
  order by s.stream`

/** Streams with their schedule, their freshness and their last run, in the order of their names. */
export async function streamStatus(db: Queryable): Promise<readonly StreamStatus[]> {
  const { rows } = await db.query<StreamRow>(streamsSql)
  return rows.map(({ listed, written, pausedSince, pausedBy, ...stream }) => {
    const isFirst = stream.asOf === null && stream.lastRunStatus === 'running'
    // A run also counts what it writes of records inside its own.
    const isList = findStream(stream.stream)?.reads.kind === 'list'
    const paused = pausedSince === null || pausedBy === null ? null : { since: pausedSince, who: pausedBy }
    return { ...stream, paused, rowsSoFar: isFirst ? (isList ? listed : written) : null }
  })
}

export type StreamFreshness = {
  readonly stream: string
  readonly state: Freshness
  readonly targetS: number | null
  readonly lastRunStatus: string | null
  readonly lastError: string | null
}

/** How fresh each stream is, by report.freshness. */
export async function freshnessFacts(db: Queryable): Promise<readonly StreamFreshness[]> {
  const { rows } = await db.query<StreamFreshness>(
    `select stream, state, target_s::float8 as "targetS", last_run_status as "lastRunStatus", last_error as "lastError"
     from report.freshness order by stream`,
  )
  return rows
}

/** The number of days that are shown, today included. */
export const historyShown = 90

type Kept = {
  readonly minutes: number
  readonly minutesWithinTarget: number
  readonly share: number
  /** In minutes. */
  readonly longestGap: number
}

/** One day, of one stream or of all together. */
export type KeptDay = Kept & { readonly day: string }

/** The days that are shown. */
export type FreshnessHistory = {
  /** Minutes of all streams by day, oldest first; days without counted minutes are missing. */
  readonly days: readonly KeptDay[]
  /** Minutes of all days by stream, in the order of their names. */
  readonly streams: readonly (Kept & { readonly stream: string })[]
}

const isShown = `day > (clock_timestamp() at time zone 'UTC')::date - ${historyShown}`

export async function freshnessHistory(db: Queryable): Promise<FreshnessHistory> {
  const { rows } = await db.query<Kept & { day: string | null; stream: string | null }>(
    `select day::text as day, stream, sum(minutes)::float8 as minutes, sum(minutes_within_target)::float8 as "minutesWithinTarget",
       round(sum(minutes_within_target)::numeric / sum(minutes), 4)::float8 as share, max(longest_gap)::float8 as "longestGap"
     from report.freshness_history where ${isShown}
     group by grouping sets ((day), (stream)) order by day, stream`,
  )
  return {
    days: rows.flatMap(({ day, stream, ...kept }) => (day === null ? [] : [{ day, ...kept }])),
    streams: rows.flatMap(({ day, stream, ...kept }) => (stream === null ? [] : [{ stream, ...kept }])),
  }
}

export async function streamHistory(db: Queryable, stream: string): Promise<readonly KeptDay[]> {
  const { rows } = await db.query<KeptDay>(
    `select day::text as day, minutes::float8 as minutes, minutes_within_target::float8 as "minutesWithinTarget",
       share::float8 as share, longest_gap::float8 as "longestGap"
     from report.freshness_history h where stream = $1 and ${isShown} order by h.day`,
    [stream],
  )
  return rows
}

export type StreamDetails = {
  readonly stream: StreamDef
  /** Newest first, hot runs and those of single records too. */
  readonly runs: readonly Run[]
  /** The one seen last first. */
  readonly quarantine: readonly QuarantineFacts[]
  readonly endpoints: readonly string[]
  /** How long it met its target, by day, oldest first. */
  readonly history: readonly KeptDay[]
}

const shown = 50

export async function streamDetails(db: Queryable, stream: StreamDef): Promise<StreamDetails> {
  return {
    stream,
    runs: await listRuns(db, { stream: stream.name, limit: shown }),
    quarantine: await quarantineFacts(db, { stream: stream.name, limit: shown }),
    endpoints: readsOf(stream),
    history: await streamHistory(db, stream.name),
  }
}
