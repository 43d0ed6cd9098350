// The webhook of a worker as a process of its own, to be killed. Its only argument is JSON of {@link WebhookProcessOptions};
// it says `ready` once it works, and ends with SIGKILL alone.

import { systemClock } from '../../src/clock.ts'
import { openDatabase } from '../../src/database/database.ts'
import { createLogger } from '../../src/log.ts'
import { startWebhook } from '../../src/messages/webhook/webhook.ts'

export type WebhookProcessOptions = {
  readonly databaseUrl: string
  readonly url: string
  readonly secrets: readonly string[]
  readonly timeLimitMs: number
}

const { databaseUrl, ...options } = JSON.parse(process.argv[2] ?? '{}') as WebhookProcessOptions
const log = createLogger('silent')
const database = openDatabase({ url: databaseUrl, applicationName: 'webhook process', max: 3, log })
const proxies = { http: null, https: null, except: null }
startWebhook({ ...options, streams: null, proxies, database, listenUrl: databaseUrl, clock: systemClock, log })
process.stdout.write('ready\n')
