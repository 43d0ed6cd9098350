// What was shown of which code: all of it takes the better part of an hour, and goes on where it was stopped.

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { messageOf } from '../../../src/errors.ts'
import type { StepResult } from './steps.ts'

const file = 'node_modules/.cache/surroundings.json'

export type Record = {
  /** Results by name of the step. */
  readonly results: Map<string, StepResult>
  /** Null, or why results are not kept: the code has no name as long as something is not committed. */
  readonly notKept: string | null
  keep(name: string, result: StepResult): Promise<void>
}

const execute = promisify(execFile)

/** What measurements are written into. */
const reports = ['docs/reliability.md', 'docs/performance.md']

/**
 * A short name of the committed project, without its reports.
 * @throws Error when something is not committed: what was shown must be there to examine.
 */
async function codeName(): Promise<string> {
  const paths = ['.', ...reports.map((path) => `:(exclude)${path}`)]
  const git = async (...args: string[]): Promise<string> =>
    (await execute('git', [...args, '--', ...paths], { maxBuffer: 16_000_000 })).stdout
  const changed = await git('status', '--porcelain')
  if (changed !== '') throw new Error(`Commit first, or the record would name other code:\n${changed}`)
  return createHash('sha256')
    .update(await git('ls-files', '--stage'))
    .digest('hex')
    .slice(0, 12)
}

/** Opens what there is of this very code; `fresh` begins anew. */
export async function openRecord(fresh: boolean): Promise<Record> {
  const named = await codeName().then(
    (code) => ({ code, notKept: null }),
    (error: unknown) => ({ code: null, notKept: messageOf(error) }),
  )
  const found = fresh || named.code === null ? null : await readFile(file, 'utf8').catch(() => null)
  const stored = found === null ? null : (JSON.parse(found) as { code: string; results: [string, StepResult][] })
  const results = new Map(stored?.code === named.code ? stored?.results : [])
  return {
    results,
    notKept: named.notKept,
    keep: async (name, result) => {
      results.set(name, result)
      if (named.code === null) return
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, JSON.stringify({ code: named.code, results: [...results] }))
    },
  }
}
