// The bundled Postgres: opened by every command that has no DATABASE_URL, started by the first of them, stopped by
// the last. The files on disk decide, so a server orphaned by SIGKILL is found and used.

import { join, resolve } from 'node:path'
import type { Logger } from '../log.ts'
import { type Service, service } from '../service.ts'
import { findPackage, prepareBinaries, removeOldCopies } from './binaries.ts'
import { ensureDatabase } from './connection.ts'
import { told, unavailable } from './failures.ts'
import { chooseIdentity } from './identity.ts'
import { enter, leave, withLock } from './lock.ts'
import { chooseLocation, prepareDataDir } from './places.ts'
import {
  type Cluster,
  clusterFolder,
  createCluster,
  findRunning,
  hasEnded,
  majorOf,
  type Settings,
  startServer,
  stopServer,
} from './server.ts'
import { addressOf, newPassword, readState, type State, writeState } from './state.ts'

type EmbeddedOptions = {
  /** DATA_DIR; made when missing. */
  readonly dataDir: string
  readonly log: Logger
  /** Server settings in addition to ours, for a server that is started here. */
  readonly settings?: Settings
  /** Others stop and start the server: it is not started again when it has ended. */
  readonly mayEnd?: boolean
  /** Ends the waiting for another command or for the server. */
  readonly signal?: AbortSignal
}

export type EmbeddedPostgres = {
  /** Address of the database of Boat Mirror, with its password. */
  readonly url: string
  /** True when this call started the server; false when it found one. */
  readonly startedHere: boolean
  /** Folder with `postgres` and `initdb`. */
  readonly binDir: string
  /** Folder that holds the database: DATA_DIR, or its substitute. */
  readonly location: string
  /** Releases the server; the last one to do so stops it. May be called twice. */
  close(): Promise<void>
}

export type DatabaseServer = {
  readonly url: string
  /** The same database past a pooler, where that is configured. */
  readonly directUrl: string
  /** Where the embedded one has its files. */
  readonly folder?: string
  close(): Promise<void>
}

type DatabasePlace = {
  readonly databaseUrl: string | null
  readonly databaseDirectUrl: string | null
  readonly dataDir: string
}

/** The configured database, or the embedded one in DATA_DIR, which is started if it is not running. */
export async function openDatabaseServer(config: DatabasePlace, log: Logger): Promise<DatabaseServer> {
  const { databaseUrl: url } = config
  if (url !== null) return { url, directUrl: config.databaseDirectUrl ?? url, close: async () => {} }
  const { url: embedded, location: folder, close } = await openEmbeddedPostgres({ dataDir: config.dataDir, log })
  return { url: embedded, directUrl: embedded, folder, close }
}

/**
 * Opens the embedded Postgres of a DATA_DIR: attaches to a running one, else starts it, creating it the first time.
 * @throws BoatMirrorError EMBEDDED_UNAVAILABLE with the reason and what to do.
 */
export async function openEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const given = resolve(options.dataDir)
  try {
    const dataDir = await prepareDataDir(given)
    return await withLock(join(dataDir, 'lock'), () => openLocked(dataDir, options), { signal: options.signal })
  } catch (error) {
    throw told(error, given, options.signal)
  }
}

/** Whether an embedded database was made in a DATA_DIR, running or not. @throws BoatMirrorError EMBEDDED_UNAVAILABLE */
export const holdsDatabase = async (dataDir: string): Promise<boolean> =>
  (await readState(dataDir))?.created === true || (await majorOf(clusterFolder(dataDir))) !== null

async function openLocked(dataDir: string, options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const holders = join(dataDir, 'holders')
  const { cluster, state } = await prepare(dataDir, options)
  const holder = await enter(holders)
  let port: number | undefined
  try {
    const found = await findRunning(cluster.folder, state, options.signal)
    port = found ?? (await start(cluster, state, options))
    if (!state.created || port !== state.port) await writeState(dataDir, { ...state, port, created: true })
    await ensureDatabase(state, port)
    const event = found === null ? 'embedded_started' : 'embedded_attached'
    options.log.debug({ event, port, location: cluster.location }, 'embedded database is open')
    const keeping = options.mayEnd ? undefined : keepRunning(dataDir, cluster, { ...state, port }, options)
    let closed: Promise<void> | undefined
    return {
      url: addressOf(state, port),
      startedHere: found === null,
      binDir: cluster.binaries.binDir,
      location: cluster.location,
      close: async () => {
        await keeping?.stop()
        closed ??= giveUp(dataDir, holder, cluster, options.log)
        await closed
      },
    }
  } catch (error) {
    if ((await leave(holders, holder)) && port !== undefined)
      await stopServer(cluster).catch((second: unknown) =>
        options.log.warn({ err: second }, 'embedded database left on'),
      )
    throw error
  }
}

