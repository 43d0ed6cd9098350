// A whole mirror for a test: a database, a sandbox, an API client and a worker, wired as `sync` wires them.

import type { QueryResultRow } from 'pg'
import { createSandbox, type Sandbox, type SandboxOptions } from '../../sandbox/index.ts'
import { type App, openApp } from '../../src/app.ts'
import { type Config, readConfig } from '../../src/config.ts'
import type { Queryable } from '../../src/database/sql.ts'
import { startSyncWorker } from '../../src/jobs/worker.ts'
import { createLogger } from '../../src/log.ts'
import { createRequest } from '../../src/sync/due/requests.ts'
import { streamsToRead } from '../../src/sync/plan.ts'
import { type Run, runsOfRequest } from '../../src/sync/runs/runs.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { differencesFromTruth } from './truth.ts'

export type TestMirror = {
  readonly app: App
  /** Stops this process's own worker. */
  stopWorker(): Promise<void>
  /** Closes everything but the sandbox and opens it again, as a restarted program would. */
  restart(): Promise<void>
  readonly sandbox: Sandbox
  readonly config: Config
  /** One complete sync of these streams (all by default), to its end; or their hot runs. */
  sync(options?: {
    readonly streams?: readonly string[]
    readonly full?: boolean
    readonly hot?: boolean
    readonly trigger?: string
  }): Promise<readonly Run[]>
  /** Rows of a query. */
  all<Row extends QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]>
  /** Differences between the mirror and the sandbox's truth. */
  differences(): Promise<readonly string[]>
  [Symbol.asyncDispose](): Promise<void>
}

const log = createLogger(process.env.TEST_LOG_LEVEL ?? 'fatal')

async function isUnderWay(db: Queryable, request: string): Promise<boolean> {
  const { rows } = await db.query<{ open: boolean }>(
    'select finished_at is null as open from sync.requests where id = $1',
    [request],
  )
  return rows[0]?.open ?? false
}

/** What stands between the program and the sandbox. */
export type Front = AsyncDisposable & { readonly url: string }

type Environment = Readonly<Record<string, string>>

/** Days and years that make a first sync cost half: tests about calendars and prices set their own. */
export const shortRanges: Environment = { PRICE_DAYS: '3', SLOT_DAYS: '1', CALENDAR_YEARS: '1' }

/** Those of the program, for tests that ask for every day of them. */
export const usualRanges: Environment = { PRICE_DAYS: '90', SLOT_DAYS: '3', CALENDAR_YEARS: '2' }

/**
 * Opens a mirror of a sandbox world. `env` are settings of the program, or finds them for the API's address; it disposes of a `database` that is given, too, and
 * of what `before` puts in front of the sandbox.
 */
export async function openTestMirror(
  wishes: Partial<SandboxOptions> = {},
  env: Environment | ((apiUrl: string) => Promise<Environment>) = {},
  given?: TestDatabase,
  before?: (sandboxUrl: string) => Promise<Front>,
): Promise<TestMirror> {
  const sandbox = await createSandbox({ size: 20, ...wishes })
  const front = await before?.(sandbox.url)
  const apiUrl = front?.url ?? sandbox.url
  const database = given ?? (await createTestDatabase())
  const settings = typeof env === 'function' ? await env(apiUrl) : env
  const config = readConfig(
    { DATABASE_URL: database.url, API_BASE_URL: apiUrl, AUTO_MIGRATE: 'on', ...shortRanges, ...settings },
    '/nonexistent',
    { tokenOptional: true },
  )
  const open = async (): Promise<{ app: App; poke(): void; stopWorker(): Promise<void>; close(): Promise<void> }> => {
    const app = await openApp({ config, log, apiUrl, sandbox: true, schema: 'migrate', patienceMs: 60_000 })
    const worker = await startSyncWorker({
      context: app.syncContext,
      backend: await app.openQueue(new AbortController().signal),
      log,
    })
    let stopped: Promise<void> | undefined
    const stopWorker = (): Promise<void> => {
      stopped ??= worker.stop()
      return stopped
    }
    const close = async (): Promise<void> => {
      await stopWorker()
      await app[Symbol.asyncDispose]()
    }
    return { app, poke: worker.poke, stopWorker, close }
  }
  let running = await open()
  return {
    get app() {
      return running.app
    },
    sandbox,
    config,
    all: async (sql, values) => (await running.app.database.pool.query(sql, values)).rows,
    stopWorker: () => running.stopWorker(),
    restart: async () => {
      await running.close()
      running = await open()
    },
    sync: async ({ streams = [], full = false, hot = false, trigger = 'test' } = {}) => {
      const { pool } = running.app.database
      const id = await createRequest(pool, {
        trigger,
        streams: hot || trigger === 'schedule' ? streams : streamsToRead(streams, config),
        full,
        hot,
      })
      running.poke()
      // All but the last look ask for no more than they need: a world's sync is checked a hundred times.
      while (await isUnderWay(pool, id)) await new Promise((resolve) => setTimeout(resolve, 25))
      return (await runsOfRequest(pool, id)).runs
    },
    differences: async () =>
      differencesFromTruth(
        running.app.database.pool,
        sandbox.truthText({
          days: config.slotDays,
          durations: config.slotDurations,
          priceDays: config.priceDays,
          calendarYears: config.calendarYears,
        }),
      ),
    [Symbol.asyncDispose]: async () => {
      await running.close()
      await front?.[Symbol.asyncDispose]()
      await sandbox.close()
      await database[Symbol.asyncDispose]()
    },
  }
}
