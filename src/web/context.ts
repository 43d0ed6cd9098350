// What the pages need from outside. They know no queue, no command line and no API: whoever starts them hands these in.

import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import type { StatusFacts } from '../inspect/status.ts'
import type { Logger } from '../log.ts'
import type { ObservedCall } from '../state/calls.ts'

export type OperatorContext = {
  readonly config: Pick<Config, 'host' | 'port' | 'adminToken' | 'timeZone'>
  readonly log: Logger
  readonly database: Database
  /** What `status --json` prints. */
  readStatus(): Promise<StatusFacts>
  /** Tells of each call of the API in this process. */
  onCall(listener: (call: ObservedCall) => void): void
  readonly queue: {
    /** Is the backend there? @throws BoatMirrorError QUEUE_* */
    ping(): Promise<void>
    /** Opens a BullMQ queue that has answered. */
    openQueue(name: string): Promise<{ close(): Promise<void> }>
  }
  readonly queueNames: readonly string[]
  readonly version: string
}
