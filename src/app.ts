// The composition root: opens what a command needs, in order, and releases it in reverse. Nothing opens a connection at import.

import { createGate, createGateStore } from './api/admission/gate.ts'
import { createRateLimiter, type Limiter } from './api/admission/rate-limit.ts'
import { createSharedBudget } from './api/admission/request-budget.ts'
import { createEndpointRecorder, createTrafficRecorder } from './api/admission/traffic.ts'
import { createApi } from './api/client.ts'
import type { Api, CallRecord } from './api/types.ts'
import type { Clock } from './clock.ts'
import type { Config } from './config.ts'
import { type Database, openDatabase } from './database/database.ts'
import { followClock } from './database/database-clock.ts'
import { assertSameDatabase, type Pooling, poolingOf } from './database/pooler.ts'
import type { Queryable } from './database/sql.ts'
import { withTls } from './database/tls.ts'
import { type DatabaseServer, openDatabaseServer } from './embedded/embedded-postgres.ts'
import { type BoatMirrorError, messageOf } from './errors.ts'
import { migrateQueue, openBackend } from './jobs/backend.ts'
import type { QueueBackend } from './jobs/queues.ts'
import type { Logger } from './log.ts'
import { kept } from './memo.ts'
import { createChangeNotifier } from './mirror/change-notifier.ts'
import { carryOutErasures } from './mirror/persons.ts'
import { noticeHistory } from './outbox/claim.ts'
import type { PushContext } from './outbox/context.ts'
import { createShowDelay } from './outbox/show-delay.ts'
import { openPrivacy } from './privacy/privacy.ts'
import { protectedApi } from './privacy/protected-api.ts'
import { privacySettings } from './privacy/rules.ts'
import { claimPrivacy } from './privacy/stored.ts'
import { apiRefusal, mirroredApi } from './profile/mirrored-api.ts'
import { followZone, saveReportSettings } from './reports/time-zone.ts'
import { assertSchemaCurrent, migrate, migrationStatus } from './schema/migrate.ts'
import { assertSuitable, probeEngine } from './schema/suitable.ts'
import type { SyncContext } from './sync/context.ts'

export type App = {
  readonly config: Config
  readonly log: Logger
  readonly database: Database
  readonly databaseUrl: string
  /** Where NOTIFY arrives; null: nowhere, because of a transaction pooler. */
  listenUrl(): Promise<string | null>
  /** The database's clock. */
  readonly clock: Clock
  readonly api: Api
  /** Requests per second over all workers; 0 is no limit. */
  readonly ratePerSecond: number
  /** The limiter of all requests, also for other clients of the API in this process. */
  readonly limiter: Limiter
  readonly syncContext: Omit<SyncContext, 'onTasks'>
  readonly pushContext: PushContext
  /** Opens the queue backend. The app closes it, unless its user has. */
  openQueue(signal: AbortSignal): Promise<QueueBackend>
  /** Registers a listener for each call of the API, in addition to the statistics in the database. */
  onCall(listener: (call: CallRecord) => void): void
  [Symbol.asyncDispose](): Promise<void>
}

export type AppOptions = {
  readonly config: Config
  readonly log: Logger
  /** Where the API is: the configured address, or that of the sandbox. */
  readonly apiUrl: string
  /** True when `apiUrl` is the built-in sandbox. */
  readonly sandbox: boolean
  /** `migrate`: bring the schema up to date as AUTO_MIGRATE says. `check`: only look. */
  readonly schema: 'migrate' | 'check'
  /** Milliseconds to wait for an API or a queue that does not answer; null: forever. */
  readonly patienceMs: number | null
  /** Ends the wait for another process that migrates. */
  readonly signal?: AbortSignal
  /** Called when the database has answered. */
  readonly onAnswered?: (() => void) | undefined
  /** Called when `privacy apply` or a newer program forbids this process to write. */
  readonly onFenced?: (error: BoatMirrorError) => void
}

