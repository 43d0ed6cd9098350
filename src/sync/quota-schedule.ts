// The schedule under a quota. Reads in turns are stretched by their interval, reads by age by that age: the least
// useful first and as far as is bearable, then the next. New records and those departing soon keep their interval
// longest. If all of it is still too much, everything is stretched further, and targets are missed. Pure.

import { isDetailOnSchedule, parentOf, streamNamed, streams, windowsOf, withAncestors } from '../catalog/catalog.ts'
import { turnName } from '../catalog/turns.ts'
import type { StreamDef } from '../catalog/types.ts'
import { isEnabled, type PlanSettings } from './plan.ts'
import { type Costs, dailyRequests, listRequests, type ReadSettings, recordsWithDetails } from './read-costs.ts'

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000]

/** Details fall due between three quarters of their age and the whole. */
const meanAge = 0.875

/** What is stretched, the least useful first, and how far that is bearable, in milliseconds. */
const bearable = {
  /** Details of past records, of later departures, and of records without dates: documents, prices, equipment. */
  ages: 7 * dayMs,
  /** Calendars, slots and availability of all boats: a changed rental makes those of its boat due anyway. */
  shared: 12 * hourMs,
  /** Complete lists: within the hour, with what a run takes. */
  complete: 50 * minuteMs,
  /** Details of what departs within 30 days or is just back: within twelve hours, with what a run takes. */
  soon: 11 * hourMs,
  /** Lists of what is new and what departs soon: within five minutes, with what a run takes. */
  hot: 4 * minuteMs,
} as const

type Use = keyof typeof bearable
const leastUsefulFirst = Object.keys(bearable) as readonly Use[]

/** One thing that can be stretched. */
export type Stretchable = {
  readonly what: 'interval' | 'age' | 'soonAge'
  /** Of an interval the name of its turn, of an age that of its stream. */
  readonly name: string
  readonly use: Use
  readonly wantedMs: number
  /** Requests that it takes in a day when it is as long as that. */
  readonly perDayAt: (ms: number) => number
}

/** The longest bearable interval; a longer one that is set stays. */
const longest = ({ use, wantedMs }: Stretchable): number => Math.max(wantedMs, bearable[use])

export type Solution = {
  readonly lengths: ReadonlyMap<Stretchable, number>
  readonly perDay: number
  /** Nothing is stretched beyond what is bearable. */
  readonly isKept: boolean
}

/** So much further than bearable at most: a quota of nothing must not make an interval of years. */
const farthest = 1_000

/** Stretches intervals and ages until they need at most `budget` requests a day, including the `fixed` ones. */
export function solve(things: readonly Stretchable[], fixed: number, budget: number): Solution {
  const lengths = new Map(things.map((thing) => [thing, thing.wantedMs]))
  const total = (): number => things.reduce((sum, thing) => sum + thing.perDayAt(lengths.get(thing) ?? 1), fixed)
  const set = (some: readonly Stretchable[], lengthOf: (thing: Stretchable) => number): void => {
    for (const thing of some) lengths.set(thing, lengthOf(thing))
  }
  /** The smallest factor that suffices; the largest where none does. */
  const stretch = (
    some: readonly Stretchable[],
    largest: number,
    lengthOf: (thing: Stretchable, by: number) => number,
  ) => {
    let [low, high] = [1, largest]
    for (let step = 0; step < 60; step++) {
      const middle = Math.sqrt(low * high)
      set(some, (thing) => lengthOf(thing, middle))
      if (total() <= budget) high = middle
      else low = middle
    }
    set(some, (thing) => lengthOf(thing, high))
  }
  for (const use of leastUsefulFirst) {
    if (total() <= budget) break
    const some = things.filter((thing) => thing.use === use)
    const largest = Math.max(1, ...some.map((thing) => longest(thing) / thing.wantedMs))
    stretch(some, largest, (thing, by) => Math.min(longest(thing), thing.wantedMs * by))
  }
  const isKept = total() <= budget
  if (!isKept) stretch(things, farthest, (thing, by) => longest(thing) * by)
  return { lengths, perDay: total(), isKept }
}

export type QuotaScheduleInput = Costs & {
  readonly settings: ReadSettings & PlanSettings & { readonly detailMaxAgeMs: number }
  /** Wanted intervals by turn, in milliseconds. */
  readonly wanted: ReadonlyMap<string, number>
  /** Requests of a turn as they were measured, by its name. */
  readonly measured: ReadonlyMap<string, number>
  /** Of what has dates: the share that departs within 30 days or is just back, and the share that hot runs list. */
  readonly soonShare: number
  readonly hotShare: number
  /** The share of it that changes within a day. */
  readonly changedADay: number
}

type Scheduled = {
  readonly things: readonly Stretchable[]
  /** Requests of a day that cannot be stretched. */
  readonly fixed: number
}

