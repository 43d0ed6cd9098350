// How much longer the present syncs take: the requests that are left, at the rate of the last minute. Pure.

import { findStream, streamNamed } from '../catalog/catalog.ts'
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
import type { OpenRun, OpenWork } from './open-work.ts'
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

/** In its first seconds a sync says nothing of its rate. */
const tooEarlyS = 2

/** What is left of the open syncs. */
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

/** Requests for the records that tasks still hold; for running tasks half of them. */
function requestsOfTasks({ requests, pages, keys }: OpenRun, ofOne: number): number {
  // The real cost of a record shows when more of them are done than running.
  const each = keys.done > keys.running ? (requests - pages) / (keys.done + keys.running / 2) : ofOne
  return (keys.waiting + keys.running / 2) * each
}

/** `about 12 min left`; null where unknown, or nothing is left. */
export const timeLeft = ({ secondsLeft }: Estimate): string | null =>
  secondsLeft === null || secondsLeft === 0 ? null : `about ${about(secondsLeft)} left`

/**
 * The progress of a first sync, in a sentence: `rentals 19,898 listed, 34 % of the requests made, about 12 min left; you
 * can query now`. Null when there is none, or nothing to query.
 */
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
