// Reads what `status` knows, as one value.

import { isGateState } from '../api/admission/breaker.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { statuses } from '../outbox/states.ts'
import { createGateStore } from '../state/gate-store.ts'
import { quarantineTotals } from '../state/quarantine.ts'
import { repeatingReads } from '../state/reads.ts'
import { unexpectedShares } from '../state/stream-state.ts'
import { heldRuns } from '../state/sweeps.ts'
import { listUnknownFields } from '../state/unknown-fields.ts'
import { shownAddress } from '../text.ts'
import { consumerStatus } from './consumers.ts'
import { estimateOf } from './estimate.ts'
import { feedHolders } from './feed-holders.ts'
import { backlog, databaseClock, databaseFacts, endpointFacts, outboxFacts, streamStatus } from './queries.ts'
import type { StatusFacts } from './status.ts'
import { openWork } from './work-queries.ts'

/** Reads everything; the parts are read one after the other and may differ by moments. */
export async function readStatus(
  config: Config,
  opened: { readonly database: Database; readonly url: string },
  sandboxUrl: string | null,
): Promise<StatusFacts> {
  const db = opened.database.pool
  const outbox = await outboxFacts(db)
  const byStream = await quarantineTotals(db)
  const url = config.api.baseUrl ?? sandboxUrl ?? ''
  return {
    api: {
      url: shownAddress(url),
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
    streams: await streamStatus(db),
    backlog: await backlog(db),
    estimate: estimateOf(await openWork(db), config),
    endpoints: await endpointFacts(db),
    reads: await repeatingReads(db),
    outbox: {
      ...Object.fromEntries(statuses.map((status) => [status, outbox.counts[status] ?? 0])),
      oldestQueuedAt: outbox.oldestQueuedAt,
    },
    firstChanges: outbox.first,
    unexpected: await unexpectedShares(db),
    quarantine: { total: Object.values(byStream).reduce((sum, count) => sum + count, 0), byStream },
    heldRuns: await heldRuns(db),
    feedHeldBy: await feedHolders(db),
    consumers: await consumerStatus(db, config.historyDays),
    unknownFields: await listUnknownFields(db),
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
