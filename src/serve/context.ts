// What `serve` needs of the program that starts it.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import type { Logger } from '../log.ts'
import type { SyncContext } from '../sync/context.ts'
import type { AccessRefusal } from './access/access.ts'
import type { ServeMetrics } from './metrics.ts'
import type { Caller } from './types.ts'

type ServeSettings = Pick<
  Config,
  | 'timeZone'
  | 'mirrorDocuments'
  | 'calendarYears'
  | 'priceDays'
  | 'slotDays'
  | 'slotDurations'
  | 'serveFreshLimit'
  | 'servePageParams'
  | 'serveSizeParams'
> & { readonly api: Pick<Config['api'], 'paging' | 'lists' | 'auth'>; readonly serveWaitMs: number }

export type ServeContext = {
  /** Database, API, clock and log; the API protects what it answers. */
  readonly sync: SyncContext
  readonly settings: ServeSettings
  readonly log: Logger
  /** The host in SERVE_LISTEN. */
  readonly host: string
  readonly metrics: ServeMetrics
  /** The sender of a request, or why it is refused. */
  readonly callerOf: (request: FastifyRequest) => Promise<Caller | AccessRefusal>
  /** Puts further routes on the server, before it listens. */
  readonly register?: (app: FastifyInstance) => void
}
