// The Postgres of a test run: TEST_DATABASE_URL, the installed one with TEST_POSTGRES_JIT=1, or one of the version
// TEST_POSTGRES_VERSION, which disappears afterwards;
// and servers of a test's own, which may be stopped and started.

import { execFile } from 'node:child_process'
import { chown, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts'
import { chooseIdentity } from '../../src/embedded/identity.ts'
import { clusterFolder, type Settings } from '../../src/embedded/server.ts'
import { runTool } from '../../src/embedded/tools.ts'
import { createLogger } from '../../src/log.ts'
import { findJitPostgres, jitSettings } from './jit-postgres.ts'
import { askedVersion, bundledVersion, openInstalledPostgres, openPostgresVersion } from './postgres-versions.ts'

export type TestPostgres = { readonly url: string; close(): Promise<void> }

/** Durability is of no use to a database that lives as long as the tests. */
const fastSettings: Settings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '200',
}

/** Opens the Postgres of this run, with its files below `folder`. Its address may create databases and roles. */
export async function openTestPostgres(folder: string): Promise<TestPostgres> {
  const given = process.env.TEST_DATABASE_URL
  if (given !== undefined && given !== '') return { url: given, close: async () => {} }
  return await open(join(folder, 'postgres'), fastSettings)
}

async function open(
  dataDir: string,
  settings: Settings,
): Promise<TestPostgres & Pick<EmbeddedPostgres, 'binDir' | 'location'>> {
  const version = askedVersion()
  const installed = process.env.TEST_POSTGRES_JIT === '1' ? findJitPostgres() : undefined
  const server =
    installed !== undefined
      ? await openInstalledPostgres(installed, dataDir, { ...settings, ...jitSettings })
      : version === bundledVersion
        ? await openEmbeddedPostgres({ dataDir, log: createLogger('warn'), settings, mayEnd: true })
        : await openPostgresVersion(version, dataDir, settings)
  return {
    url: server.url,
    binDir: server.binDir,
    location: server.location,
    close: async () => {
      await server.close()
      await rm(server.location, { recursive: true, force: true })
    },
  }
}

/** `fast` ends connections and writes everything down; `immediate` is a crash: the next start recovers from the log. */
export type StopMode = 'fast' | 'immediate'

export type OwnPostgres = TestPostgres & {
  /** Postgres's own files. */
  readonly folder: string
  /** Gives files that a test put there to the account of the server. */
  adopt(): Promise<void>
  stop(mode: StopMode): Promise<void>
  /** Starts it with the port and the settings it had, whether it was stopped or has crashed; one that runs is left alone. */
  start(): Promise<void>
  /** Starts it again as a standby: what is there can be read, nothing written. */
  becomeStandby(): Promise<void>
}

/** A Postgres server of a test's own, with its files in `dataDir`. What it has acknowledged survives its crashes. */
export async function openOwnPostgres(dataDir: string, settings: Settings = {}): Promise<OwnPostgres> {
  // The machine does not crash, so nothing needs to reach the disk; but a crash of the server must lose no commit.
  const { url, binDir, location, close } = await open(dataDir, {
    ...fastSettings,
    synchronous_commit: 'on',
    ...settings,
  })
  const folder = clusterFolder(location)
  const identity = await chooseIdentity(folder)
  const pgCtl = (args: readonly string[]) =>
    runTool(join(binDir, 'pg_ctl'), [...args, '-D', folder], { identity, folder: location })
  const isRunning = async (): Promise<boolean> => (await pgCtl(['status'])).code === 0
  const run = async (args: readonly string[]): Promise<void> => {
    const { code, output } = await pgCtl([...args, '-w', '-t', '60', '-s'])
    if (code !== 0) throw new Error(`pg_ctl ${args[0]} ended with ${code}: ${output.trim()}`)
  }
  const stop = async (mode: StopMode): Promise<void> => {
    if (await isRunning()) await run(['stop', '-m', mode])
  }
  const start = async (): Promise<void> => {
    // `restart` takes port and settings from what the last start left, also where nothing runs.
    if (!(await isRunning())) await run(['restart', '-l', join(folder, 'server.log')])
  }
  return {
    url,
    close,
    stop,
    start,
    folder,
    adopt: async () => {
      if (identity !== null) await promisify(execFile)('chown', ['-R', `${identity.uid}:${identity.gid}`, folder])
    },
    becomeStandby: async () => {
      await stop('fast')
      const signal = join(folder, 'standby.signal')
      await writeFile(signal, '')
      if (identity !== null) await chown(signal, identity.uid, identity.gid)
      await start()
    },
  }
}
