// Reads what `status` knows, as one value.

import { isGateState } from '../api/breaker.ts'
import type { Config } from '../config.ts'
import type { Database } from '../mirror/database.ts'
import { createGateStore } from '../mirror/gate-store.ts'
import { quarantineTotals } from '../mirror/quarantine.ts'
import { shownAddress } from '../mirror/sql-states.ts'
import { heldRuns } from '../mirror/sweeps.ts'
import { listUnknownFields } from '../mirror/unknown-fields.ts'
import { databaseClock, databaseFacts, endpointFacts, outboxFacts, streamFacts } from '../operator/queries.ts'
import type { StatusFacts } from '../operator/status.ts'
import { statuses } from '../outbox/transitions.ts'

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
