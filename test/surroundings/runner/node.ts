// Other versions of Node, from npm's `node` package, in a folder that goes away.

import { execFile } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { installPackage } from '../../helpers/npm-package.ts'

const execute = promisify(execFile)

/** `folder` holds the program `node`; `version` is what it says of itself, such as `v20.19.0`. */
export type Node = { readonly folder: string; readonly version: string }

/**
 * Installs a version, such as `24`, below `folder`. Its install script, which fetches the binary, is the only one allowed.
 * @throws Error with npm's own words when that fails.
 */
export async function installNode(version: string, folder: string, signal: AbortSignal): Promise<Node> {
  const home = await mkdtemp(join(folder, 'node-'))
  await installPackage('node', version, home, signal)
  const bin = join(home, 'node_modules/node/bin')
  const { stdout } = await execute(join(bin, 'node'), ['--version'], { signal })
  return { folder: bin, version: stdout.trim() }
}
