// The number of requests that a first sync and a day of the schedule need, for a mirror of a given size. Pure:
// intervals, page sizes and costs are the real ones; values that no setting defines are assumed, and named here.

import { streamNamed, streams } from '../catalog/catalog.ts'
import { isEnabled, type PlanSettings } from './plan.ts'
import { scheduledReads } from './quota-schedule.ts'
import {
  type Costs,
  firstRequests,
  linkRequests,
  listRequests,
  type ReadSettings,
  type RowsOf,
  recordsWithDetails,
} from './read-costs.ts'

/** Of records with a begin and an end so many are about to begin or ended lately, and are listed by hot runs. */
export const soonShare = 0.1
/** So many of them change within a day. */
export const changedADay = 0.02

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

export function planRequests(input: RequestPlanInput): RequestPlan {
  const { settings, intervals } = input
  const daily = { ...input, wanted: intervals, measured: new Map(), soonShare, hotShare: soonShare, changedADay }
  const planned = streams
    .filter((stream) => stream.reads.kind !== 'inside' && isEnabled(stream, settings))
    .map((stream) => {
      const records = recordsWithDetails(stream, input)
      const pages = listRequests(stream, records ?? 0, settings)
      const details = firstRequests(stream, records ?? 0, input) + linkRequests(stream, input)
      const intervalMs = intervals.get(stream.name) ?? null
      const { things, fixed } = scheduledReads(stream, daily)
      const perDay = things.reduce((sum, { perDayAt, wantedMs }) => sum + perDayAt(wantedMs), fixed)
      return { stream: stream.name, records, intervalMs, first: pages + details, pages, perDay }
    })
  const sum = (name: 'first' | 'pages' | 'perDay'): number => planned.reduce((all, each) => all + each[name], 0)
  return { streams: planned, first: sum('first'), pages: sum('pages'), perDay: sum('perDay') }
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
