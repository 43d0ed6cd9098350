// The schedule: when each stream is due. One writer under an advisory lock keeps BullMQ's schedulers as wanted; a tick checks in the
// tables whether the stream is really due.

import { isDetailOnSchedule, streamNamed, streams, windowsOf } from '../catalog/catalog.ts'
import { findTurn, turnName, turns } from '../catalog/turns.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { Config, NamedStreams } from '../config.ts'
import type { Database } from '../database/database.ts'
import type { Logger } from '../log.ts'
import { meant } from '../near-names.ts'
import { entries, readProfile } from '../profile/profile.ts'
import { parseDuration } from '../settings.ts'
import type { SyncContext } from '../sync/context.ts'
import { hotSince, scheduledSince } from '../sync/due/candidates.ts'
import { isAnythingDue } from '../sync/due/due.ts'
import { createRequest, isRequested } from '../sync/due/requests.ts'
import {
  inheritFreshness,
  listStreams,
  pagesOfList,
  saveIntervals,
  takeTurn,
  turnCosts,
  unexpectedShares,
} from '../sync/due/stream-state.ts'
import { dueSettings, isEnabled, stretchFactor } from '../sync/plan.ts'
import type { Ages } from '../sync/quota-schedule.ts'
import type { JobQueue, TickJob } from './queues.ts'

type ScheduleConfig = Pick<
  Config,
  'schedules' | 'targets' | 'mirrorDocuments' | 'slotDays' | 'slotDurations' | 'calendarYears' | 'priceDays'
>

/** Seconds by which a tick may come too early: timers are not exact. */
const earlyS = 0.5

/** What is wrong with the names of streams in settings: a typo would go unnoticed. */
export function streamProblems({ schedules, targets, lists, webhookStreams }: NamedStreams): readonly string[] {
  const names = streams.map((stream) => stream.name)
  const hot = turns.filter((turn) => turn.hot).map(turnName)
  const unknown = (place: (name: string) => string, given: readonly string[], known: readonly string[]) =>
    given
      .filter((name) => !known.includes(name))
      .map((name) => `${place(name)}: there is no stream "${name}"${meant(name, known)}.`)
  const problems = [
    ...unknown((name) => `schedules.${name} in the file`, Object.keys(schedules), [...names, ...hot]),
    ...unknown((name) => `targets.${name} in the file`, Object.keys(targets), names),
    ...unknown((name) => `lists.${name} in the file`, Object.keys(lists), names),
    ...unknown(() => 'WEBHOOK_STREAMS', webhookStreams ?? [], names),
  ]
  return problems.length === 0 ? [] : [...problems, `Streams are named after their tables: ${names.join(', ')}.`]
}

/** Facts that decide how often a list with windows is read as a whole. */
export type ScheduleFacts = {
  readonly ratePerSecond: number
  /** Pages of lists whose windows the API honours. */
  readonly pages: ReadonlyMap<string, number>
  /** Streams that often change unexpectedly. */
  readonly unexpected: ReadonlySet<string>
}

/** For a list with windows: the share of the rate limit for complete sweeps, and their longest interval in milliseconds. */
const completeShare = 0.03
const completeWithinMs = 3_600_000

/** Names of the streams whose windows the API is known to honour. */
export async function honouredWindows({ pool }: Database): Promise<readonly string[]> {
  const known = (await readProfile(pool)).values(entries.windows)
  return streams.flatMap((stream) => (windowsOf(stream) && known.get(stream.name)?.honoured ? stream.name : []))
}

/** Reads the facts that decide wanted intervals. */
export async function scheduleFacts(database: Database, ratePerSecond: number): Promise<ScheduleFacts> {
  const { pool } = database
  const pages = new Map<string, number>()
  for (const name of await honouredWindows(database)) {
    const known = await pagesOfList(pool, name)
    if (known !== null) pages.set(name, known)
  }
  const unexpected = new Set((await unexpectedShares(pool)).map(({ stream }) => stream))
  return { ratePerSecond, pages, unexpected }
}

