// Which streams are read, in which order, how often and in which batches. Pure.

import { existingStream, parentOf, streamNamed, streams, withAncestors } from '../catalog/catalog.ts'
import type { Turn } from '../catalog/turns.ts'
import type { StreamDef, StreamSetting } from '../catalog/types.ts'
import { addDays, dateIn } from '../clock.ts'
import { BoatMirrorError } from '../errors.ts'
import { instant } from '../format.ts'
import type { SyncContext } from './context.ts'
import type { DueSettings } from './due/due.ts'
import type { PausedStream } from './due/stream-state.ts'
import type { RunningRun } from './runs/runs.ts'
import type { NewTask, Task } from './runs/tasks.ts'

export type PlanSettings = Readonly<Record<StreamSetting, boolean | number>>

/** Is this stream read at all under these settings? */
export const isEnabled = (stream: StreamDef, settings: PlanSettings): boolean =>
  (stream.onlyWith ?? []).every((name) => Number(settings[name]) > 0)

/**
 * The streams with separate runs for these names (all, when none is given), including parents; rows inside a record
 * are read with the record.
 * @throws BoatMirrorError USAGE naming the unknown stream and those that exist.
 */
export function streamsToRead(names: readonly string[], settings: PlanSettings): readonly string[] {
  const wanted = names.length === 0 ? streams : names.map(existingStream)
  const all = wanted.flatMap(withAncestors).flatMap((stream) => [...(stream.needs ?? []).map(streamNamed), stream])
  const chosen = new Set(all.filter((stream) => stream.reads.kind !== 'inside').map((stream) => stream.name))
  return streams.filter((stream) => chosen.has(stream.name) && isEnabled(stream, settings)).map((stream) => stream.name)
}

/**
 * The same for a requested sync.
 * @throws BoatMirrorError USAGE, too, when the settings switch all of them off.
 */
export function streamsToSync(names: readonly string[], settings: PlanSettings): readonly string[] {
  const wanted = streamsToRead(names, settings)
  if (wanted.length > 0) return wanted
  throw new BoatMirrorError('USAGE', `The configuration turns off ${names.join(', ')}.`, {
    remedy: 'MIRROR_DOCUMENTS, CALENDAR_YEARS, PRICE_DAYS, SLOT_DAYS and SLOT_DURATIONS turn streams on and off.',
  })
}

/**
 * Removes paused streams from the requested ones.
 * @throws BoatMirrorError USAGE when nothing is left
 */
export function withoutPaused(names: readonly string[], paused: readonly PausedStream[]): readonly string[] {
  const left = names.filter((name) => paused.every(({ stream }) => stream !== name))
  if (left.length > 0) return left
  throw new BoatMirrorError('USAGE', `Nothing was read: ${pausedText(names, paused)}.`, {
    remedy: `Resume first: boat-mirror resume ${names.at(-1)}`,
  })
}

/** Which of these streams are paused, since when and by whom; empty where none is. */
export const pausedText = (names: readonly string[], paused: readonly PausedStream[]): string =>
  paused
    .filter(({ stream }) => names.includes(stream))
    .map(({ stream, since, who }) => `${stream} has been paused since ${instant(since)} UTC, by ${who}`)
    .join(', ')

type Dependency = { readonly stream: string; readonly state: 'swept' | 'finished' }

/** What must have been read before this stream, if it is read in the same request. */
export function dependenciesOf(stream: StreamDef): readonly Dependency[] {
  // A missing document is proven by its user, whose own read therefore comes first. Slots have no list to sweep.
  const isProvenByParent = stream.reads.kind === 'document' && stream.reads.optional
  const above = parentOf(stream)
  const parentState = isProvenByParent || above?.reads.kind !== 'list' ? 'finished' : 'swept'
  const parent = above === undefined ? [] : [{ stream: above.name, state: parentState } as const]
  // Embedded records are stubs until they are read themselves: read them first, and no stub is made.
  const embeds = (stream.embeds ?? []).map((embed) => ({ stream: embed.stream, state: 'swept' }) as const)
  const needed = (stream.needs ?? []).map((name) => ({ stream: name, state: 'finished' }) as const)
  return [...parent, ...embeds, ...needed]
}

export type StreamProgress = 'waiting' | 'running' | 'swept' | 'finished'

