// One run of the suite by a given Node, in a process group of its own, and what its report says.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { delimiter, join, relative } from 'node:path'
import type { JsonTestResults } from 'vitest/reporters'
import type { Extent } from '../../helpers/extent.ts'
import type { Node } from './node.ts'

export type Outcome = {
  readonly passed: number
  readonly skipped: number
  readonly failed: number
  readonly minutes: number
  /** Tests passed, none failed, and the runner itself found nothing wrong. */
  readonly green: boolean
  /** What failed: the file and its tests, or why the file could not run. */
  readonly failures: readonly string[]
}

type Suite = {
  readonly node: Node
  readonly seed: number
  /** Test files whose path holds one of these; none: all. */
  readonly files: readonly string[]
  /** Of vitest (`vitest.config.ts`); none: all. */
  readonly mode?: Extent
  /** Where the report goes. */
  readonly report: string
  /** What its environment has besides. */
  readonly env?: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** Runs the suite once. Aborted, it ends the run and all that belongs to its group, and what it returns says nothing. */
export async function runSuite({ node, seed, mode = 'all', files, report, env, signal }: Suite): Promise<Outcome> {
  const began = performance.now()
  const reporters = ['--reporter=dot', '--reporter=json', `--outputFile.json=${report}`]
  const args = [
    'node_modules/vitest/vitest.mjs',
    'run',
    `--mode=${mode}`,
    `--sequence.seed=${seed}`,
    ...reporters,
    ...files,
  ]
  const child = spawn(join(node.folder, 'node'), args, {
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true, // its own group, so that what tests have started ends with it
    env: { ...environment(node), ...env },
  })
  const exited: Promise<unknown[]> = once(child, 'exit')
  const endGroup = (): void => endAll(child.pid, 'SIGINT')
  signal.addEventListener('abort', endGroup, { once: true })
  if (signal.aborted) endGroup()
  const [code] = await exited
  signal.removeEventListener('abort', endGroup)
  endAll(child.pid, 'SIGKILL') // what a run leaves behind may not disturb the next
  const minutes = (performance.now() - began) / 60_000
  return { ...(await outcomeOf(report, code)), minutes }
}

/** What the suites start as `node` is the same Node; servers are the run's own; a missing program may skip no suite. */
function environment({ folder }: Node): NodeJS.ProcessEnv {
  const { TEST_DATABASE_URL: _database, TEST_REDIS_URL: _redis, ...rest } = process.env
  const path = `${folder}${delimiter}${process.env.PATH ?? ''}`
  return { ...rest, REQUIRE_REDIS: '1', REQUIRE_CHROMIUM: '1', REQUIRE_PGBOUNCER: '1', PATH: path }
}

function endAll(group: number | undefined, signal: NodeJS.Signals): void {
  if (group === undefined) return
  try {
    process.kill(-group, signal)
  } catch {
    // Nobody is left in it.
  }
}

async function outcomeOf(report: string, code: unknown): Promise<Omit<Outcome, 'minutes'>> {
  const text = await readFile(report, 'utf8').catch(() => null)
  if (text === null) {
    const failures = [`The runner ended with ${code} before it could write its report.`]
    return { passed: 0, skipped: 0, failed: 0, green: false, failures }
  }
  const results: JsonTestResults = JSON.parse(text)
  const { numPassedTests: passed, numFailedTests: failed, numPendingTests: skipped, testResults } = results
  const broken = testResults.filter(({ status }) => status === 'failed')
  const failures = broken.map(({ name, message, assertionResults }) => {
    const tests = assertionResults.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName)
    return `${relative('', name)}: ${tests.length === 0 ? message : tests.join('; ')}`
  })
  const green = code === 0 && passed > 0
  if (!green && failures.length === 0)
    failures.push(`The runner ended with ${code}, though no test failed: what it says is above.`)
  return { passed, skipped, failed, green, failures }
}
