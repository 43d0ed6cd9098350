// Everything the status page shows, read from the database as one value.

import { dateIn } from '../clock.ts'
import { type Attention, whatNeedsPeople } from './attention.ts'
import type { OperatorContext, StatusView } from './context.ts'
import { countFleet, type FleetDay, shownRange, yearsOf } from './fleet-calendar.ts'
import {
  calendarYears,
  type FinishedRun,
  freshnessFacts,
  openTasks,
  type RunningRun,
  recentRuns,
  runningRuns,
  type StreamFreshness,
  type TrafficPoint,
  trafficPoints,
  waitingStreams,
} from './page-queries.ts'
import { databaseClock } from './queries.ts'
import { sharedRead } from './shared-read.ts'

export type PageFacts = {
  /** The database's clock. */
  readonly now: Date
  readonly today: string
  readonly status: StatusView
  readonly freshness: readonly StreamFreshness[]
  readonly runs: readonly FinishedRun[]
  readonly running: readonly RunningRun[]
  readonly waiting: readonly string[]
  readonly tasks: { readonly waiting: number; readonly running: number }
  readonly traffic: readonly TrafficPoint[]
  readonly fleet: readonly FleetDay[]
  readonly attention: readonly Attention[]
  readonly version: string
}

/** Runs per stream in the small plots. */
export const runsShown = 24
/** Hours of traffic shown, in intervals of so many minutes. */
export const trafficShown = { hours: 6, minutes: 5 } as const
const fleetMaxAgeMs = 5 * 60_000

/** Makes the reader of the page's facts. The calendars of a whole fleet are read every five minutes at most. */
export function createFactsReader(context: OperatorContext): () => Promise<PageFacts> {
  const { pool } = context.database
  const readFleet = sharedRead(async () => {
    const range = shownRange(dateIn(context.config.timeZone, await databaseClock(pool)))
    return countFleet(await calendarYears(pool, yearsOf(range)), range)
  }, fleetMaxAgeMs)

  return async () => {
    const now = await databaseClock(pool)
    const status = await context.readStatus()
    const freshness = await freshnessFacts(pool)
    return {
      now,
      today: dateIn(context.config.timeZone, now),
      status,
      freshness,
      runs: await recentRuns(pool, runsShown),
      running: await runningRuns(pool),
      waiting: await waitingStreams(pool),
      tasks: await openTasks(pool),
      traffic: await trafficPoints(pool, trafficShown),
      fleet: await readFleet(),
      attention: whatNeedsPeople(status, freshness),
      version: context.version,
    }
  }
}