/** The API's address for commands that do not call it: no server listens on the discard port. */
export const noApi = 'http://127.0.0.1:9'

/** Requests per second against a real API when nothing is configured; its own limit is not published. */
export const defaultRate = 10
const poolSize = 12

/** Requests per second over all workers; 0 is no limit. */
export const rateOf = ({ api }: Config, sandbox: boolean): number => api.rateLimit ?? (sandbox ? 0 : defaultRate)

type LimiterOf = {
  readonly config: Config
  readonly ratePerSecond: number
  readonly patienceMs: number | null
  readonly log: Logger
}

/** The rate limit and the quota that are shared by all that use this database. */
export function openLimiter(
  db: Queryable,
  { config, ratePerSecond, patienceMs, log }: LimiterOf,
): ReturnType<typeof createRateLimiter> {
  const { quota } = config.api
  const budget = createSharedBudget(db, { ratePerSecond, quota }, log)
  return createRateLimiter({ ratePerSecond, hasQuota: quota !== null, patienceMs }, budget)
}

/** Brings the schema and the queue's tables up to date, or checks that they are. */
export async function prepareSchema(config: Config, url: string, log: Logger, signal?: AbortSignal): Promise<void> {
  await migrate(url, { log, ...(signal === undefined ? {} : { signal }) })
  await saveSettings(url, config, log)
  if (config.redisUrl === null) await migrateQueue(url, log, signal)
}

/** Stores the settings of reports, and in a new database those of personal data. */
async function saveSettings(url: string, config: Config, log: Logger): Promise<void> {
  const database = openDatabase({ url, applicationName: 'boat-mirror migrate', max: 1, log })
  try {
    await saveReportSettings(database.pool, config)
    await claimPrivacy(database.pool, privacySettings(config))
  } finally {
    await database.close()
  }
}

/** Where the database is. @throws BoatMirrorError CONFIG_INVALID when DATABASE_DIRECT_URL leads to another one. */
export async function openServer(config: Config, log: Logger): Promise<DatabaseServer> {
  const server = await withTls(await openDatabaseServer(config, log), log)
  if (server.directUrl !== server.url) await assertSameDatabase(server.url, server.directUrl)
  return server
}

/** The pooling in front of the direct address; checked once, and logged if notifications are lost. */
function lookOnce(config: Config, { directUrl }: DatabaseServer, log: Logger): () => Promise<Pooling> {
  return kept(async () => {
    const variable = config.databaseDirectUrl === null ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL'
    const pooling = await poolingOf(directUrl, variable)
    if (pooling === 'transaction')
      log.info(
        { event: 'transaction_pooler' },
        'a transaction pooler stands before the database and passes no notifications: queue and outbox are asked each second (DATABASE_DIRECT_URL leads past it)',
      )
    return pooling
  })
}

/** The name of this installation in a shared Redis: its id, and the database, because a copy has the same id. */
export async function queuePrefix(database: Database): Promise<string> {
  const { rows } = await database.pool.query<{ prefix: string }>(
    `select 'boat-mirror-' || i.id || '-' || d.oid as prefix from outbox.installation i, pg_database d
     where d.datname = current_database()`,
  )
  return rows[0]?.prefix ?? 'boat-mirror'
}

type Releases = {
  /** Registers a close. @returns a function that closes it earlier */
  defer(close: () => unknown): () => Promise<void>
  run(): Promise<void>
}

/** Closes resources in reverse order of opening; a failing close does not keep the others open. */
function releases(log: Logger): Releases {
  const closers: (() => unknown)[] = []
  return {
    defer: (close) => {
      closers.push(close)
      return async () => {
        const place = closers.lastIndexOf(close)
        if (place === -1) return
        closers.splice(place, 1)
        await close()
      }
    },
    run: async () => {
      for (let close = closers.pop(); close !== undefined; close = closers.pop())
        try {
          await close()
        } catch (error) {
          log.warn({ event: 'close_failed', reason: messageOf(error) }, 'something could not be closed cleanly')
        }
    },
  }
}

