// What the pages need from outside (they know no queue, no command line and no API: whoever starts them hands these in),
// and how many viewers share one read.

import type { CallRecord } from '../api/types.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import type { StatusFacts } from '../inspect/status.ts'
import type { Logger } from '../log.ts'
import type { Preview, SendingDecision } from '../outbox/preview.ts'

export type OperatorContext = {
  readonly config: Pick<Config, 'host' | 'port' | 'adminToken' | 'timeZone'>
  readonly log: Logger
  readonly database: Database
  /** What `status --json` prints. */
  readStatus(): Promise<StatusFacts>
  /** Tells of each call of the API in this process. */
  onCall(listener: (call: CallRecord) => void): void
  /** What would be sent after a decision about a change, as the API shows its record now; null: there is no such change. */
  previewDecision(id: string, what: SendingDecision): Promise<Preview | null>
  readonly queue: {
    /** Is the backend there? @throws BoatMirrorError QUEUE_* */
    ping(): Promise<void>
    /** Opens a queue; while the backend is not there, the queue refuses what it is asked for. */
    openQueue(
      name: string,
    ): Promise<{ getJobCounts(): Promise<Readonly<Record<string, number>>>; close(): Promise<void> }>
  }
  readonly queueNames: readonly string[]
  readonly version: string
}

/** Reads again only when the last successful read began more than `maxAgeMs` ago. A failure is not kept. */
export function sharedRead<T>(
  read: () => Promise<T>,
  maxAgeMs: number,
  now: () => number = Date.now,
): () => Promise<T> {
  let last: { readonly result: Promise<T>; readonly at: number } | undefined
  return () => {
    if (last !== undefined && now() - last.at < maxAgeMs) return last.result
    const mine = { result: read(), at: now() }
    last = mine
    mine.result.catch(() => {
      if (last === mine) last = undefined // whoever asked gets the error; the next one reads again
    })
    return mine.result
  }
}
