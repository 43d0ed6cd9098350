// A pusher as a process of its own, to be killed: pushes what is due, woken by NOTIFY and each 200 ms. Its only argument
// is JSON of {@link PushProcessOptions}; it says `ready` once it works.

import { once } from 'node:events'
import { createApi } from '../../src/api/client.ts'
import { createGate } from '../../src/api/gate.ts'
import { unlimited } from '../../src/api/limiter.ts'
import { sleep, systemClock } from '../../src/clock.ts'
import { readConfig } from '../../src/config.ts'
import { messageOf } from '../../src/errors.ts'
import { createLogger } from '../../src/log.ts'
import { openDatabase } from '../../src/mirror/database.ts'
import { listen } from '../../src/mirror/listen.ts'
import { createPusher } from '../../src/outbox/pusher.ts'
import { projectRecord } from '../../src/sync/project.ts'

export type PushProcessOptions = {
  readonly databaseUrl: string
  readonly apiUrl: string
  readonly timeoutMs: number
  readonly showDelayMs: number
  readonly leaseMs: number
  readonly concurrency: number
}

const options = JSON.parse(process.argv[2] ?? '{}') as PushProcessOptions
const log = createLogger('silent')
const config = readConfig({}, '/')
const settings = {
  ...config,
  ...options,
  api: { ...config.api, timeoutMs: options.timeoutMs, concurrency: options.concurrency },
}
const database = openDatabase({ url: options.databaseUrl, applicationName: 'push process', max: 10, log })
const api = createApi({
  settings: { ...settings.api, baseUrl: options.apiUrl },
  limiter: unlimited,
  gate: createGate({ clock: systemClock, log }),
  clock: systemClock,
  log,
})
const pusher = createPusher({ database, api, clock: systemClock, log, settings, project: projectRecord })

const stopping = new AbortController()
void once(process, 'SIGTERM').then(() => stopping.abort())

const running = new Set<Promise<unknown>>()
/** Calls may overlap: a new change does not wait for a slow one. */
function work(): void {
  if (running.size >= 4 || stopping.signal.aborted) return
  const call: Promise<unknown> = pusher
    .runOnce(stopping.signal)
    .catch((error: unknown) => process.stderr.write(`${messageOf(error)}\n`))
    .finally(() => running.delete(call))
  running.add(call)
}

const listening = listen({
  url: options.databaseUrl,
  channel: 'boat_mirror_outbox',
  onNotify: work,
  log,
  signal: stopping.signal,
})
process.stdout.write('ready\n')
while (!stopping.signal.aborted) {
  work()
  await sleep(200, stopping.signal).catch(() => undefined) // ends by the signal
}
await Promise.all([listening, ...running])
await pusher.close()
await api.close()
await database.close()
