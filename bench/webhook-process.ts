// The webhook of the product in a process of its own, wired as `worker` wires it, until stopped.

import { once } from 'node:events'
import { openApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import { createLogger } from '../src/log.ts'
import { startWebhook } from '../src/messages/webhook/webhook.ts'
import { options, tell } from './measure.ts'

export type WebhookOptions = { readonly env: Readonly<Record<string, string>> }

const log = createLogger(process.env.LOG_LEVEL ?? 'error')
const config = readConfig(options<WebhookOptions>().env, '/')
const { webhookUrl: url, webhookSecrets: secrets, webhookStreams: streams, api } = config
if (url === null || secrets === null) throw new Error('WEBHOOK_URL is not set.')
const nobody = { apiUrl: 'http://127.0.0.1:9', sandbox: true } // nothing is read from the API
const app = await openApp({ config, log, ...nobody, schema: 'migrate', patienceMs: 60_000 })
const { database, clock } = app
const listenUrl = await app.listenUrl()
const webhook = startWebhook({ url, secrets, streams, proxies: api.proxies, database, listenUrl, clock, log })
tell({ ready: true })
await once(process, 'SIGTERM')
await webhook.stop()
await app[Symbol.asyncDispose]()
