// The mirror for your program: the commands as functions. It reads neither environment nor files, and works only
// while one of its functions is running.

import { Kysely, PostgresDialect, type PostgresPoolClient } from 'kysely'
import type { PoolClient } from 'pg'
import { type App, noApi, openApp } from './app.ts'
import { existingStream } from './catalog/catalog.ts'
import { type Config, readOptions, type SettingOptions } from './config.ts'
import { queryableOn } from './database/query-runner.ts'
import type { MirrorDatabase } from './database/schema.generated.ts'
import { typesWith } from './database/session.ts'
import { translateDatabaseError } from './database/sql-states.ts'
import { BoatMirrorError } from './errors.ts'
import { awaitFinished, quarantinedOf, type RunFacts, runFacts } from './inspect/outcome.ts'
import { readStatus } from './inspect/read-status.ts'
import type { StatusFacts } from './inspect/status.ts'
import { streamProblems } from './jobs/schedule.ts'
import { patienceMs, type SyncWorkerOptions, syncNow, workOn } from './jobs/worker.ts'
import { type Exact, parseForProgram } from './json/plain.ts'
import { createLogger } from './log.ts'
import { changes, type Feed, type FeedOptions } from './mirror/changes.ts'
import { assertOptions } from './near-names.ts'
import { type Choice, choiceGiven, type DecisionOptions, idGiven, type ResolveOptions } from './outbox/decide.ts'
import { decideChange } from './outbox/decisions.ts'
import { type ChangeFacts, changeFacts, changesForPerson, listChanges } from './outbox/inspect.ts'
import { createPusher } from './outbox/pusher.ts'
import { type DecidedBy, decideStream } from './sync/decisions.ts'
import { askRefresh, findRefresh, type RefreshState } from './sync/due/refreshes.ts'
import { pausedStreams } from './sync/due/stream-state.ts'
import { streamsToSync, withoutPaused } from './sync/plan.ts'
import { preflight } from './sync/preflight.ts'
import { quarantineTotals } from './sync/quarantine.ts'
import { runsOfRequest } from './sync/runs/runs.ts'

/** The settings of docs/configuration.md under their names in camelCase; `databaseUrl` must be there. */
export type MirrorOptions = Omit<SettingOptions, 'autoMigrate' | 'databaseUrl'> & {
  readonly databaseUrl: string
  /** Brings the schema up to date; otherwise an outdated one is refused. */
  readonly migrate?: boolean
}

export type SyncOptions = {
  /** Streams by their table names; parents are read too. Default: all. */
  readonly streams?: readonly string[]
  /** Reads every detail again. */
  readonly full?: boolean
  readonly signal?: AbortSignal
}

export type SyncResult = {
  readonly runs: readonly RunFacts[]
  /** Records of these runs' tables that could not be mirrored, by stream. */
  readonly quarantine: Readonly<Record<string, number>>
}

export type RefreshOptions = {
  /** One record, its key as in the change log: `{ id: 42 }`; without it the stream and what it hangs below. */
  readonly key?: Readonly<Record<string, Exact>> | null
  readonly signal?: AbortSignal
}

export type RefreshResult = { readonly id: number; readonly state: RefreshState; readonly error: string | null }

export type PushOptions = { readonly signal?: AbortSignal }

export type PushResult = {
  /** What this push worked on, newest first; at most 1,000. */
  readonly changes: readonly ChangeFacts[]
  /** Ids of all changes that need a decision. */
  readonly needPerson: readonly string[]
  /** How the API refuses the account, so that changes were left in the queue; null: it takes it. */
  readonly held: string | null
}

