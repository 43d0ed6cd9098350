// A Postgres that compiles (JIT), as distributions package it; npm's does not. Without one on this machine what needs it is
// not run, unless REQUIRE_POSTGRES_JIT is 1.

import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Binaries } from '../../src/embedded/binaries.ts'
import type { Settings } from '../../src/embedded/server.ts'

/** Where Debian's and PGDG's packages put the programs of each major version. */
const packages = '/usr/lib/postgresql'

/** On, as it comes; the program's own embedded server switches it off. */
export const jitSettings: Settings = { jit: 'on' }

/** The newest that is installed with its compiler, or undefined. @throws Error when it is required. */
export function findJitPostgres(): Binaries | undefined {
  const majors = existsSync(packages) ? readdirSync(packages) : []
  const [major] = majors
    .filter(
      (each) =>
        existsSync(join(packages, each, 'lib', 'llvmjit.so')) && existsSync(join(packages, each, 'bin', 'initdb')),
    )
    .sort((a, b) => Number(b) - Number(a))
  if (major !== undefined) return { binDir: join(packages, major, 'bin'), major }
  const notRun = 'not run: what needs a Postgres with JIT (install the package postgresql)'
  if (process.env.REQUIRE_POSTGRES_JIT === '1') throw new Error(`${notRun}, and REQUIRE_POSTGRES_JIT is 1`)
  process.stdout.write(`\n${notRun}\n`)
  return undefined
}