/** Opens everything a command needs. Use with `await using`. */
export async function openApp(options: AppOptions): Promise<App> {
  const { config, log } = options
  const release = releases(log)
  try {
    const server = await openServer(config, log)
    const pooling = lookOnce(config, server, log)
    release.defer(() => server.close())
    if (options.onAnswered !== undefined) {
      await migrationStatus(server.directUrl)
      options.onAnswered()
    }
    if (options.schema === 'migrate' && config.autoMigrate)
      await prepareSchema(config, server.directUrl, log, options.signal)
    const database = openDatabase({ url: server.url, applicationName: 'boat-mirror', max: poolSize, log })
    release.defer(() => database.close())
    await assertSchemaCurrent(database)
    const zones = await followZone(database.pool, config.timeZone)
    if (zones !== null) log.warn({ event: 'time_zone_rules' }, zones)
    if (options.schema === 'migrate') {
      await assertSuitable(database.pool, 'sync')
      const untried = await probeEngine(database.pool)
      if (untried !== null) log.warn({ event: 'engine_not_tried' }, untried)
      await noticeHistory(database.pool) // before anything is named after this installation
    }
    const refusal = options.apiUrl === noApi ? null : apiRefusal(await mirroredApi(database.pool), config)
    if (refusal !== null) throw refusal
    const privacy = await openPrivacy(database.pool, privacySettings(config), options.onFenced)
    if (options.schema === 'migrate') await carryOutErasures(database)
    const clock = await followClock(database.pool, config.redisUrl === null && options.schema === 'migrate', log)
    release.defer(() => clock.stop())

    const ratePerSecond = rateOf(config, options.sandbox)
    const limiter = openLimiter(database.pool, { config, ratePerSecond, patienceMs: options.patienceMs, log })
    release.defer(() => limiter.close())
    const gate = createGate({
      store: createGateStore(database.pool, options.apiUrl),
      clock,
      log,
      ...(options.patienceMs === null ? {} : { patienceMs: options.patienceMs }),
    })
    const recorder = createEndpointRecorder(database.pool, log)
    release.defer(() => recorder.flush())
    const traffic = createTrafficRecorder(database.pool, log)
    release.defer(() => traffic.flush())
    const listeners: ((call: CallRecord) => void)[] = [(call) => recorder.record(call), traffic.record]
    const api = createApi({
      settings: { ...config.api, baseUrl: options.apiUrl },
      limiter,
      gate,
      clock,
      log,
      onCall: (call) => {
        for (const listener of listeners) listener(call)
      },
    })
    release.defer(() => api.close())
    const notifier = createChangeNotifier(database.pool, log)
    release.defer(() => notifier.close())

    const onCommit = (written: number): void => {
      if (written > 0) notifier.notify()
    }
    const showDelay = createShowDelay()
    const context = { database, clock, log, settings: config, onCommit, privacy }
    return {
      config,
      log,
      database,
      databaseUrl: server.url,
      listenUrl: async () => ((await pooling()) === 'transaction' ? null : server.directUrl),
      clock,
      api,
      ratePerSecond,
      limiter,
      // Outbox and sync are of one layer, and meet here: reads use the delay that pushing learns.
      syncContext: { ...context, api: protectedApi(api, privacy), shownAfter: showDelay },
      pushContext: { ...context, api, showDelay },
      openQueue: async (signal) => {
        const patienceMs = options.patienceMs ?? Number.MAX_SAFE_INTEGER
        const backend = openBackend({
          databaseUrl: server.directUrl,
          pooling: config.redisUrl === null ? await pooling() : 'none',
          redisUrl: config.redisUrl,
          prefix: await queuePrefix(database),
          log,
          patienceMs,
          signal,
        })
        return { ...backend, close: release.defer(() => backend.close()) }
      },
      onCall: (listener) => listeners.push(listener),
      [Symbol.asyncDispose]: () => release.run(),
    }
  } catch (error) {
    await release.run()
    throw error
  }
}
