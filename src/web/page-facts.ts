// What the pages need from outside (they import no queue, no command line and no API: the caller passes these in), and everything
// that the status page shows, read from the database as one value.

import type { CallRecord } from '../api/types.ts'
import { dateIn } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { listServers } from '../database/presence.ts'
import { trafficPoints } from '../inspect/calls.ts'
import { databaseClock } from '../inspect/database.ts'
import {
  calendarVersion,
  calendarYears,
  countFleet,
  type FleetDay,
  shownRange,
  yearsOf,
} from '../inspect/fleet-calendar.ts'
import { lastPaceDay, type PaceMonth, paceMonths } from '../inspect/pace-months.ts'
import { openTasks, recentRuns, runningRuns, waitingStreams } from '../inspect/runs.ts'
import type { StatusFacts } from '../inspect/status.ts'
import { freshnessFacts } from '../inspect/streams.ts'
import type { Logger } from '../log.ts'
import { listChanges } from '../outbox/inspect.ts'
import type { Preview, SendingDecision } from '../outbox/preview.ts'
import { listTokens } from '../serve/access/tokens.ts'

export type OperatorContext = {
  readonly config: Pick<Config, 'host' | 'port' | 'adminToken' | 'timeZone'>
  readonly log: Logger
  readonly database: Database
  /** What `status --json` prints. */
  readStatus(): Promise<StatusFacts>
  /** Reports each call of the API in this process. */
  onCall(listener: (call: CallRecord) => void): void
  /** The request after a decision about a change, as the API shows its record now; null: the change does not exist. */
  previewDecision(id: string, what: SendingDecision): Promise<Preview | null>
  readonly queue: {
    /** Is the backend there? @throws BoatMirrorError QUEUE_* */
    ping(): Promise<void>
    /** Opens a queue; while the backend is unavailable, the queue refuses all calls. */
    openQueue(
      name: string,
    ): Promise<{ getJobCounts(): Promise<Readonly<Record<string, number>>>; close(): Promise<void> }>
  }
  readonly queueNames: readonly string[]
  readonly version: string
}

/** What the status page shows. `now`: the database's clock. */
export type PageFacts = Awaited<ReturnType<ReturnType<typeof createFactsReader>>>

/** The states of changes that are being sent or need a decision. */
export const openStates = ['conflict', 'unknown', 'failed', 'blocked', 'queued', 'sending'] as const
const changesShown = 10

/** Runs per stream in the small plots. */
export const runsShown = 24
/** Hours of traffic shown, in intervals of so many minutes. */
export const trafficShown = { hours: 6, minutes: 5 } as const

/** Makes the reader of the page's facts. The calendars of a whole fleet are read only after a run that read them, and daily. */
export function createFactsReader(context: OperatorContext) {
  const { pool } = context.database
  let counted: { readonly version: string; readonly fleet: readonly FleetDay[] } | undefined
  const readFleet = async (today: string): Promise<readonly FleetDay[]> => {
    const version = `${today} ${await calendarVersion(pool)}`
    if (counted?.version !== version) {
      const range = shownRange(today)
      counted = { version, fleet: countFleet(await calendarYears(pool, yearsOf(range)), range) }
    }
    return counted.fleet
  }

  let pace: { readonly day: string; readonly months: readonly PaceMonth[] } = { day: '', months: [] }
  const readPace = async (): Promise<readonly PaceMonth[]> => {
    const day = await lastPaceDay(pool)
    if (day !== pace.day) pace = { day, months: await paceMonths(pool, day) }
    return pace.months
  }

  /** The processes that serve the API, and its access tokens; null: none does. */
  const readServed = async () => {
    const servers = await listServers(pool)
    return servers.length === 0 ? null : { servers, tokens: await listTokens(pool) }
  }

  return async () => {
    const now = await databaseClock(pool)
    const today = dateIn(context.config.timeZone, now)
    const status = await context.readStatus()
    const freshness = await freshnessFacts(pool)
    return {
      now,
      today,
      status,
      freshness,
      runs: await recentRuns(pool, runsShown),
      running: await runningRuns(pool),
      waiting: await waitingStreams(pool),
      tasks: await openTasks(pool),
      traffic: await trafficPoints(pool, trafficShown),
      fleet: await readFleet(today),
      pace: await readPace(),
      /** The newest first. */
      changes: await listChanges(pool, { statuses: openStates, limit: changesShown }),
      served: await readServed(),
      version: context.version,
    }
  }
}
