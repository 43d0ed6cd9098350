// `worker`: migrations, schedules, workers; runs until it is stopped. `npm start` runs it.

import { once } from 'node:events'
import { packageVersion } from '../../api/wire/request.ts'
import type { App } from '../../app.ts'
import { startWorkerPresence } from '../../database/presence.ts'
import { BoatMirrorError } from '../../errors.ts'
import { readStatus } from '../../inspect/read-status.ts'
import type { StatusFacts } from '../../inspect/status.ts'
import { openLate } from '../../jobs/backend.ts'
import { startFreshnessChecks } from '../../jobs/maintenance.ts'
import { startPushWorker } from '../../jobs/push-worker.ts'
import { type QueueBackend, queueNames } from '../../jobs/queues.ts'
import { startScheduledWorker } from '../../jobs/worker.ts'
import type { Logger } from '../../log.ts'
import { startAlerts } from '../../messages/alerts/alerts.ts'
import { startWebhook } from '../../messages/webhook/webhook.ts'
import { saveOutboxLimit } from '../../outbox/inspect.ts'
import { previewDecision } from '../../outbox/preview.ts'
import { createPusher } from '../../outbox/pusher.ts'
import { startServe } from '../../serve/start.ts'
import { shownAddress } from '../../text.ts'
import { unguarded } from '../../web/guard.ts'
import { probe } from '../../web/health.ts'
import { startOperatorServer } from '../../web/server.ts'
import type { CommandContext, OpenedApp } from '../context.ts'
import { print, printText } from '../terminal/output.ts'
import { watchFirstSync } from '../terminal/progress.ts'
import { markDatabase } from '../worker-mark.ts'

/** Warns about settings that may lose jobs, and about an unavailable backend: the work is done without it. @throws BoatMirrorError QUEUE_REFUSED */
async function tryQueue(backend: QueueBackend, log: Logger): Promise<void> {
  try {
    await backend.ping()
    const risk = await backend.risk()
    if (risk !== null) log.warn({ event: 'queue_risk' }, `${risk.detail}. ${risk.remedy}`)
  } catch (error) {
    if (!(error instanceof BoatMirrorError) || error.code !== 'QUEUE_UNREACHABLE') throw error
    log.error(
      { event: 'queue_absent', code: error.code, reason: error.message },
      `${error.message} ${error.remedy ?? ''} Until it is available, the worker works without it.`,
    )
  }
}

export async function runWorker(context: CommandContext): Promise<void> {
  const { config, log, signal } = context
  const open = unguarded(config)
  if (open !== null) throw open
  await using app = await context.open({ schema: 'migrate', patienceMs: null })
  await using _mark = await markDatabase(config, log)
  await saveOutboxLimit(app.database.pool, config.outboxLimit)
  const backend = await app.openQueue(signal)
  const { syncContext, ratePerSecond } = app
  await tryQueue(backend, log)
  const late = openLate(backend, log, signal)
  const facts = (): Promise<StatusFacts> =>
    readStatus(config, { database: app.database, url: app.databaseUrl }, app.apiUrl)
  // First of all: late data must not raise an alarm while a worker catches up.
  await using _presence = startWorkerPresence({ db: app.database.pool, version: packageVersion(), log })
  await using _looks = startFreshnessChecks({ database: app.database, config, log })
  await using pages = await startOperatorServer({
    config,
    log,
    database: app.database,
    readStatus: facts,
    onCall: app.onCall,
    previewDecision: (id, what) => previewDecision(app.pushContext, id, what),
    queue: late,
    queueNames,
    version: packageVersion(),
  })
  const listenUrl = await app.listenUrl()
  await using served = config.serve ? await startServe({ config, log, listenUrl, syncContext }) : null
  const worker = await startScheduledWorker({
    ...{ context: syncContext, backend: late, log, config, ratePerSecond, listenUrl },
  })
  const pusher = createPusher(app.pushContext)
  const pushing = await startPushWorker({ listenUrl, backend: late, pusher, clock: app.clock, log })
  const webhook = webhookOf(app, listenUrl)
  const alerts = alertsOf(app, facts, async () => (await probe(() => backend.ping(), 'QUEUE_UNREACHABLE')).ok)
  try {
    print(`API       ${shownAddress(app.apiUrl)}${app.sandbox ? ' (the built-in sandbox)' : ''}`)
    printText(`Database  ${shownAddress(app.databaseUrl)}   (in full: boat-mirror db)`)
    print(`Queue     ${backend.kind === 'redis' ? 'Redis' : 'Postgres, in the same database'}`)
    print(`Pages     ${pages.url ?? 'not served by this process'}`)
    if (served !== null) print(`Served    ${served.url}/v3`)
    await watchFirstSync({ database: app.database, settings: app.config, signal, log })
    if (!signal.aborted) {
      printText('Running. Next: boat-mirror status   Open the database: boat-mirror db psql')
      await once(signal, 'abort')
    }
    log.info({ event: 'stopping' }, 'stopping: tasks reach their checkpoint or are released')
  } finally {
    await Promise.all([pushing.stop(), worker.stop(), webhook?.stop(), alerts?.stop()])
  }
}

function alertsOf(
  { config, apiUrl, database, log }: OpenedApp,
  status: () => Promise<StatusFacts>,
  queueIsUp: () => Promise<boolean>,
): ReturnType<typeof startAlerts> | null {
  const { alertUrl: url, api } = config
  if (url === null) return null
  const place = api.baseUrl === null ? 'the sandbox' : new URL(apiUrl).host
  return startAlerts({ url, place, proxies: api.proxies, database, readStatus: status, queueIsUp, log })
}

/** Starts the webhook where one is configured; a worker without WEBHOOK_SECRET does not get here. */
function webhookOf(
  { config, database, clock, log, syncContext: { privacy } }: App,
  listenUrl: string | null,
): ReturnType<typeof startWebhook> | null {
  const { webhookUrl: url, webhookSecrets: secrets, webhookStreams: streams, api } = config
  if (url === null || secrets === null) return null
  return startWebhook({ url, secrets, streams, proxies: api.proxies, database, listenUrl, clock, log, privacy })
}
