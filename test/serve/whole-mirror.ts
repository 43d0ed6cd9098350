// A whole Boat Mirror: sync, outbox and, where a port is given, serve. In this process, or as a process of its own
// (mirror-process.ts), with limits short enough to see what a killed one leaves.

import { type App, openApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import { startPushWorker } from '../../src/jobs/push-worker.ts'
import { startSyncWorker } from '../../src/jobs/worker.ts'
import { createLogger } from '../../src/log.ts'
import { createPusher } from '../../src/outbox/pusher.ts'
import { createShowDelay } from '../../src/outbox/show-delay.ts'
import { startServe } from '../../src/serve/start.ts'

export type WholeMirrorOptions = {
  readonly databaseUrl: string
  readonly apiUrl: string
  /** Port of serve; null: it serves nothing. */
  readonly port: number | null
  /** Settings of the program. */
  readonly env: Readonly<Record<string, string>>
  /** Of the requests to the API, in milliseconds. */
  readonly timeoutMs: number
}

export type WholeMirror = AsyncDisposable & {
  readonly app: App
  /** Where it serves; empty: nowhere. */
  readonly url: string
  /** Looks for requested syncs at once. */
  poke(): void
}

const showDelayMs = 200
const leaseMs = 1_500

/** Opens a database that is migrated, and works until it is disposed of. */
export async function openWholeMirror(options: WholeMirrorOptions): Promise<WholeMirror> {
  const { databaseUrl, apiUrl, port, timeoutMs } = options
  const env = { API_RATE_LIMIT: '0', SERVE_FRESH_LIMIT: '100000', ...options.env }
  const read = readConfig({ DATABASE_URL: databaseUrl, AUTO_MIGRATE: 'on', ...env }, '/nonexistent')
  const config = { ...read, api: { ...read.api, timeoutMs, concurrency: 30 } }
  const log = createLogger(process.env.TEST_LOG_LEVEL ?? 'silent')
  const app = await openApp({ config, log, apiUrl, sandbox: false, schema: 'migrate', patienceMs: 60_000 })
  const stopping = new AbortController()
  const showDelay = createShowDelay(showDelayMs)
  const syncContext = { ...app.syncContext, shownAfter: showDelay }
  const listenUrl = await app.listenUrl()
  const parts = {
    config: { ...config, serveListen: { host: '127.0.0.1', port: port ?? 0 } },
    log,
    listenUrl,
    syncContext,
  }
  const served = port === null ? null : await startServe(parts)
  const backend = await app.openQueue(stopping.signal)
  const worker = await startSyncWorker({ context: syncContext, backend, log })
  const settings = { ...app.pushContext.settings, leaseMs }
  const pusher = createPusher({ ...app.pushContext, settings, showDelay })
  const pushing = await startPushWorker({ listenUrl, backend, pusher, clock: app.clock, log })
  return {
    app,
    url: served?.url ?? '',
    poke: worker.poke,
    [Symbol.asyncDispose]: async () => {
      await served?.[Symbol.asyncDispose]()
      await Promise.all([pushing.stop(), worker.stop()])
      stopping.abort()
      await app[Symbol.asyncDispose]()
    },
  }
}
