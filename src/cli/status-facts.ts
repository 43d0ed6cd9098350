// What `status` knows, as one value: the contract's shape of `status --json` (design, section 5).

import { isGateState } from '../api/breaker.ts'
import type { Config } from '../config.ts'
import type { Database } from '../mirror/database.ts'
import { createGateStore } from '../mirror/gate-store.ts'
import { quarantineTotals } from '../mirror/quarantine.ts'
import { shownAddress } from '../mirror/sql-states.ts'
import { heldRuns } from '../mirror/sweeps.ts'
import { listUnknownFields } from '../mirror/unknown-fields.ts'
import {
  databaseClock,
  databaseFacts,
  type EndpointFacts,
  endpointFacts,
  outboxFacts,
  type StreamFacts,
  streamFacts,
} from '../operator/queries.ts'
import { statuses } from '../outbox/transitions.ts'

export type StatusFacts = {
  readonly api: {
    readonly url: string
    /** True when it is the built-in sandbox. */
    readonly sandbox: boolean
    /** `open`: the API failed so often that requests wait, but for one probe at a time. */
    readonly breaker: 'closed' | 'open'
    /** The API asked to wait until then. */
    readonly pausedUntil: Date | null
    readonly nextProbeAt: Date | null
  }
  readonly database: {
    /** Without its password. */
    readonly url: string
    readonly version: string
    /** Bytes. */
    readonly size: number
    readonly embedded: boolean
  }
  readonly queue: { readonly backend: 'redis' | 'postgres'; readonly url: string | null }
  readonly streams: readonly StreamFacts[]
  readonly endpoints: readonly EndpointFacts[]
  readonly outbox: Readonly<Record<string, number | Date | null>>
  readonly quarantine: { readonly total: number; readonly byStream: Readonly<Record<string, number>> }
  readonly heldRuns: readonly {
    readonly id: number
    readonly stream: string
    readonly held: number
    readonly startedAt: Date
    readonly plan: unknown
  }[]
  readonly unknownFields: readonly {
    readonly stream: string
    readonly path: string
    readonly times: number
    readonly firstSeenAt: Date
    readonly lastSeenAt: Date
    readonly sample: unknown
  }[]
}

/** Reads everything; the parts are read one after the other and may differ by moments. */
export async function readStatus(
  config: Config,
  opened: { readonly database: Database; readonly url: string },
  sandboxUrl: string | null,
): Promise<StatusFacts> {
  const db = opened.database.pool
  const outbox = await outboxFacts(db)
  const byStream = await quarantineTotals(db)
  const held = await heldRuns(db)
  const unknown = await listUnknownFields(db)
  const url = config.api.baseUrl ?? sandboxUrl ?? ''
  return {
    api: {
      url: url.replace(/\/\/[^/@]*@/, '//***@'),
      sandbox: config.api.baseUrl === null,
      ...(await gateFacts(db, url)),
    },
    database: {
      url: shownAddress(opened.url),
      ...(await databaseFacts(db)),
      embedded: config.databaseUrl === null,
    },
    queue: {
      backend: config.redisUrl === null ? 'postgres' : 'redis',
      url: config.redisUrl === null ? null : shownAddress(config.redisUrl),
    },
    streams: await streamFacts(db),
    endpoints: await endpointFacts(db),
    outbox: {
      ...Object.fromEntries(statuses.map((status) => [status, outbox.counts[status] ?? 0])),
      oldestQueuedAt: outbox.oldestQueuedAt,
    },
    quarantine: { total: Object.values(byStream).reduce((sum, count) => sum + count, 0), byStream },
    heldRuns: held.map((run) => ({ ...run, id: Number(run.id) })),
    unknownFields: unknown.map((field) => ({ ...field, times: Number(field.times) })),
  }
}

/** What the workers share of the API's state. */
async function gateFacts(
  db: Database['pool'],
  url: string,
): Promise<Pick<StatusFacts['api'], 'breaker' | 'pausedUntil' | 'nextProbeAt'>> {
  const state = await createGateStore(db, url).load()
  if (!isGateState(state)) return { breaker: 'closed', pausedUntil: null, nextProbeAt: null }
  const now = (await databaseClock(db)).getTime()
  return {
    breaker: state.opened === 0 ? 'closed' : 'open',
    pausedUntil: state.pausedUntil > now ? new Date(state.pausedUntil) : null,
    nextProbeAt: state.opened === 0 ? null : new Date(state.probeAt),
  }
}

/** Was this endpoint ever answered with success? */
export const wasAnswered = (endpoint: EndpointFacts): boolean => endpoint.calls > endpoint.failures