export type Mirror = {
  /** Every table and view; its connections give up a statement after 15 seconds. */
  readonly db: Kysely<MirrorDatabase>
  /** One complete sync now, as the command `sync`. A stream that fails is one of the runs, and no error. */
  sync(options?: SyncOptions): Promise<SyncResult>
  /**
   * Reads a stream, or one record and its details, before everything scheduled, as the command `refresh --wait`.
   * @throws BoatMirrorError USAGE for a stream or key that there cannot be, and beyond 60 a minute
   */
  refresh(stream: string, options?: RefreshOptions): Promise<RefreshResult>
  /** Sends the queued changes, and ends when nothing can settle without a decision, as the command `push` does. */
  push(options?: PushOptions): Promise<PushResult>
  /**
   * Queues a failed, expired, canceled or conflicting change again, as `outbox.retry` does.
   * @returns sync.decisions.id
   * @throws BoatMirrorError NOT_FOUND; USAGE in a state where it means nothing, and beyond OUTBOX_LIMIT; PLAN_CHANGED
   */
  retry(id: Exact, options?: DecisionOptions): Promise<string>
  /** Cancels a change that is not on its way; what refers to it is blocked. Returns and throws as `retry`. */
  cancel(id: Exact, options?: DecisionOptions): Promise<string>
  /**
   * Ends a conflict, or decides about a change whose answer was lost, as `outbox.resolve` does. A worker, or the next `push`,
   * carries out what needs the API. Returns and throws as `retry`.
   */
  resolve(id: Exact, choice: Choice, options?: ResolveOptions): Promise<string>
  /**
   * Lets the deletions happen that a run holds back, as `sync.release` does. A worker, or the next `sync`, confirms each of them
   * with the API first. Returns and throws as `retry`.
   */
  release(runId: Exact, options?: DecisionOptions): Promise<string>
  /**
   * Stops reading a stream, and the streams below it, until `resume`, as `sync.pause` does; a running run ends first.
   * @returns sync.decisions.id
   * @throws BoatMirrorError USAGE for an unknown or paused stream; PLAN_CHANGED
   */
  pause(stream: string, options?: DecisionOptions): Promise<string>
  /** Ends `pause`, as `sync.resume` does. @throws BoatMirrorError USAGE for a stream that is not paused; PLAN_CHANGED */
  resume(stream: string, options?: DecisionOptions): Promise<string>
  /** What `status --json` prints. */
  status(): Promise<StatusFacts>
  /** The feed; see `changes` of `boat-mirror/client`. */
  changes(options?: FeedOptions): Feed
  /** Ends all running work, and closes every connection. */
  close(): Promise<void>
}

const listedChanges = 1_000

/**
 * Opens a mirror.
 * @throws BoatMirrorError CONFIG_INVALID for an option that is wrong, DATABASE_SCHEMA where the schema is not up to date and
 * `migrate` is not asked for, API_CHANGED where the database mirrors another API
 */
export async function openMirror({ migrate = false, ...options }: MirrorOptions): Promise<Mirror> {
  const config = readOptions({ logLevel: 'warn', ...options, autoMigrate: migrate }, streamProblems)
  if (config.databaseUrl === null) throw new BoatMirrorError('CONFIG_INVALID', 'databaseUrl is not set.')
  const log = createLogger(config.logLevel, { pretty: false })
  const apiUrl = config.api.baseUrl ?? noApi
  const schema = migrate ? 'migrate' : 'check'
  const closing = new AbortController()
  const onFenced = (error: BoatMirrorError): void => closing.abort(error)
  return mirrorOf(await openApp({ config, log, apiUrl, sandbox: false, schema, patienceMs, onFenced }), closing)
}

const types = typesWith(parseForProgram)

/** A connection whose results are those of a program: numbers in JSON that JavaScript would round are text. */
const forProgram = (client: PoolClient): PostgresPoolClient => {
  const query = (text: string, values: unknown[]) => client.query({ text, values, types })
  return { query, release: () => client.release() } as unknown as PostgresPoolClient
}

