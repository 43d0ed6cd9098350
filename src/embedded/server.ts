// One Postgres server on one database folder: creates the folder, finds a running server, starts and stops it.
// Everything here runs under the lock of DATA_DIR.

import { createHash } from 'node:crypto'
import { chown, mkdtemp, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { deadlineIn, sleep } from '../clock.ts'
import { type Binaries, withPlainPath } from './binaries.ts'
import { findFreePort, type Presence, probe, tryPort } from './connection.ts'
import { failedStep, lastWords, unavailable, unlessMissing } from './failures.ts'
import type { Identity } from './identity.ts'
import { isPostmaster, isTaken, survivors } from './processes.ts'
import { roles, type State } from './state.ts'
import { runTool, startTool } from './tools.ts'

export type Settings = Readonly<Record<string, string>>

/** Where a database lies and who runs what on it. */
export type Cluster = {
  /** Folder of Postgres's own files (PGDATA). */
  readonly folder: string
  readonly location: string
  readonly identity: Identity
  readonly binaries: Binaries
}

/** For a machine of two cores that does other things as well. Nothing acknowledged is lost: fsync and commits wait. */
const defaults: Settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '128MB',
  max_wal_size: '1GB',
  synchronous_commit: 'on',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // The client gets its own errors; a file would keep statements and personal values.
  log_min_messages: 'log',
  log_checkpoints: 'off',
  log_error_verbosity: 'terse',
}

const startLimitSeconds = 300
const stopLimitSeconds = 60
const pollMs = 100
const startAttempts = 20
const retryMs = 500

export const clusterFolder = (location: string): string => join(location, 'postgres')

/** Major version a database folder was made by; null when there is none. */
export async function majorOf(folder: string): Promise<string | null> {
  return (await readIfThere(join(folder, 'PG_VERSION')))?.trim() ?? null
}

const builtinLocale: readonly string[] = ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']

/**
 * Creates the database folder, whole or not at all. Versions before 17 have no built-in locale and need another.
 * @throws BoatMirrorError EMBEDDED_UNAVAILABLE with initdb's words.
 */
export async function createCluster(cluster: Cluster, password: string, locale = builtinLocale): Promise<void> {
  const { folder, location, identity, binaries } = cluster
  const draft = await mkdtemp(`${folder}-new-`)
  const passwordFile = `${draft}.password`
  try {
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
    if (identity !== null) for (const path of [draft, passwordFile]) await chown(path, identity.uid, identity.gid)
    const args = ['-D', draft, '-U', roles.user, `--pwfile=${passwordFile}`, '--auth=scram-sha-256', '-E', 'UTF8']
    const { code, output } = await withPlainPath(binaries.binDir, location, (binDir) =>
      runTool(join(binDir, 'initdb'), [...args, ...locale], { identity, folder: location }),
    )
    if (code !== 0) throw await failedStep('Creating the embedded database', lastWords(output), location)
    await rename(draft, folder)
  } finally {
    await rm(passwordFile, { force: true })
    await rm(draft, { recursive: true, force: true })
  }
}

/**
 * Looks for a server on this folder, started by whichever command, and waits while it starts or stops.
 * Returns its port, or null when none runs; a pid file that a crash left behind is then no hindrance any more.
 */
export async function findRunning(folder: string, state: State, signal?: AbortSignal): Promise<number | null> {
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    const pidFile = await readPidFile(folder)
    if (pidFile === null) return null
    const presence: Presence = pidFile.port === null ? 'absent' : await probe(state, pidFile.port)
    if (presence === 'ready') return pidFile.port
    if (!isPostmaster(pidFile.pid, folder) && survivors(folder).length === 0) {
      // Postgres copes with an unused number, but mistakes one that was reused, or that a zombie keeps, for its own.
      if (isTaken(pidFile.pid)) await rm(join(folder, 'postmaster.pid'), { force: true })
      return null
    }
    if (presence === 'foreign')
      throw unavailable(
        `The database in ${folder} runs (process ${pidFile.pid}) and refuses the password stored for it`,
        'Restore embedded.json in DATA_DIR from a backup',
      )
    if (waitedMs >= startLimitSeconds * 1000)
      throw unavailable(
        `The database in ${folder} runs (process ${pidFile.pid}) but does not answer`,
        'End that process',
      )
    await sleep(pollMs, signal)
  }
}

