// What was proven of which code: a proof takes hours on a small machine, and goes on where it was stopped.

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { promisify } from 'node:util'
import type { Outcome } from './proof-suite.ts'

export type Run = { readonly on: 'floor' | 'newest'; readonly seed: number; readonly node: string } & Outcome

type ProofRecord = { readonly code: string; readonly runs: readonly Run[] }

const execute = promisify(execFile)

/** What proofs and measurements are written into. */
const reports = ['docs/reliability.md', 'docs/performance.md']

/**
 * A short name of the committed project, but for its reports and `file`, and of the test files asked for.
 * @throws Error when something is not committed: what is proven must be there to look at.
 */
export async function codeName(file: string, testFiles: readonly string[]): Promise<string> {
  const record = relative('', file)
  const left = record.startsWith('..') ? reports : [...reports, record]
  const paths = ['.', ...left.map((path) => `:(exclude)${path}`)]
  const git = async (...args: string[]): Promise<string> =>
    (await execute('git', [...args, '--', ...paths], { maxBuffer: 16_000_000 })).stdout
  const changed = await git('status', '--porcelain')
  if (changed !== '') throw new Error(`Commit first, or the record would name other code:\n${changed}`)
  const names = [await git('ls-files', '--stage'), ...testFiles]
  return createHash('sha256').update(names.join('\n')).digest('hex').slice(0, 12)
}

/** The runs in a file. @throws Error when they are of other code, or when there is no such file. */
export async function readRuns(file: string, code: string): Promise<readonly Run[]> {
  const record: ProofRecord = JSON.parse(await readFile(file, 'utf8'))
  if (record.code === code) return record.runs
  throw new Error(`${file} has runs of other code (${record.code}, this is ${code}): begin anew, without --resume.`)
}

export async function writeRuns(file: string, code: string, runs: readonly Run[]): Promise<void> {
  await writeFile(file, `${JSON.stringify({ code, runs } satisfies ProofRecord, null, 2)}\n`)
}
