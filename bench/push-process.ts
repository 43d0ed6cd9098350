// A push worker of the product in a process of its own, wired as `worker` wires it, until stopped.

import { once } from 'node:events'
import { openApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import { startPushWorker } from '../src/jobs/push-worker.ts'
import { createLogger } from '../src/log.ts'
import { createPusher } from '../src/outbox/pusher.ts'
import { options, tell } from './measure.ts'

export type PushOptions = { readonly apiUrl: string; readonly env: Readonly<Record<string, string>> }

const { apiUrl, env } = options<PushOptions>()
const log = createLogger(process.env.LOG_LEVEL ?? 'error')
const config = readConfig(env, '/')
const app = await openApp({ config, log, apiUrl, sandbox: true, schema: 'migrate', patienceMs: 60_000 })
const backend = await app.openQueue(new AbortController().signal)
const pusher = createPusher(app.pushContext)
const pushing = await startPushWorker({ listenUrl: app.databaseUrl, backend, pusher, clock: app.clock, log })
tell({ ready: true })
await once(process, 'SIGTERM')
await pushing.stop()
await app[Symbol.asyncDispose]()