/** Finds out what there is and who may run it; creates nothing but the record of where and with which password. */
async function prepare(dataDir: string, options: EmbeddedOptions): Promise<{ cluster: Cluster; state: State }> {
  const stored = await readState(dataDir)
  // A copy, or what was moved, holds its database, whatever place it remembers.
  const isHere = (await majorOf(clusterFolder(dataDir))) !== null
  const known = stored !== null && isHere ? { ...stored, location: dataDir } : stored
  const source = await findPackage()
  const identity = await chooseIdentity(clusterFolder(known?.location ?? dataDir))
  const state = known ?? {
    location: await chooseLocation(dataDir, identity, options.log),
    port: 0,
    password: newPassword(),
    created: false,
  }
  const { location } = state
  const folder = clusterFolder(location)
  const made = await majorOf(folder)
  if (made === null && state.created) throw gone(dataDir, folder)
  const binaries = await prepareBinaries(source, location, identity)
  if (made !== null && made !== binaries.major)
    throw unavailable(
      `The database in ${folder} was made by Postgres ${made}, and this version brings Postgres ${binaries.major}`,
      `Dump it with the earlier version of Boat Mirror (pg_dump with the address that its db command prints), move ${dataDir} away, restore the dump with this version`,
    )
  if (known === null) await writeState(dataDir, state)
  await removeOldCopies(source, location)
  return { cluster: { folder, location, identity, binaries }, state }
}

async function start(cluster: Cluster, state: State, options: EmbeddedOptions): Promise<number> {
  options.signal?.throwIfAborted()
  if ((await majorOf(cluster.folder)) === null) {
    options.log.info({ event: 'embedded_create', location: cluster.location }, 'creating the embedded database')
    await createCluster(cluster, state.password)
  }
  return startServer(cluster, state, options.settings ?? {})
}

const gone = (dataDir: string, folder: string): Error =>
  unavailable(
    `The database that was in ${folder} is gone`,
    `Restore it from a backup, remove ${join(dataDir, 'embedded.json')} to begin with an empty one`,
  )

const lookEveryMs = 2_000

/** Starts the server again after it has ended, as Postgres does when its disk is full. */
function keepRunning(dataDir: string, cluster: Cluster, state: State, options: EmbeddedOptions): Service {
  const { log, settings = {} } = options
  const { folder } = cluster
  const look = async (): Promise<void> => {
    if ((await majorOf(folder)) === null) throw gone(dataDir, folder)
    if (!(await hasEnded(folder))) return
    await withLock(join(dataDir, 'lock'), async () => {
      if ((await findRunning(folder, state)) !== null) return
      const port = await startServer(cluster, state, settings)
      const where = port === state.port ? '' : ` on port ${port}: restart this process`
      log.warn({ event: 'embedded_restarted' }, `the embedded database had ended and runs again${where}`)
    })
  }
  return service(
    'restarting the embedded database',
    lookEveryMs,
    () =>
      look().catch((error: unknown) => {
        throw told(error, dataDir)
      }),
    { log, level: 'error', delayMs: lookEveryMs, isBackground: true },
  )
}

async function giveUp(dataDir: string, holder: string, cluster: Cluster, log: Logger): Promise<void> {
  try {
    await withLock(join(dataDir, 'lock'), async () => {
      if (!(await leave(join(dataDir, 'holders'), holder))) return
      await stopServer(cluster)
      log.debug({ event: 'embedded_stopped', location: cluster.location }, 'embedded database stopped')
    })
  } catch (error) {
    // What the command has done stays done; the next one finds the server and uses it.
    log.warn({ event: 'embedded_left_on', err: told(error, dataDir) }, 'the embedded database could not be stopped')
  }
}