/** Wanted intervals by turn, in milliseconds, before stretching. A stream without complete runs has no hot ones. */
export function wantedIntervals(config: ScheduleConfig, facts?: ScheduleFacts): ReadonlyMap<string, number> {
  const intervals = new Map<string, number>()
  for (const turn of turns) {
    const stream = streamNamed(turn.stream)
    const name = turnName(turn)
    if (!isEnabled(stream, config) || (turn.hot && !intervals.has(turn.stream))) continue
    const usual = facts?.unexpected.has(turn.stream) ? stream.dueBy?.otherwise : stream.every
    const every = parseDuration((turn.hot ? stream.hotEvery : usual) ?? '') ?? 0
    const intervalMs = config.schedules[name] ?? (turn.hot ? every : completeEvery(turn.stream, every, facts))
    if (intervalMs > 0) intervals.set(name, intervalMs)
  }
  return intervals
}

/** The interval of complete sweeps of a list with windows, from its share of the rate limit. */
function completeEvery(stream: string, every: number, facts?: ScheduleFacts): number {
  const pages = facts?.pages.get(stream)
  if (facts === undefined || pages === undefined || facts.ratePerSecond === 0) return every
  const affordable = (pages * 1_000) / (facts.ratePerSecond * completeShare)
  return Math.max(every, Math.min(completeWithinMs, affordable))
}

/** Effective intervals: the wanted ones, stretched so that scheduled reads take at most 60 % of the rate. */
export async function effectiveIntervals(
  database: Database,
  wanted: ReadonlyMap<string, number>,
  ratePerSecond: number,
): Promise<ReadonlyMap<string, number>> {
  const costs = await turnCosts(database.pool)
  const factor = stretchFactor(
    [...wanted].map(([turn, intervalMs]) => ({ intervalMs, cost: costs.get(turn) ?? 1 })),
    ratePerSecond,
  )
  return new Map([...wanted].map(([turn, intervalMs]) => [turn, Math.round((intervalMs * factor) / 1_000) * 1_000]))
}

type Applied = {
  /** Effective intervals by turn, in milliseconds. */
  readonly intervals: ReadonlyMap<string, number>
  /** The greatest age of details by stream, under a quota. */
  readonly ages?: ReadonlyMap<string, Ages>
}

/** Sets the tables and BullMQ's schedulers to the wanted intervals. @returns false when another worker is doing it: try again */
export async function applySchedule(
  database: Database,
  queue: JobQueue,
  { intervals, ages = new Map() }: Applied,
  targets: Readonly<Record<string, number>>,
): Promise<boolean> {
  const inS = (ms: number | undefined): number | null => (ms === undefined ? null : ms / 1_000)
  await saveIntervals(
    database.pool,
    streams.map(({ name: stream }) => ({
      stream,
      intervalS: inS(intervals.get(stream)),
      hotIntervalS: inS(intervals.get(turnName({ stream, hot: true }))),
      targetS: inS(targets[stream]),
      maxAgeS: inS(ages.get(stream)?.maxAgeMs),
      soonMaxAgeS: inS(ages.get(stream)?.soonMaxAgeMs),
    })),
  )
  // BullMQ's upsert is not serialised on Postgres, so there is one writer at a time. A second one does not wait: through a small pooler
  // it would hold the connection that the queue of the first needs.
  return await database.transaction(async (client) => {
    const { rows } = await client.query<{ mine: boolean }>(
      `select pg_try_advisory_xact_lock(hashtext('boat-mirror.schedule')) as mine`,
    )
    if (rows[0]?.mine !== true) return false
    const present = new Map(
      (await queue.getJobSchedulers(0, -1)).map((scheduler) => [scheduler.key, Number(scheduler.every ?? 0)]),
    )
    for (const key of present.keys()) if (!intervals.has(key)) await queue.removeJobScheduler(key)
    for (const [turn, every] of intervals) {
      if (present.get(turn) === every) continue
      const data: TickJob = { stream: turn }
      await queue.upsertJobScheduler(
        turn,
        { every },
        { name: 'tick', data, opts: { removeOnComplete: true, removeOnFail: true, attempts: 3 } },
      )
    }
    return true
  })
}

