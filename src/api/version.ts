// The version of this package, for User-Agent and --version. Read from package.json, which stands higher up in the sources than in dist.

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The version as in package.json; `0.0.0` where the program was bundled without it. Reads files. */
export function packageVersion(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder)
    if (parent === folder) return '0.0.0'
    folder = parent
  }
  const { version }: { version?: string } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return version ?? '0.0.0'
}
