// Puts the parts of `serve` together: reads, writes, calendars, and who may send what.

import { isLoopback } from '../addresses.ts'
import { packageVersion } from '../api/wire/request.ts'
import type { Config } from '../config.ts'
import { startServerPresence } from '../database/presence.ts'
import type { Logger } from '../log.ts'
import { keepsAll } from '../privacy/rules.ts'
import { entries, readProfile } from '../profile/profile.ts'
import type { SyncContext } from '../sync/context.ts'
import { openAccess } from './access/access.ts'
import { wrongTokenLimit } from './access/limit.ts'
import { listenServe, type ServeServer } from './app.ts'
import { registerCalendars } from './calendars/calendars.ts'
import type { ServeContext } from './context.ts'
import { createServeMetrics } from './metrics.ts'
import { registerOpenapi } from './openapi/document.ts'
import { callerOf } from './reads/routes.ts'
import { createRecentAnswers } from './recent.ts'
import { registerWrites } from './writes/routes.ts'

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
  const { database, privacy } = syncContext
  const { host } = config.serveListen
  const perSecond = config.serveRateLimit
  const wrongTokens = wrongTokenLimit()
  const access = openAccess({ db: database.pool, settings: { auth: config.api.auth, host, perSecond }, wrongTokens })
  const metrics = createServeMetrics()
  const recent = createRecentAnswers()
  const context: ServeContext = {
    // What is read through needs no worker to be woken.
    sync: { ...syncContext, onTasks: () => {} },
    ...{ settings: config, log, host },
    metrics: {
      registry: metrics.registry,
      answered: (answer) => {
        metrics.answered(answer)
        recent.add(answer)
      },
    },
    callerOf: access.callerOf,
    register: (app) => {
      registerWrites(app, {
        ...{ database, listenUrl, log, privacy, waitMs: config.serveWaitMs },
        callerOf: (request) => callerOf(context, request),
      })
      registerCalendars(app, { database, clock: syncContext.clock, settings: { ...config, perSecond }, wrongTokens })
      const described = {
        api: config.api,
        privacy: privacy?.settings ?? keepsAll,
        isOpenToLocal: isLoopback(host),
      }
      registerOpenapi(app, {
        ...{ described, readShapes: async () => (await readProfile(database.pool)).values(entries.shape) },
        callerOf: (request) => callerOf(context, request),
      })
    },
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
