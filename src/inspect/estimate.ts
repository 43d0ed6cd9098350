// How much longer the present syncs take: the requests that are left, at the rate of the last minute.

import { findStream, streamNamed } from '../catalog/catalog.ts'
import type { Queryable } from '../database/sql.ts'
import { about, count } from '../format.ts'
import {
  type Costs,
  detailRequests,
  firstRequests,
  listRequests,
  type ReadSettings,
  type RowsOf,
  recordsWithDetails,
} from '../sync/read-costs.ts'
import type { StreamStatus } from './streams.ts'

export type Estimate = {
  /** Requests of open syncs that were made. */
  readonly requestsMade: number
  /** Requests that are still to be made; null while a list of unknown length is read. */
  readonly requestsLeft: number | null
  /** Reads a second of late; null when nothing runs, or before anything was counted. */
  readonly perSecond: number | null
  readonly secondsLeft: number | null
}

/** The first seconds of a sync do not show its rate. */
const tooEarlyS = 2

/** Estimates what is left of the open syncs. */
export function estimateOf(work: OpenWork, settings: ReadSettings): Estimate {
  const totals = new Map(
    work.runs.flatMap(({ stream, total }) => (isList(stream) && total !== null ? [[stream, total]] : [])),
  )
  const rowsOf: RowsOf = (stream) => totals.get(stream) ?? (work.rows.get(stream) || null)
  const requestsMade = work.runs.reduce((sum, { requests }) => sum + requests, 0)
  const parts = work.runs.map((run) => requestsOfRun(run, { rowsOf, settings, needed: work.needed }))
  const requestsLeft = parts.includes(null)
    ? null
    : Math.round(parts.reduce<number>((sum, part) => sum + (part ?? 0), 0))
  const perSecond = rateOf(work, requestsMade)
  const isRateKnown = perSecond !== null && perSecond > 0
  const secondsLeft =
    requestsLeft === 0 ? 0 : requestsLeft !== null && isRateKnown ? Math.round(requestsLeft / perSecond) : null
  return { requestsMade, requestsLeft, perSecond, secondsLeft }
}

const isList = (stream: string): boolean => streamNamed(stream).reads.kind === 'list'

function rateOf({ runs, elapsedS, lately }: OpenWork, made: number): number | null {
  if (elapsedS < tooEarlyS || runs.every(({ state }) => state === 'waiting' || state === 'ended')) return null
  // A sync that was stopped overnight continues at its present speed.
  return elapsedS < lately.seconds ? made / elapsedS : lately.reads / lately.seconds
}

/** Requests that one run still has to make; null while unknown. */
function requestsOfRun(run: OpenRun, costs: Costs): number | null {
  const stream = streamNamed(run.stream)
  if (run.state === 'ended') return 0
  if (run.state === 'detailed') return requestsOfTasks(run, detailRequests(stream, costs))
  const isListed = run.state === 'swept' || !isList(run.stream)
  const records = isListed ? 0 : costs.rowsOf(run.stream)
  // Which of the known records are due is unknown until their list has been read.
  const isWhole = run.isWhole || stream.freshness === 'always'
  const due = isWhole ? recordsWithDetails(stream, costs) : 0
  if (records === null || due === null) return null
  return (
    (isListed ? 0 : Math.max(0, listRequests(stream, records, costs.settings) - run.pages)) +
    firstRequests(stream, due, costs)
  )
}

/** Requests for the records of open tasks; for running tasks half of them. */
function requestsOfTasks({ requests, pages, keys }: OpenRun, ofOne: number): number {
  // The real cost of a record is known when more records are done than running.
  const each = keys.done > keys.running ? (requests - pages) / (keys.done + keys.running / 2) : ofOne
  return (keys.waiting + keys.running / 2) * each
}

/** `about 12 min left`; null if it is unknown, or nothing is left. */
export const timeLeft = ({ secondsLeft }: Estimate): string | null =>
  secondsLeft === null || secondsLeft === 0 ? null : `about ${about(secondsLeft)} left`

/** The progress of a first sync, in a sentence; null when there is none, or nothing to query. */
export function firstSyncText(streams: readonly StreamStatus[], estimate: Estimate): string | null {
  if (streams.every(({ rowsSoFar }) => rowsSoFar === null)) return null
  const listed = streams
    .filter(({ stream }) => findStream(stream)?.reads.kind === 'list')
    .map(({ stream, rows, rowsSoFar }) => ({ stream, rows: rowsSoFar ?? rows }))
    .reduce((most, each) => (each.rows > most.rows ? each : most))
  if (listed.rows === 0) return null
  const { requestsMade: made, requestsLeft: left } = estimate
  const parts = [
    `${listed.stream} ${count(listed.rows)} listed`,
    left === null ? null : `${Math.floor((100 * made) / Math.max(1, made + left))} % of the requests made`,
    timeLeft(estimate),
  ]
  return `${parts.filter((part) => part !== null).join(', ')}; you can query now`
}

