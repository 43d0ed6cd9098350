// The schedule: which stream is due when. One writer under an advisory lock keeps BullMQ's schedulers equal to what is
// wanted; a tick asks the tables whether the stream is really due.

import { findStream, streams } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import { meant } from '../config/names.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { BoatMirrorError } from '../errors.ts'
import type { Logger } from '../log.ts'
import { parseDuration } from '../settings.ts'
import { isAnythingDue } from '../state/due.ts'
import { createRequest, isRequested } from '../state/runs.ts'
import { inheritFreshness, listStreams, saveIntervals, takeTurn, turnCosts } from '../state/stream-state.ts'
import type { SyncContext } from '../sync/context.ts'
import { dueSettings, isEnabled, stretchFactor } from '../sync/plan.ts'
import type { JobQueue, TickJob } from './queues.ts'

type ScheduleConfig = Pick<
  Config,
  'schedules' | 'targets' | 'mirrorDocuments' | 'slotDays' | 'slotDurations' | 'calendarYears' | 'priceDays'
>

/** A tick may come this much before the table's due time, in seconds: timers are not exact. */
const earlyS = 0.5

/** @throws BoatMirrorError CONFIG_INVALID when the file's sections name streams that there are not: a slip would go unnoticed. */
export function assertKnownStreams({ schedules, targets, api }: Pick<Config, 'schedules' | 'targets' | 'api'>): void {
  const names = streams.map((stream) => stream.name)
  const problems = Object.entries({ schedules, targets, lists: api.lists }).flatMap(([section, entries]) =>
    Object.keys(entries)
      .filter((name) => findStream(name) === undefined)
      .map((name) => `${section}.${name} in the file: there is no stream "${name}"${meant(name, names)}.`),
  )
  if (problems.length > 0)
    throw new BoatMirrorError('CONFIG_INVALID', problems.join('\n'), {
      remedy: `Streams are named by their tables: ${names.join(', ')}.`,
    })
}

/** Wanted intervals by stream, in milliseconds, before stretching. */
export function wantedIntervals(config: ScheduleConfig): ReadonlyMap<string, number> {
  const wanted = streams.filter((stream) => stream.reads.kind !== 'inside' && isEnabled(stream, config))
  const intervals = wanted.map(
    (stream) => [stream.name, config.schedules[stream.name] ?? parseDuration(stream.every) ?? 0] as const,
  )
  return new Map(intervals.filter(([, intervalMs]) => intervalMs > 0))
}

/** Effective intervals: the wanted ones, stretched so that scheduled reads take at most 60 % of the rate. */
export async function effectiveIntervals(
  database: Database,
  wanted: ReadonlyMap<string, number>,
  ratePerSecond: number,
): Promise<ReadonlyMap<string, number>> {
  const costs = await turnCosts(database.pool)
  const factor = stretchFactor(
    [...wanted].map(([stream, intervalMs]) => ({ stream, intervalMs, cost: costs.get(stream) ?? 1 })),
    ratePerSecond,
  )
  return new Map([...wanted].map(([stream, intervalMs]) => [stream, Math.round((intervalMs * factor) / 1_000) * 1_000]))
}

/**
 * Brings the tables and BullMQ's schedulers to the wanted intervals; those of dropped streams disappear.
 * @returns false when another worker is at it: then nothing was done, and it is to be tried again.
 */
export async function applySchedule(
  database: Database,
  queue: JobQueue,
  intervals: ReadonlyMap<string, number>,
  targets: Readonly<Record<string, number>>,
): Promise<boolean> {
  await saveIntervals(
    database.pool,
    streams.map(({ name }) => {
      const intervalMs = intervals.get(name)
      const targetMs = targets[name]
      return {
        stream: name,
        intervalS: intervalMs === undefined ? null : intervalMs / 1_000,
        targetS: targetMs === undefined ? null : targetMs / 1_000,
      }
    }),
  )
  // BullMQ's upsert is not serialised on Postgres: one writer at a time, and only where something differs. Whoever comes
  // second does not wait: through a small pooler it would hold the connection that the first one's queue needs.
  return await database.transaction(async (client) => {
    const { rows } = await client.query<{ mine: boolean }>(
      `select pg_try_advisory_xact_lock(hashtext('boat-mirror.schedule')) as mine`,
    )
    if (rows[0]?.mine !== true) return false
    const present = new Map(
      (await queue.getJobSchedulers(0, -1)).map((scheduler) => [scheduler.key, Number(scheduler.every ?? 0)]),
    )
    for (const key of present.keys()) if (!intervals.has(key)) await queue.removeJobScheduler(key)
    for (const [stream, every] of intervals) {
      if (present.get(stream) === every) continue
      const data: TickJob = { stream }
      await queue.upsertJobScheduler(
        stream,
        { every },
        { name: 'tick', data, opts: { removeOnComplete: true, removeOnFail: true, attempts: 3 } },
      )
    }
    return true
  })
}

/** A stream's turn, if it is due: asks for a run, or notes that nothing below the parent is due. Returns what was done. */
export async function tick(
  context: SyncContext,
  name: string,
  log: Logger,
): Promise<'asked' | 'fresh' | 'waiting' | 'early'> {
  const stream = findStream(name)
  if (stream === undefined) return 'waiting'
  const { pool } = context.database
  if (!(await takeTurn(pool, name, earlyS))) return 'early'
  if (await isRequested(pool, name)) return 'waiting'
  if (stream.parent !== undefined && stream.freshness === 'detail') {
    const fresh = await isFresh(context, stream, stream.parent)
    if (fresh) return 'fresh'
  }
  await createRequest(pool, { trigger: 'schedule', streams: [name], full: false })
  log.debug({ event: 'tick', stream: name }, 'a stream is due')
  return 'asked'
}

async function isFresh(context: SyncContext, stream: StreamDef, parent: string): Promise<boolean> {
  const { pool } = context.database
  if (await isAnythingDue(pool, stream, dueSettings(context, null))) return false
  await inheritFreshness(pool, stream.name, parent)
  return true
}

/** On an empty mirror the first complete sync starts at once; a stream that was never read joins it. */
export async function requestFirstSync(database: Database, enabled: readonly string[]): Promise<boolean> {
  return await database.transaction(async (client) => {
    await client.query(`select pg_advisory_xact_lock(hashtext('boat-mirror.first-sync'))`)
    const never = new Set(
      (await listStreams(client))
        .filter((state) => state.as_of === null && state.last_run_id === null)
        .map((state) => state.stream),
    )
    const missing: string[] = []
    for (const stream of enabled) if (never.has(stream) && !(await isOpen(client, stream))) missing.push(stream)
    if (missing.length === 0) return false
    await createRequest(client, { trigger: 'first', streams: missing, full: false })
    return true
  })
}

async function isOpen(client: Parameters<typeof isRequested>[0], stream: string): Promise<boolean> {
  const { rowCount } = await client.query(
    `select 1 from sync.request_streams s join sync.requests r on r.id = s.request_id
     where r.finished_at is null and s.stream = $1 limit 1`,
    [stream],
  )
  return (rowCount ?? 0) > 0
}