/** What the schedule reads of a stream in a day. */
export function scheduledReads(stream: StreamDef, input: QuotaScheduleInput): Scheduled {
  const { settings, wanted, measured, rowsOf } = input
  const { name, reads, dueBy } = stream
  const intervalMs = wanted.get(name)
  if (reads.kind === 'inside' || !isEnabled(stream, settings) || intervalMs === undefined)
    return { things: [], fixed: 0 }
  const things: Stretchable[] = []
  const byInterval = (turn: string, use: Use, cost: number): void => {
    const wantedMs = wanted.get(turn)
    if (wantedMs !== undefined && cost > 0)
      things.push({ what: 'interval', name: turn, use, wantedMs, perDayAt: (ms) => (dayMs / ms) * cost })
  }
  const hot = turnName({ stream: name, hot: true })
  const records = recordsWithDetails(stream, input) ?? 0
  const sampled = dailyRequests(stream, records, 0, input)
  const onceForAll = dailyRequests(stream, records, 1, input) - sampled
  let fixed = sampled
  if (reads.kind === 'list') {
    const pages = listRequests(stream, records, settings)
    if (reads.paged) byInterval(name, 'complete', pages)
    else fixed += (dayMs / intervalMs) * pages // reference lists: a handful a day
  }
  if (windowsOf(stream) !== undefined) {
    const listed = Math.ceil((rowsOf(name) ?? 0) * input.hotShare)
    byInterval(hot, 'hot', measured.get(hot) ?? 1 + listRequests(stream, listed, settings))
  }
  if (!isDetailOnSchedule(stream)) {
    byInterval(name, 'shared', onceForAll)
    if (dueBy !== undefined && wanted.has(hot) && records > 0)
      fixed += (input.changedADay * (rowsOf(dueBy.stream) ?? 0) * onceForAll) / records
    return { things, fixed }
  }
  const holder = reads.kind === 'list' ? stream : parentOf(stream)
  const soon = holder?.eventful === undefined ? 0 : input.soonShare
  if (withAncestors(stream).some(({ eventful }) => eventful !== undefined)) fixed += input.changedADay * onceForAll
  const perDay = (share: number) => (ms: number) => (share * onceForAll * dayMs) / Math.max(intervalMs, ms * meanAge)
  const { detailMaxAgeMs: age } = settings
  things.push({ what: 'age', name, use: 'ages', wantedMs: age, perDayAt: perDay(1 - soon) })
  if (soon > 0) things.push({ what: 'soonAge', name, use: 'soon', wantedMs: age / 4, perDayAt: perDay(soon) })
  return { things, fixed }
}

/** How old details of a stream may be, in milliseconds. */
export type Ages = { readonly maxAgeMs: number; readonly soonMaxAgeMs: number }

export type QuotaSchedule = Pick<Solution, 'perDay' | 'isKept'> & {
  /** Effective intervals by turn, in milliseconds. */
  readonly intervals: ReadonlyMap<string, number>
  /** By stream, where details are read by their age. */
  readonly ages: ReadonlyMap<string, Ages>
  /** Streams in which details of records departing soon have a separate age. */
  readonly soon: ReadonlySet<string>
}

const toSeconds = (ms: number): number => Math.ceil(ms / 1_000) * 1_000

/** The schedule that takes no more than so many requests a day. */
export function solveSchedule(input: QuotaScheduleInput, budgetPerDay: number): QuotaSchedule {
  const parts = streams.map((stream) => scheduledReads(stream, input))
  const things = parts.flatMap((part) => part.things)
  const fixed = parts.reduce((sum, part) => sum + part.fixed, 0)
  const { lengths, perDay, isKept } = solve(things, fixed, budgetPerDay)
  const intervals = new Map(input.wanted)
  const ages = new Map<string, Ages>()
  const { detailMaxAgeMs: usual } = input.settings
  for (const [{ what, name }, ms] of lengths)
    if (what === 'interval') intervals.set(name, toSeconds(ms))
    else {
      const known = ages.get(name) ?? { maxAgeMs: usual, soonMaxAgeMs: usual / 4 }
      ages.set(name, { ...known, [what === 'age' ? 'maxAgeMs' : 'soonMaxAgeMs']: toSeconds(ms) })
    }
  const soon = new Set(things.flatMap(({ what, name }) => (what === 'soonAge' ? name : [])))
  return { intervals, ages, soon, perDay, isKept }
}

/** What a stream is read by now, in milliseconds; null: not at all, or as without a quota. */
export type Effective = {
  readonly stream: string
  readonly intervalMs: number | null
  readonly hotIntervalMs: number | null
  readonly maxAgeMs: number | null
  readonly soonMaxAgeMs: number | null
}

/** What people want longer: intervals by turn, in milliseconds, and how old details may be. */
type Wishes = { readonly schedules: Readonly<Record<string, number>>; readonly detailMaxAgeMs: number }

/** A list with separate windows is read once an hour where it is long. */
const longestWanted: Readonly<Record<Use, number>> = { ...bearable, complete: hourMs }

/**
 * Streams of which something is stretched further than is bearable, or than was wanted where that is more: what the quota
 * no longer lets be kept.
 */
export function notKept(streamsNow: readonly Effective[], { schedules, detailMaxAgeMs }: Wishes): readonly string[] {
  const isBeyond = (now: number | null, use: Use, wantedMs = 0): boolean =>
    now !== null && now > Math.max(wantedMs, longestWanted[use]) + 1_000
  return streamsNow.flatMap(({ stream: name, intervalMs, hotIntervalMs, maxAgeMs, soonMaxAgeMs }) => {
    const stream = streamNamed(name)
    const use = stream.reads.kind === 'list' ? 'complete' : 'shared'
    const hot = windowsOf(stream) === undefined ? null : hotIntervalMs
    const byInterval = stream.reads.kind === 'list' ? stream.reads.paged : !isDetailOnSchedule(stream)
    const isStretched =
      (byInterval && isBeyond(intervalMs, use, schedules[name])) ||
      isBeyond(hot, 'hot', schedules[turnName({ stream: name, hot: true })]) ||
      isBeyond(maxAgeMs, 'ages', detailMaxAgeMs) ||
      isBeyond(soonMaxAgeMs, 'soon', detailMaxAgeMs / 4)
    return isStretched ? [name] : []
  })
}
