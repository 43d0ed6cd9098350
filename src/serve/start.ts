// Puts the parts of `serve` together: reads, writes, calendars, and who may send what.

import { packageVersion } from '../api/wire/request.ts'
import type { Config } from '../config.ts'
import { startServerPresence } from '../database/presence.ts'
import type { Logger } from '../log.ts'
import type { SyncContext } from '../sync/context.ts'
import { createCallerOf } from './access/access.ts'
import { wrongTokenLimit } from './access/limit.ts'
import { listenServe, type ServeServer } from './app.ts'
import { createServeMetrics } from './metrics.ts'
import { createRecentAnswers } from './recent.ts'

/** What `serve` uses of the program that starts it. */
type ServeParts = {
  readonly config: Config
  readonly log: Logger
  /** Where NOTIFY is heard; null: nowhere. */
  readonly listenUrl: string | null
  readonly syncContext: Omit<SyncContext, 'onTasks'>
}

/** Serves on SERVE_LISTEN. @throws BoatMirrorError CONFIG_INVALID where nothing can listen there */
export async function startServe({ config, log, listenUrl, syncContext }: ServeParts): Promise<ServeServer> {
  const { database } = syncContext
  const { host } = config.serveListen
  const wrongTokens = wrongTokenLimit()
  const settings = { auth: config.api.auth, host, perSecond: config.serveRateLimit }
  const metrics = createServeMetrics()
  const recent = createRecentAnswers()
  const context = {
    // What is read through needs no worker to be woken.
    sync: { ...syncContext, onTasks: () => {} },
    ...{ settings: config, log, host, listenUrl, wrongTokens },
    metrics: {
      registry: metrics.registry,
      answered: (answer: Parameters<typeof recent.add>[0] & { readonly route: string }) => {
        metrics.answered(answer)
        recent.add(answer)
      },
    },
    callerOf: createCallerOf(database.pool, settings, wrongTokens),
  }
  const server = await listenServe(context, config.serveListen)
  const presence = startServerPresence({
    ...{ db: database.pool, version: packageVersion(), log, address: server.url, answers: recent.sum },
  })
  return {
    url: server.url,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      await presence[Symbol.asyncDispose]()
    },
  }
}
