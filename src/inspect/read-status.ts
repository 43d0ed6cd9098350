// Reads what `status` knows, as one value.

import { createGateStore, isGateState } from '../api/admission/gate.ts'
import { findStream } from '../catalog/catalog.ts'
import type { Config } from '../config.ts'
import { lastWorkerAt, listWorkers } from '../database/presence.ts'
import type { Queryable } from '../database/sql.ts'
import { copiedChanges } from '../outbox/former.ts'
import { statuses } from '../outbox/states.ts'
import { mirroredApi } from '../profile/mirrored-api.ts'
import { followZone } from '../reports/time-zone.ts'
import { repeatingReads } from '../sync/due/reads.ts'
import { failingHotRuns, unexpectedShares } from '../sync/due/stream-state.ts'
import { isEnabled } from '../sync/plan.ts'
import { quarantinedSince, quarantineTotals } from '../sync/quarantine.ts'
import { heldRuns } from '../sync/runs/sweeps.ts'
import { listUnknownFields } from '../sync/unknown-fields.ts'
import { shownAddress } from '../text.ts'
import { itemOf, whatNeedsPeople } from './attention.ts'
import { endpointFacts } from './calls.ts'
import { databaseClock, databaseFacts } from './database.ts'
import { estimateOf, openWork } from './estimate.ts'
import { consumerStatus, feedHolders, goneRoles } from './feed.ts'
import { outboxFacts } from './outbox.ts'
import { quotaStatus } from './quota.ts'
import { alertsStatus, webhookStatus } from './receivers.ts'
import { overlapsToCome, rentalDoubts } from './report-queries.ts'
import { backlogOf, runningRuns } from './runs.ts'
import type { StatusFacts } from './status.ts'
import { freshnessFacts, freshnessHistory, type StreamState, type StreamStatus, streamStatus } from './streams.ts'

/** The freshness, unless the stream is paused or switched off, or its last complete run holds deletions. */
function stateOf(stream: StreamStatus, config: Config): StreamState {
  const known = findStream(stream.stream)
  if (stream.paused !== null || (known !== undefined && !isEnabled(known, config))) return 'off'
  return stream.lastRunStatus === 'held' ? 'held' : stream.state
}

/** Reads everything. The parts are read one after the other, so they may differ by moments. */
export async function readStatus(
  config: Config,
  { database, url: databaseUrl }: { readonly database: { readonly pool: Queryable }; readonly url: string },
  sandboxUrl: string | null,
): Promise<StatusFacts> {
  const db = database.pool
  const outbox = await outboxFacts(db)
  const byStream = await quarantineTotals(db)
  const consumers = await consumerStatus(db, config.historyDays)
  const url = config.api.baseUrl ?? sandboxUrl ?? ''
  const facts = {
    api: {
      url: shownAddress(url),
      sandbox: config.api.baseUrl === null,
      mirrored: await mirroredApi(db),
      ...(await gateFacts(db, url)),
    },
    database: {
      url: shownAddress(databaseUrl),
      ...(await databaseFacts(db)),
      embedded: config.databaseUrl === null,
      zones: await followZone(db, config.timeZone),
    },
    queue: {
      backend: config.redisUrl === null ? ('postgres' as const) : ('redis' as const),
      url: config.redisUrl === null ? null : shownAddress(config.redisUrl),
    },
    quota: await quotaStatus(db, config),
    workers: await listWorkers(db),
    lastWorkerAt: await lastWorkerAt(db),
    streams: (await streamStatus(db)).map((stream) => ({ ...stream, state: stateOf(stream, config) })),
    freshnessHistory: await freshnessHistory(db),
    backlog: backlogOf(await runningRuns(db)),
    estimate: estimateOf(await openWork(db), config),
    endpoints: await endpointFacts(db),
    reads: await repeatingReads(db),
    outbox: {
      ...Object.fromEntries(statuses.map((status) => [status, outbox.counts[status] ?? 0])),
      oldestQueuedAt: outbox.oldestQueuedAt,
    },
    copied: await copiedChanges(db),
    firstChanges: outbox.first,
    settledSince: outbox.settledSince,
    unexpected: await unexpectedShares(db),
    failingHotRuns: await failingHotRuns(db),
    quarantine: {
      total: Object.values(byStream).reduce((sum, count) => sum + count, 0),
      since: await quarantinedSince(db),
      byStream,
    },
    heldRuns: await heldRuns(db),
    overlaps: await overlapsToCome(db),
    rentalDoubts: await rentalDoubts(db),
    feedHeldBy: await feedHolders(db),
    consumers,
    goneRoles: await goneRoles(db),
    webhook: await webhookStatus(db, config, consumers),
    alerts: await alertsStatus(db, config),
    unknownFields: await listUnknownFields(db),
  } satisfies Omit<StatusFacts, 'attention'>
  return { ...facts, attention: whatNeedsPeople(facts, await freshnessFacts(db)).map(itemOf) }
}

/** The state of the API that all workers share. */
async function gateFacts(
  db: Queryable,
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