/** The streams of one request that can start now: waiting, with everything they build on read. */
export function startableStreams(request: ReadonlyMap<string, StreamProgress>): readonly string[] {
  const satisfied = ({ stream, state }: Dependency): boolean => {
    const progress = request.get(stream)
    if (progress === undefined || progress === 'finished') return true
    return state === 'swept' && progress === 'swept'
  }
  return [...request]
    .filter(([name, progress]) => progress === 'waiting' && dependenciesOf(streamNamed(name)).every(satisfied))
    .map(([name]) => name)
}

/** Two runs of a stream never overlap; a hot and a complete one may once the sweep of the first has ended. Pure. */
export const isInTheWay = (run: RunningRun, wanted: Turn): boolean =>
  run.stream === wanted.stream && (run.hot === wanted.hot || !run.swept)

/** How many of so many keys make a batch: at most 200, and few enough for 16 workers to share them. */
export const batchSizeOf = (count: number): number => Math.min(200, Math.max(20, Math.ceil(count / 16)))

/** Cuts keys into batches. */
export function keyBatches<T>(keys: readonly T[], size = batchSizeOf(keys.length)): readonly (readonly T[])[] {
  const result: (readonly T[])[] = []
  for (let start = 0; start < keys.length; start += size) result.push(keys.slice(start, start + size))
  return result
}

/**
 * Lists come before details, so that a first sync shows every record before it reads details; requested refreshes
 * come first.
 */
export const priorities = { asked: 0, sweep: 1, confirm: 2, plan: 3, release: 2 } as const

/** Reads a list. */
export const sweepTask: NewTask = { kind: 'sweep', priority: priorities.sweep }
/** Plans details: when all lists of its request are read (`releasePlans`), so that none waits for details; after ten minutes anyway. */
export const planTask: NewTask = { kind: 'plan', priority: priorities.plan, delayMs: 10 * 60_000 }

/** Streams whose reads fill columns of others. */
const filling = new Set(streams.flatMap(({ filledBy }) => filledBy?.stream ?? []))

/** Priority of the first details of a rank. */
const firstOfRank = (rank: number): number => 10 + 100 * rank

/** Lists, and what follows from them, have lower priority numbers. */
export const mostUrgentDetail = firstOfRank(0)

/**
 * Priority of a stream's details after the lists: by rank of usefulness, then those that link others, then in the
 * order of the catalog. Requested refreshes yield to nothing.
 */
export const detailPriority = ({ stream, isAsked }: Pick<Task, 'stream' | 'isAsked'>, rank: number): number =>
  isAsked
    ? priorities.asked
    : firstOfRank(rank) + (filling.has(stream) ? 0 : 1 + streams.findIndex((each) => each.name === stream))

/** What details of this priority make way for: everything that is no detail, and details of lower ranks. */
export const moreUrgentThan = (priority: number): number => firstOfRank(Math.floor((priority - mostUrgentDetail) / 100))

/** What decides which details are due now; `scope`, `before` and `since`: see `DueSettings`. */
export function dueSettings(
  { settings, clock }: Pick<SyncContext, 'settings' | 'clock'>,
  { scope = 'schedule', before = null, since = null }: Partial<Pick<DueSettings, 'scope' | 'before' | 'since'>> = {},
): DueSettings {
  const from = dateIn(settings.timeZone, clock.now())
  const to = addDays(from, Math.max(0, settings.slotDays - 1))
  const leavesOut = settings.readEconomy && before === null
  return { scope, maxAgeMs: settings.detailMaxAgeMs, before, from, to, leavesOut, since }
}

/** The share of the request budget that scheduled reads may take. */
export const scheduledShare = 0.6

type TurnCost = {
  readonly intervalMs: number
  /** Requests of one turn. */
  readonly cost: number
}

/**
 * The factor that stretches all intervals so that the turns fit; 1 when they fit anyway. Example: 30 requests a
 * minute under a limit of 0.5/s need 0.5/s, and 0.3/s is allowed: 1.67.
 * @param ratePerSecond requests per second over all workers; 0 is no limit.
 */
export function stretchFactor(turns: readonly TurnCost[], ratePerSecond: number): number {
  if (ratePerSecond === 0) return 1
  const needed = turns.reduce((sum, { intervalMs, cost }) => sum + (cost * 1_000) / intervalMs, 0)
  return Math.max(1, needed / (ratePerSecond * scheduledShare))
}
