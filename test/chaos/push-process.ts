// A push worker as a process of its own, to be killed: the same as in `worker`, with shorter limits. Its only argument is
// JSON of {@link PushProcessOptions}; it says `ready` once it works, and ends cleanly with SIGTERM.

import { once } from 'node:events'
import { createGate } from '../../src/api/admission/gate.ts'
import { unlimited } from '../../src/api/admission/rate-limit.ts'
import { createApi } from '../../src/api/client.ts'
import { systemClock } from '../../src/clock.ts'
import { readConfig } from '../../src/config.ts'
import { openDatabase } from '../../src/database/database.ts'
import { openBackend } from '../../src/jobs/backend.ts'
import { startPushWorker } from '../../src/jobs/push-worker.ts'
import { createLogger } from '../../src/log.ts'
import { createPusher } from '../../src/outbox/pusher.ts'
import { createShowDelay } from '../../src/outbox/show-delay.ts'

export type PushProcessOptions = {
  readonly databaseUrl: string
  readonly apiUrl: string
  /** null: the queue is on Postgres. */
  readonly redisUrl: string | null
  readonly queuePrefix: string
  readonly timeoutMs: number
  readonly showDelayMs: number
  readonly leaseMs: number
  readonly concurrency: number
}

const options = JSON.parse(process.argv[2] ?? '{}') as PushProcessOptions
const { databaseUrl, redisUrl, queuePrefix: prefix, timeoutMs, concurrency } = options
const log = createLogger('silent')
const config = readConfig({}, '/')
const settings = { ...config, ...options, api: { ...config.api, timeoutMs, concurrency } }
const database = openDatabase({ url: databaseUrl, applicationName: 'push process', max: 10, log })
const api = createApi({
  settings: { ...settings.api, baseUrl: options.apiUrl },
  limiter: unlimited,
  gate: createGate({ clock: systemClock, log }),
  clock: systemClock,
  log,
})
const stopping = new AbortController()
const backend = openBackend({ databaseUrl, redisUrl, prefix, log, patienceMs: 30_000, signal: stopping.signal })
const showDelay = createShowDelay(options.showDelayMs)
const pusher = createPusher({ database, api, clock: systemClock, log, settings, showDelay })
const worker = await startPushWorker({ listenUrl: databaseUrl, backend, pusher, clock: systemClock, log })
process.stdout.write('ready\n')

await once(process, 'SIGTERM')
stopping.abort()
await worker.stop()
await backend.close()
await api.close()
await database.close()
