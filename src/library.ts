// The mirror for your program: the commands as functions. It reads neither environment nor files, and works only during a call.

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
  /** The key of one record as in the change log, `{ id: 42 }`; default: the stream and its parents. */
  readonly key?: Readonly<Record<string, Exact>> | null
  readonly signal?: AbortSignal
}

export type RefreshResult = { readonly id: number; readonly state: RefreshState; readonly error: string | null }

export type PushOptions = { readonly signal?: AbortSignal }

export type PushResult = {
  /** The changes of this push, newest first; at most 1,000. */
  readonly changes: readonly ChangeFacts[]
  /** Ids of all changes that need a decision. */
  readonly needPerson: readonly string[]
  /** The refusal of the account, which leaves changes queued; null: there is none. */
  readonly held: string | null
}

export type Mirror = {
  /** Every table and view; its connections give up a statement after 15 seconds. */
  readonly db: Kysely<MirrorDatabase>
  /** One complete sync now, as the command `sync`. A failed stream is a run, and no error. */
  sync(options?: SyncOptions): Promise<SyncResult>
  /** Reads a stream, or one record and its details, as `refresh --wait`. @throws BoatMirrorError USAGE for an unknown stream or key, and beyond 60 a minute */
  refresh(stream: string, options?: RefreshOptions): Promise<RefreshResult>
  /** Sends the queued changes until nothing can settle without a decision, as the command `push`. */
  push(options?: PushOptions): Promise<PushResult>
  /**
   * Queues a failed, expired, canceled or conflicting change again, as `outbox.retry` does.
   * @returns sync.decisions.id
   * @throws BoatMirrorError NOT_FOUND; USAGE in another state, and beyond OUTBOX_LIMIT; PLAN_CHANGED
   */
  retry(id: Exact, options?: DecisionOptions): Promise<string>
  /** Cancels a change that is not being sent, and blocks its dependants. Returns and throws as `retry`. */
  cancel(id: Exact, options?: DecisionOptions): Promise<string>
  /**
   * Ends a conflict, or decides about a change whose answer was lost, as `outbox.resolve`. A worker, or the next `push`, carries out what
   * needs the API. Returns and throws as `retry`.
   */
  resolve(id: Exact, choice: Choice, options?: ResolveOptions): Promise<string>
  /** Releases the held deletions of a run, as `sync.release`. A worker, or the next `sync`, confirms each first. Returns and throws as `retry`. */
  release(runId: Exact, options?: DecisionOptions): Promise<string>
  /** Pauses a stream and the streams below it, after a run in progress, as `sync.pause`. Returns and throws as `retry`. */
  pause(stream: string, options?: DecisionOptions): Promise<string>
  /** Ends a pause, as `sync.resume`. Returns and throws as `retry`. */
  resume(stream: string, options?: DecisionOptions): Promise<string>
  /** What `status --json` prints. */
  status(): Promise<StatusFacts>
  /** The feed; see `changes` of `boat-mirror/client`. */
  changes(options?: FeedOptions): Feed
  /** Stops running work, and closes all connections. */
  close(): Promise<void>
}

const listedChanges = 1_000

/**
 * Opens a mirror.
 * @throws BoatMirrorError CONFIG_INVALID for a wrong option, DATABASE_SCHEMA for an outdated schema without `migrate`, API_CHANGED if the
 * database mirrors another API
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

/** A connection whose results have text for numbers in JSON that JavaScript would round. */
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
  /** Runs work with the API until it ends, the caller's signal aborts it, or the mirror is closed. */
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
  /** Opens a queue for each call: BullMQ binds its objects to connections, and releases them together. */
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

/** The address of the API. @throws BoatMirrorError CONFIG_INVALID if it is not set */
function apiUrlOf({ api }: Config): string {
  if (api.baseUrl !== null) return api.baseUrl
  throw new BoatMirrorError('CONFIG_INVALID', 'apiBaseUrl is not set.', {
    remedy: 'Give the root of the API; in tests that of startSandbox, of boat-mirror/sandbox.',
  })
}