export type OpenRun = {
  readonly stream: string
  /**
   * `waiting`: requested, not started. `listing`: its list is being read. `swept`: the list is done, or there is
   * none, and the due details are not known yet. `detailed`: the rest is in tasks. `ended`.
   */
  readonly state: 'waiting' | 'listing' | 'swept' | 'detailed' | 'ended'
  /** The details of all records are read: the stream was never read completely, or everything must be read again. */
  readonly isWhole: boolean
  readonly requests: number
  /** Of them, pages of the list. */
  readonly pages: number
  /** Records of the list, as far as that is known. */
  readonly total: number | null
  /** Records in tasks, by the state of the task. */
  readonly keys: { readonly waiting: number; readonly running: number; readonly done: number }
}

export type OpenWork = {
  /** Runs of open requests, those that run, and those that wait to begin. */
  readonly runs: readonly OpenRun[]
  /** Rows by stream, as counted when a run last ended. */
  readonly rows: ReadonlyMap<string, number>
  /** Reads that show more than those they repeat. */
  readonly needed: ReadonlySet<string>
  /** Since the oldest of the runs began, in seconds; 0: none began. */
  readonly elapsedS: number
  /** Reads since the minute before the present one began, and how long that is. */
  readonly lately: { readonly reads: number; readonly seconds: number }
}

const keysOf = (status: string): string =>
  `coalesce(sum(jsonb_array_length(payload -> 'keys')) filter (where status = '${status}' and kind = 'details'), 0)::int`

const lately = `date_trunc('minute', clock_timestamp() - interval '1 min')`

// Of a further pass the total is that of the pass.
const openWorkSql = `with open as (
    select s.stream, s.run_id as run, q.full_read as full from sync.requests q join sync.request_streams s on s.request_id = q.id
    where q.finished_at is null and q.record_key is null and not q.hot
    union select stream, id, full_read from sync.runs where status = 'running' and record_key is null and not hot)
  select distinct on (s.stream, o.run) s.stream, s.rows::float8 as rows,
    case when o.stream is null then null when r.id is null then 'waiting' when r.status <> 'running' then 'ended'
      when r.swept_at is null and r.phase = 'sweep' then 'listing' when t."isPlanning" then 'swept' else 'detailed' end as state,
    s.as_of is null or coalesce(r.full_read, o.full) as "isWhole",
    coalesce(r.requests, 0)::float8 as requests, coalesce(r.pages, 0)::float8 as pages,
    coalesce(r.total, greatest(t.total, case when t.total is not null then r.read end))::float8 as total,
    t.waiting, t.running, t.done, array(select endpoint from sync.reads where state = 'needed') as needed,
    extract(epoch from clock_timestamp() - min(r.started_at) over ())::float8 as "elapsedS",
    (select coalesce(sum(calls), 0) from sync.traffic where minute >= ${lately} and starts_with(endpoint, 'GET '))::float8 as reads,
    extract(epoch from clock_timestamp() - ${lately})::float8 as seconds
  from sync.streams s left join open o on o.stream = s.stream left join sync.runs r on r.id = o.run
    left join lateral (select ${keysOf('waiting')} as waiting, ${keysOf('running')} as running, ${keysOf('done')} as done,
      bool_or(kind in ('sweep', 'plan') and status in ('waiting', 'running')) as "isPlanning",
      max((checkpoint -> 'totals' ->> -1)::float8) filter (where kind = 'sweep') as total
      from sync.tasks where run_id = r.id) t on true
  order by s.stream, o.run, o.full desc`

type Row = Omit<OpenRun, 'state' | 'keys'> &
  OpenRun['keys'] &
  OpenWork['lately'] & {
    readonly state: OpenRun['state'] | null
    readonly rows: number
    readonly needed: readonly string[]
    readonly elapsedS: number | null
  }

/** Reads the open work. */
export async function openWork(db: Queryable): Promise<OpenWork> {
  const { rows } = await db.query<Row>(openWorkSql)
  const [first] = rows
  return {
    runs: rows.flatMap(({ stream, state, isWhole, requests, pages, total, waiting, running, done }) =>
      state === null ? [] : [{ stream, state, isWhole, requests, pages, total, keys: { waiting, running, done } }],
    ),
    rows: new Map(rows.map(({ stream, rows }) => [stream, rows])),
    needed: new Set(first?.needed),
    elapsedS: first?.elapsedS ?? 0,
    lately: { reads: first?.reads ?? 0, seconds: first?.seconds ?? 0 },
  }
}
