// Installs a package of an exact version beside the project's own: another Node, another Postgres.

import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
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
