// Installs packages: one of an exact version beside the project's own (another Node, another Postgres), and the project itself.

import { execFile } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/**
 * Installs a package into `folder/node_modules`. Its install script is the only one allowed.
 * @throws Error with npm's own words when that fails.
 */
export async function installPackage(
  name: string,
  version: string,
  folder: string,
  signal?: AbortSignal,
): Promise<void> {
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, allowScripts: { [name]: true } }))
  // A setting against install scripts on this machine, or a `--ignore-scripts` before, would leave the package incomplete.
  const args = ['--ignore-scripts=false', '--no-audit', '--no-fund', '--loglevel=error', `${name}@${version}`]
  await execute('npm', ['install', ...args], { cwd: folder, signal })
}

/** Packs the project as it was built, and unpacks it into `folder/node_modules`. `npm run build` must have run. */
export async function installOurselves(folder: string): Promise<void> {
  await execute('npm', ['pack', '--ignore-scripts', '--pack-destination', folder])
  const home = join(folder, 'node_modules/boat-mirror')
  await mkdir(home, { recursive: true })
  const { version } = (await import('../../package.json', { with: { type: 'json' } })).default
  await execute('tar', ['-xzf', join(folder, `boat-mirror-${version}.tgz`), '-C', home, '--strip-components=1'])
}

/** Puts packages of the project into `folder/node_modules`, without asking a registry. */
export async function linkPackages(folder: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const place = join(folder, 'node_modules', name)
    await mkdir(dirname(place), { recursive: true })
    await symlink(resolve('node_modules', name), place, 'dir')
  }
}
