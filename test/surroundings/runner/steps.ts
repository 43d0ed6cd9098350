// What `npm run surroundings` consists of: the whole suite on each version of Postgres, on three of them in other surroundings
// besides, and the groups of test/surroundings.

import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { JsonTestResults } from 'vitest/reporters'
import { packageOf, postgresVersions } from '../../helpers/postgres-versions.ts'
import { installNode, type Node } from './node.ts'
import { type Outcome, runSuite } from './suite.ts'
import { groupRows, type Row, suiteRow } from './table.ts'

export type Step = {
  /** `postgres 14`, `postgres-jit` or the name of a group. */
  readonly name: string
  /** Installs what it needs, runs it, and says which rows of the table it makes. */
  run(run: RunOf): Promise<StepResult>
}

/** `folder` takes the runner's report; `signal` ends the step, and what it returns then says nothing. */
export type RunOf = { readonly folder: string; readonly seed: number; readonly signal: AbortSignal }

export type StepResult = Pick<Outcome, 'green' | 'minutes' | 'failures'> & { readonly rows: readonly Row[] }

const here: Node = { folder: dirname(process.execPath), version: process.version }
const groupFolder = 'test/surroundings'
const groupEnd = '.test.ts'

/** All steps, in the order in which they run and stand in the table. */
export async function allSteps(): Promise<readonly Step[]> {
  const files = await readdir(groupFolder)
  const groups = files.filter((file) => file.endsWith(groupEnd)).map((file) => file.slice(0, -groupEnd.length))
  return [...postgresVersions.map(suiteOnPostgres), suiteOnJit, ...groups.sort().map(group)]
}

export const suiteName = (version: string): string => `postgres ${version}`

/** What else is different on a version: other than one by one, as a run of the suite is long and they hardly have to do with each other. */
const besides: Readonly<Record<string, Besides>> = {
  14: { node: '22' },
  15: { timeZone: 'Europe/Paris' },
  16: { node: '24' },
}

type Besides = {
  /** The major version of the Node that runs the tests and whatever they start as `node`. */
  readonly node?: string
  /** A zone that is never UTC, and changes its clocks. */
  readonly timeZone?: string
}

function suiteOnPostgres(version: string): Step {
  const { node: nodeVersion, timeZone } = besides[version] ?? {}
  return {
    name: suiteName(version),
    run: async (run) => {
      const { version: exact } = await packageOf(version, run.signal)
      const [major, minor] = exact.split('.')
      const node = nodeVersion === undefined ? here : await installNode(nodeVersion, run.folder, run.signal)
      const zone = timeZone === undefined ? {} : { TZ: timeZone }
      const surroundings = [`Postgres ${major}.${minor}`, `Node ${node.version.slice(1)}`, ...Object.values(zone)]
      return suiteIn(run, surroundings.join(', '), { node, env: { TEST_POSTGRES_VERSION: version, ...zone } })
    },
  }
}

/** The parts of the suite that ask most of Postgres. */
const onJit = ['mirror', 'reports', 'messages', 'inspect', 'access', 'cli/feed', 'cli/status', 'outbox/turns']

/** A Postgres as distributions package it: it compiles what it expects to be expensive. */
const suiteOnJit: Step = {
  name: 'postgres-jit',
  run: (run) =>
    suiteIn(run, 'Postgres of a distribution, with JIT', {
      env: { REQUIRE_POSTGRES_JIT: '1', TEST_POSTGRES_JIT: '1' },
      parts: onJit,
    }),
}

type SuiteOptions = {
  readonly node?: Node
  readonly env?: Readonly<Record<string, string>>
  /** Folders and files of `test`; none: all. */
  readonly parts?: readonly string[]
}

/** Runs the suite, or these parts of it. */
async function suiteIn(
  { folder, seed, signal }: RunOf,
  surroundings: string,
  { node = here, env = {}, parts = [] }: SuiteOptions,
): Promise<StepResult> {
  const report = join(folder, 'suite.json')
  const files = parts.map((part) => `test/${part}`)
  const outcome = await runSuite({ node, seed, files, report, env, signal })
  const shown = parts.length === 0 ? 'the whole suite' : `the suites of ${parts.join(', ')}`
  return { ...outcome, rows: [suiteRow(surroundings, outcome, shown)] }
}

function group(name: string): Step {
  return {
    name,
    run: async ({ folder, seed, signal }) => {
      const report = join(folder, `${name}.json`)
      const files = [`${groupFolder}/${name}${groupEnd}`]
      const outcome = await runSuite({ node: here, seed, mode: 'full', files, report, signal })
      const text = await readFile(report, 'utf8').catch(() => null) // the failure is in the outcome
      const results = text === null ? [] : (JSON.parse(text) as JsonTestResults).testResults
      return { ...outcome, rows: groupRows(name, results, outcome) }
    },
  }
}