function mirrorOf(app: App, closing: AbortController): Mirror {
  const { config, database, log, syncContext, pushContext, clock } = app
  const underWay = new Set<Promise<unknown>>()
  /** Turns an error of the driver into a BoatMirrorError. */
  const translated = (error: unknown): never => {
    throw translateDatabaseError(error, app.databaseUrl)
  }
  /** Runs what calls the API until it ends, the caller's signal ends it, or the mirror is closed. */
  const run = async <T>(work: (apiUrl: string, signal: AbortSignal) => Promise<T>, given?: AbortSignal): Promise<T> => {
    const signal = given === undefined ? closing.signal : AbortSignal.any([closing.signal, given])
    signal.throwIfAborted()
    const running = work(apiUrlOf(config), signal).catch(translated)
    underWay.add(running)
    return await running.finally(() => underWay.delete(running))
  }
  const connect = async (): Promise<PostgresPoolClient> => forProgram(await database.pool.connect())
  const pool = { connect, end: async () => {} } // closed with the mirror
  const db = new Kysely<MirrorDatabase>({ dialect: new PostgresDialect({ pool }) })
  const queries = queryableOn(db)
  /**
   * A separate queue for each call: BullMQ binds its objects to the connections it is given, and releases them
   * together.
   */
  const withQueue = async <T>(signal: AbortSignal, work: (options: SyncWorkerOptions) => Promise<T>): Promise<T> => {
    const backend = await app.openQueue(signal)
    try {
      return await work({ context: syncContext, backend, log })
    } finally {
      await backend.close()
    }
  }
  const byOptions = ({ expected, ...others }: DecisionOptions = {}): DecidedBy => {
    assertOptions(others, ['expected'])
    return { via: 'library', ...(expected === undefined ? {} : { expected }) }
  }
  const ofStream = async (what: 'release' | 'pause' | 'resume', about: string, options?: DecisionOptions) =>
    await decideStream(database.pool, what, about, byOptions(options)).catch(translated)
  const ofChange = async (
    what: 'retry' | 'cancel' | Choice,
    id: Exact,
    { resultId, ...options }: ResolveOptions = {},
  ) => {
    const wish = { what, id: idGiven(id), ...(resultId === undefined ? {} : { resultId: idGiven(resultId) }) }
    return await decideChange(database.pool, wish, byOptions(options)).catch(translated)
  }
  return {
    db,
    sync: ({ streams = [], full = false, signal: given, ...others } = {}) =>
      run(async (apiUrl, signal) => {
        assertOptions(others, ['streams', 'full', 'signal'])
        const wanted = withoutPaused(streamsToSync(streams, config), await pausedStreams(database.pool))
        await preflight({ config, apiUrl, log, signal, limiter: app.limiter }, wanted)
        const look = (id: string) => awaitFinished(() => runsOfRequest(database.pool, id), signal)
        const { runs } = await withQueue(signal, (options) => syncNow(options, { streams: wanted, full }, look))
        const quarantine = quarantinedOf({ runs, quarantine: await quarantineTotals(database.pool) })
        return { runs: runs.map(runFacts), quarantine }
      }, given),
    refresh: (stream, { key = null, signal: given, ...others } = {}) =>
      run(async (apiUrl, signal) => {
        assertOptions(others, ['key', 'signal'])
        await preflight({ config, apiUrl, log, signal, limiter: app.limiter }, streamsToSync([stream], config))
        const look = (id: string) => awaitFinished(() => findRefresh(database.pool, id), signal)
        const ask = () => askRefresh(database.pool, stream, key)
        const over = await withQueue(signal, (options) => workOn(options, ask, look))
        return { id: Number(over.id), state: over.state, error: over.error }
      }, given),
    push: ({ signal: given, ...others } = {}) =>
      run(async (_, signal) => {
        assertOptions(others, ['signal'])
        const since = clock.now()
        const pusher = createPusher(pushContext)
        try {
          const { held } = await pusher.drain(signal, { until: 'settled' })
          signal.throwIfAborted()
          return {
            changes: (await listChanges(queries, { since, limit: listedChanges })).map(changeFacts),
            needPerson: await changesForPerson(database.pool),
            held,
          }
        } finally {
          await pusher.close()
        }
      }, given),
    retry: (id, options) => ofChange('retry', id, options),
    cancel: (id, options) => ofChange('cancel', id, options),
    resolve: async (id, choice, options) => await ofChange(choiceGiven(choice), id, options),
    release: async (runId, options) => await ofStream('release', idGiven(runId), options),
    pause: async (stream, options) => await ofStream('pause', existingStream(stream).name, options),
    resume: async (stream, options) => await ofStream('resume', existingStream(stream).name, options),
    status: () => readStatus(config, { database: { pool: queries }, url: app.databaseUrl }, null).catch(translated),
    changes: (options) => changes(db, options),
    close: async () => {
      closing.abort(new BoatMirrorError('ABORTED', 'The mirror was closed.'))
      await Promise.allSettled(underWay)
      await app[Symbol.asyncDispose]()
    },
  }
}

/** The address of the API. @throws BoatMirrorError CONFIG_INVALID when it is not set: a program starts no sandbox */
function apiUrlOf({ api }: Config): string {
  if (api.baseUrl !== null) return api.baseUrl
  throw new BoatMirrorError('CONFIG_INVALID', 'apiBaseUrl is not set.', {
    remedy: 'Give the root of the API; in tests that of startSandbox, of boat-mirror/sandbox.',
  })
}
