// The number of requests that a first sync and a day of the schedule need, for a mirror of a given size. Pure:
// intervals, page sizes and costs are the real ones; values that no setting defines are assumed, and named here.

import { isDetailOnSchedule, parentOf, streamNamed, streams, windowsOf, withAncestors } from '../catalog/catalog.ts'
import { turnName } from '../catalog/turns.ts'
import type { StreamDef } from '../catalog/types.ts'
import { isEnabled, type PlanSettings } from './plan.ts'
import {
  type Costs,
  dailyRequests,
  detailRequests,
  firstRequests,
  linkRequests,
  listRequests,
  type ReadSettings,
  type RowsOf,
  recordsWithDetails,
} from './read-costs.ts'

/** Of records with a begin and an end so many are about to begin or ended lately, and are read so many times as often. */
export const soonShare = 0.1
const soonTimes = 4
/** So many of them change within a day. */
export const changedADay = 0.02
/** Details fall due between three quarters of DETAIL_MAX_AGE and the whole. */
const meanAge = 0.875

const dayMs = 24 * 3_600_000

export type PlannedStream = {
  readonly stream: string
  /** Records whose details it reads; null: their number is unknown. */
  readonly records: number | null
  /** null: not on the schedule. */
  readonly intervalMs: number | null
  /** Requests of the first sync, and those of them that are pages of lists. */
  readonly first: number
  readonly pages: number
  readonly perDay: number
}

type RequestPlanInput = Costs & {
  readonly settings: ReadSettings & PlanSettings & { readonly detailMaxAgeMs: number }
  /** Wanted intervals by turn, in milliseconds. */
  readonly intervals: ReadonlyMap<string, number>
}

export type RequestPlan = Pick<PlannedStream, 'first' | 'pages' | 'perDay'> & {
  /** A line for each stream that is read separately. */
  readonly streams: readonly PlannedStream[]
}

/** Makes the plan. */
export function planRequests(input: RequestPlanInput): RequestPlan {
  const { settings, intervals } = input
  const planned = streams
    .filter((stream) => stream.reads.kind !== 'inside' && isEnabled(stream, settings))
    .map((stream) => {
      const records = recordsWithDetails(stream, input)
      const pages = listRequests(stream, records ?? 0, settings)
      const details = firstRequests(stream, records ?? 0, input) + linkRequests(stream, input)
      const intervalMs = intervals.get(stream.name) ?? null
      const turns = intervalMs === null ? 0 : dayMs / intervalMs
      const perDay =
        turns * pages +
        hotPages(input, stream) +
        madeDue(input, stream) +
        dailyRequests(stream, records ?? 0, readingsADay(stream, turns, settings.detailMaxAgeMs), input)
      return { stream: stream.name, records, intervalMs, first: pages + details, pages, perDay }
    })
  const sum = (name: 'first' | 'pages' | 'perDay'): number => planned.reduce((all, each) => all + each[name], 0)
  return { streams: planned, first: sum('first'), pages: sum('pages'), perDay: sum('perDay') }
}

/** Pages of a day's hot runs: one of what is new, and the window. */
function hotPages({ settings, intervals, rowsOf }: RequestPlanInput, stream: StreamDef): number {
  const intervalMs = intervals.get(turnName({ stream: stream.name, hot: true }))
  if (intervalMs === undefined || windowsOf(stream) === undefined) return 0
  return (dayMs / intervalMs) * (1 + listRequests(stream, soonShare * (rowsOf(stream.name) ?? 0), settings))
}

/** Details that changes of other rows make due within a day, each of them once. */
function madeDue(input: RequestPlanInput, stream: StreamDef): number {
  const isHot = input.intervals.has(turnName({ stream: stream.name, hot: true }))
  if (stream.dueBy === undefined || !isHot) return 0
  return changedADay * (input.rowsOf(stream.dueBy.stream) ?? 0) * detailRequests(stream, input)
}

/** How often the details of one record are read within a day. */
function readingsADay(stream: StreamDef, turns: number, maxAgeMs: number): number {
  if (!isDetailOnSchedule(stream)) return turns
  const holder = stream.reads.kind === 'list' ? stream : parentOf(stream)
  const byAge = dayMs / (maxAgeMs * meanAge)
  const soon = holder?.eventful === undefined ? 0 : soonShare
  const changed = withAncestors(stream).some(({ eventful }) => eventful !== undefined) ? changedADay : 0
  return (1 - soon) * Math.min(turns, byAge) + soon * Math.min(turns, byAge * soonTimes) + Math.min(turns, changed)
}

/** Rows as they would be if some streams had so many: those below them grow along. */
export function scaledRows(mirrored: RowsOf, given: ReadonlyMap<string, number>): RowsOf {
  const rowsOf: RowsOf = (name) => {
    const own = given.get(name)
    const there = mirrored(name)
    const { parent } = streamNamed(name)
    if (own !== undefined || there === null || parent === undefined) return own ?? there
    const [above, aboveThere] = [rowsOf(parent), mirrored(parent)]
    return above === null || aboveThere === null ? there : (there * above) / aboveThere
  }
  return rowsOf
}