/**
 * Names a server after its folder (`sync.folder`, database/history.sql). `mv` keeps the name; a copy and a backup get another.
 * Not after the device, whose number changes with the next boot.
 */
async function folderName(folder: string): Promise<string> {
  const { ino, birthtimeNs, ctimeNs } = await stat(folder, { bigint: true })
  const born = birthtimeNs === ctimeNs ? 0n : birthtimeNs // where no time of birth is known, the last change stands there
  return `boat-mirror-${createHash('sha256').update(`${ino} ${born}`).digest('hex').slice(0, 16)}`
}

/** Starts the server, which outlives this process, and returns its port: the stored one if it is free. */
export async function startServer(cluster: Cluster, state: State, settings: Settings): Promise<number> {
  const { folder, location, identity } = cluster
  const logFile = join(folder, 'server.log')
  for (let attempt = 1; ; attempt++) {
    const port = await findFreePort(state.port)
    await unlessMissing(rename(logFile, `${logFile}.previous`))
    const name = await folderName(folder)
    if (await launched(cluster, logFile, { ...defaults, cluster_name: name, ...settings, port: String(port) }))
      return port
    const found = await findRunning(folder, state) // a server that a killed command had started
    if (found !== null) return found
    if (attempt < startAttempts && (await tryPort(port)) === null) continue // another program was quicker with that port
    if (attempt < startAttempts && (await readPidFile(folder)) !== null) {
      await sleep(retryMs) // processes of a server that was killed still hold its memory
      continue
    }
    throw await failedStep(
      `Starting the embedded database in ${folder}${identity === null ? '' : ` as ${identity.name}`}`,
      lastWords((await readIfThere(logFile)) ?? ''),
      location,
    )
  }
}

/** Runs `postgres` itself, without a shell. @returns whether it accepts connections; false: it has ended, or takes too long. */
async function launched(
  { folder, identity, binaries }: Cluster,
  logFile: string,
  settings: Settings,
): Promise<boolean> {
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const log = await open(logFile, 'a', 0o600)
  try {
    if (identity !== null) await log.chown(identity.uid, identity.gid)
    const output = ['ignore', log.fd, log.fd] as const
    const program = join(binaries.binDir, 'postgres')
    const child = await startTool(program, ['-D', folder, ...args], { identity, folder, output: [...output] })
    child.unref()
    const isLate = deadlineIn(startLimitSeconds * 1000)
    while (child.exitCode === null && child.signalCode === null && !isLate()) {
      const pidFile = await readPidFile(folder)
      if (pidFile?.pid === child.pid && pidFile?.isReady) return true
      await sleep(pollMs)
    }
    return false
  } finally {
    await log.close()
  }
}

/** Has the server of this folder ended? Asks no server, so it may be asked often. */
export async function hasEnded(folder: string): Promise<boolean> {
  const pidFile = await readPidFile(folder)
  return pidFile === null || !isPostmaster(pidFile.pid, folder)
}

/** Stops the server: open connections end, everything committed is on disk. */
export async function stopServer({ folder, location }: Cluster): Promise<void> {
  const isLate = deadlineIn(stopLimitSeconds * 1000)
  for (let asked = false; !(await hasEnded(folder)); await sleep(pollMs)) {
    const pid = (await readPidFile(folder))?.pid
    if (!asked && pid !== undefined) process.kill(pid, 'SIGINT')
    asked = true
    if (isLate())
      throw await failedStep(`Stopping the embedded database in ${folder}`, `process ${pid} goes on`, location)
  }
}

type PidFile = { readonly pid: number; readonly port: number | null; readonly isReady: boolean }

/** Reads postmaster.pid: process on line 1, port on line 4 (written once it listens), state on line 8 [postgresql.org: pidfile.h]. */
async function readPidFile(folder: string): Promise<PidFile | null> {
  const lines = (await readIfThere(join(folder, 'postmaster.pid')))?.split('\n')
  const pid = Number(lines?.[0])
  if (lines === undefined || !Number.isSafeInteger(pid) || pid <= 0) return null
  const port = Number(lines[3])
  return { pid, port: port > 0 ? port : null, isReady: lines[7]?.trim() === 'ready' }
}

const readIfThere = (file: string): Promise<string | null> => unlessMissing(readFile(file, 'utf8'))
