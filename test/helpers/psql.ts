// The psql of this machine. Without one what needs it is not run, unless REQUIRE_PSQL is 1.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { findOnPath } from './redis-server.ts'

/** The program, or undefined where it is not installed. @throws Error when it is required. */
export function findPsql(): string | undefined {
  const program = findOnPath('psql')
  if (program !== undefined) return program
  const notRun = 'not run: what needs psql (install the package postgresql-client)'
  if (process.env.REQUIRE_PSQL === '1') throw new Error(`${notRun}, and REQUIRE_PSQL is 1`)
  process.stdout.write(`\n${notRun}\n`)
  return undefined
}

/** Runs a file of SQL. Returns psql's exit code and all that it wrote. */
export async function runPsql(program: string, url: string, file: string): Promise<{ code: number; text: string }> {
  const child = spawn(program, ['-X', '-f', file, url], { stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
  await once(child, 'close')
  return { code: child.exitCode ?? -1, text }
}
