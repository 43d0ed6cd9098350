// What the pages need from outside (they import no queue, no command line and no API: the caller passes these in),
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
      if (last === mine) last = undefined // the caller gets the error; the next one reads again
    })
    return mine.result
  }
}
