// What `npm run surroundings` consists of: the whole suite on each version of Postgres and in another time zone, and the groups
// of test/surroundings.

import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { JsonTestResults } from 'vitest/reporters'
import { type Outcome, runSuite } from '../../../scripts/proof-suite.ts'
import { packageOf, postgresVersions } from '../../helpers/postgres-versions.ts'
import { groupRows, type Row, suiteRow } from './table.ts'

export type Step = {
  /** `postgres 14`, `time-zone` or the name of a group. */
  readonly name: string
  /** Installs what it needs, runs it, and says which rows of the table it makes. */
  run(run: RunOf): Promise<StepResult>
}

/** `folder` takes the runner's report; `signal` ends the step, and what it returns then says nothing. */
export type RunOf = { readonly folder: string; readonly seed: number; readonly signal: AbortSignal }

export type StepResult = Pick<Outcome, 'green' | 'minutes' | 'failures'> & { readonly rows: readonly Row[] }

const here = { folder: dirname(process.execPath), version: process.version }
const groupFolder = 'test/surroundings'
const groupEnd = '.test.ts'

/** All steps, in the order in which they run and stand in the table. */
export async function allSteps(): Promise<readonly Step[]> {
  const files = await readdir(groupFolder)
  const groups = files.filter((file) => file.endsWith(groupEnd)).map((file) => file.slice(0, -groupEnd.length))
  return [...postgresVersions.map(suiteOnPostgres), suiteInTimeZone, ...groups.sort().map(group)]
}

export const suiteName = (version: string): string => `postgres ${version}`

function suiteOnPostgres(version: string): Step {
  return {
    name: suiteName(version),
    run: async (run) => {
      const { version: exact } = await packageOf(version, run.signal)
      const [major, minor] = exact.split('.')
      return wholeSuite(run, `Postgres ${major}.${minor}`, { TEST_POSTGRES_VERSION: version })
    },
  }
}

/** A zone that is never UTC, and changes its clocks. */
const suiteInTimeZone: Step = {
  name: 'time-zone',
  run: (run) => wholeSuite(run, 'The process in another time zone (`TZ=Europe/Paris`)', { TZ: 'Europe/Paris' }),
}

async function wholeSuite(
  { folder, seed, signal }: RunOf,
  surroundings: string,
  env: Readonly<Record<string, string>>,
): Promise<StepResult> {
  const report = join(folder, 'suite.json')
  const outcome = await runSuite({ node: here, seed, files: [], report, env, signal })
  return { ...outcome, rows: [suiteRow(surroundings, outcome)] }
}

function group(name: string): Step {
  return {
    name,
    run: async ({ folder, seed, signal }) => {
      const report = join(folder, `${name}.json`)
      const files = [`${groupFolder}/${name}${groupEnd}`]
      const outcome = await runSuite({ node: here, seed, files, report, env: { SURROUNDINGS: 'full' }, signal })
      const text = await readFile(report, 'utf8').catch(() => null) // the failure is in the outcome
      const results = text === null ? [] : (JSON.parse(text) as JsonTestResults).testResults
      return { ...outcome, rows: groupRows(name, results, outcome) }
    },
  }
}