/** Requests a run for a turn that is due, or records that nothing below its parent is due. Returns what was done. */
export async function tick(
  context: SyncContext,
  name: string,
  log: Logger,
): Promise<'asked' | 'fresh' | 'waiting' | 'early'> {
  const turn = findTurn(name)
  if (turn === undefined) return 'waiting'
  const stream = streamNamed(turn.stream)
  const { pool } = context.database
  if (!(await takeTurn(pool, turn, earlyS))) return 'early'
  if (await isRequested(pool, turn)) return 'waiting'
  if (!turn.hot && stream.parent !== undefined && isDetailOnSchedule(stream)) {
    const fresh = await isFresh(context, stream, stream.parent)
    if (fresh) return 'fresh'
  }
  if (turn.hot && stream.dueBy !== undefined) return await tickMadeDue(context, stream)
  // The hot run is requested first: otherwise it would wait for the complete sweep.
  const hot = { stream: turn.stream, hot: true }
  const asksHot = windowsOf(stream) !== undefined && (await mayReadWindows(context, turn.stream))
  if (turn.hot && !asksHot) return 'waiting'
  if (asksHot && !(await isRequested(pool, hot)))
    await createRequest(pool, { trigger: 'schedule', streams: [turn.stream], full: false, hot: true })
  // Until a first hot run has tried the windows, it is unknown how soon the whole list must be read again.
  if (!turn.hot && asksHot !== 'first')
    await createRequest(pool, { trigger: 'schedule', streams: [turn.stream], full: false })
  log.debug({ event: 'tick', turn: name }, 'a turn is due')
  return 'asked'
}

/** Requests a hot run of the records that a change made due. Before a first complete run, everything is due anyway. */
async function tickMadeDue(context: SyncContext, stream: StreamDef): Promise<'asked' | 'fresh' | 'waiting'> {
  const { pool } = context.database
  const known = (await listStreams(pool)).find((state) => state.stream === stream.name)
  if (known?.as_of == null) return 'waiting'
  const since = await hotSince(pool, stream)
  if (!(await isAnythingDue(pool, stream, dueSettings(context, { scope: 'hot', since })))) return 'fresh'
  await createRequest(pool, { trigger: 'schedule', streams: [stream.name], full: false, hot: true })
  return 'asked'
}

/** Whether to read windows; they are compared with a complete sweep. If the API does not honour them, they are tried again later. */
async function mayReadWindows({ database, clock }: SyncContext, stream: string): Promise<boolean | 'first'> {
  const { pool } = database
  const profile = await readProfile(pool, clock)
  const known = profile.value(entries.windows, stream)
  if (known?.honoured === false && profile.isTrusted(entries.windows, stream)) return false
  const isRead = (await listStreams(pool)).some((state) => state.stream === stream && state.hot_as_of !== null)
  if (!isRead || known !== undefined) return isRead
  const { rowCount } = await pool.query('select from sync.runs where stream = $1 and hot limit 1', [stream])
  return rowCount === 0 ? 'first' : true
}

async function isFresh(context: SyncContext, stream: StreamDef, parent: string): Promise<boolean> {
  const { pool } = context.database
  const since = await scheduledSince(pool, stream)
  if (await isAnythingDue(pool, stream, dueSettings(context, { since }))) return false
  await inheritFreshness(pool, stream.name, parent)
  return true
}

/** Requests the first complete sync of the streams that were never read. */
export async function requestFirstSync(database: Database, enabled: readonly string[]): Promise<boolean> {
  return await database.transaction(async (client) => {
    await client.query(`select pg_advisory_xact_lock(hashtext('boat-mirror.first-sync'))`)
    const { rows } = await client.query<{ stream: string }>(
      `select s.stream from sync.streams s where s.stream = any($1) and s.as_of is null and s.last_run_id is null
         and s.paused_by is null and not exists (select from sync.request_streams o join sync.requests r on r.id = o.request_id
           where o.stream = s.stream and r.finished_at is null and r.record_key is null)
       order by array_position($1, s.stream)`,
      [enabled],
    )
    const missing = rows.map(({ stream }) => stream)
    if (missing.length === 0) return false
    await createRequest(client, { trigger: 'first', streams: missing, full: false })
    return true
  })
}
