// What `serve` needs of the program that starts it.

import type { FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import type { Logger } from '../log.ts'
import type { SyncContext } from '../sync/context.ts'
import type { Limit } from './access/limit.ts'
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
  | 'serveRateLimit'
  | 'serveSizeParams'
  | 'serveWaitMs'
> & { readonly api: Pick<Config['api'], 'paging' | 'lists' | 'auth'> }

export type ServeContext = {
  /** Database, API, clock and log; the API protects what it answers. */
  readonly sync: SyncContext
  readonly settings: ServeSettings
  readonly log: Logger
  /** The host in SERVE_LISTEN. */
  readonly host: string
  /** Where NOTIFY is heard; null: nowhere. */
  readonly listenUrl: string | null
  readonly metrics: ServeMetrics
  /** Wrong tokens and wrong keys of calendars, by address. */
  readonly wrongTokens: Limit
  /** The sender of a request. @throws Refusal */
  callerOf(request: FastifyRequest): Promise<Caller>
}
