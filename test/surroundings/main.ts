// `npm run surroundings`: the whole suite on every version of Postgres, on some with another Node or time zone, then what is
// shown in other surroundings, each group in full. Writes the table "surroundings × result" into the folder `results` once
// everything has run.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command, InvalidArgumentError } from 'commander'
import { markdown, terminal } from '../../bench/report.ts'
import { writeResult } from '../../scripts/results.ts'
import { postgresVersions } from '../helpers/postgres-versions.ts'
import { clearLeftovers } from '../helpers/run-folder.ts'
import { openRecord, type Record } from './runner/record.ts'
import { allSteps, type Step, suiteName } from './runner/steps.ts'
import { cellsOf, tableHead } from './runner/table.ts'

type Flags = {
  readonly only?: readonly string[]
  readonly postgres?: readonly string[]
  readonly seed: number
  readonly fresh: boolean
}

const listOf =
  (known: readonly string[]) =>
  (text: string): string[] => {
    const names = text.split(',')
    const unknown = names.find((name) => !known.includes(name))
    if (unknown === undefined) return names
    throw new InvalidArgumentError(`${JSON.stringify(unknown)} is none of ${known.join(', ')}.`)
  }

function wholeNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It takes a whole number.')
}

const say = (line: string): void => void process.stdout.write(`${line}\n`)
const minutesOf = (ms: number): string => `${(ms / 60_000).toFixed(1)} min`

const all = await allSteps()
const groups = all.map(({ name }) => name).filter((name) => !postgresVersions.map(suiteName).includes(name))
const program = new Command('npm run surroundings --')
  .description(
    `Runs the suite on Postgres ${postgresVersions.join(', ')} (on 14 with Node 22, on 16 with Node 24, on 15 in the time zone of Paris), what asks most of Postgres on one with JIT (postgres-jit), and the groups of test/surroundings in full. Needs \`redis-server\`, \`pgbouncer\` and \`chromium\` on the path, the package \`postgresql\` of the distribution, and npm's registry for the other versions of Postgres and Node. What was green of the same, committed code is not run again.`,
  )
  .option('--only <groups>', `only these groups, with commas between: ${groups.join(', ')}`, listOf(groups))
  .option('--postgres <versions>', 'only the suite on these, such as 14,18', listOf(postgresVersions))
  .option('--seed <n>', 'seed of the order of tests', wholeNumber, Date.now())
  .option('--fresh', 'run again what was green', false)
  .allowExcessArguments(false)
  .showHelpAfterError('Add --help to see the usage.')
  .parse()
const { only, postgres, seed, fresh }: Flags = program.opts()

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort())

const asked = [...(only ?? []), ...(postgres ?? []).map(suiteName)]
const isAsked = ({ name }: Step): boolean => asked.length === 0 || asked.includes(name)

/** Runs what is asked for and not yet green; goes on after a failure, so that one run shows them all. */
async function runSteps(steps: readonly Step[], record: Record, folder: string): Promise<void> {
  const began = performance.now()
  for (const [index, step] of steps.entries()) {
    const place = `${index + 1} of ${steps.length}: ${step.name}`
    const before = record.results.get(step.name)
    if (before?.green) {
      say(`\n${place}: green before, with this very code`)
      continue
    }
    say(`\n${place}, ${minutesOf(performance.now() - began)} after the start`)
    const result = await step.run({ folder, seed, signal: stop.signal })
    stop.signal.throwIfAborted()
    await record.keep(step.name, result)
    say(`\n${place}: ${result.green ? 'green' : 'NOT GREEN'} after ${minutesOf(result.minutes * 60_000)}`)
    for (const line of result.failures) say(`  ${line}`)
  }
}

const steps = all.filter(isAsked)
const record = await openRecord(fresh)
if (record.notKept !== null) say(`Results are not kept, and no table is written. ${record.notKept}`)
const folder = await mkdtemp(join(tmpdir(), 'boat-mirror-surroundings-'))
try {
  await runSteps(steps, record, folder)
} catch (error) {
  if (!stop.signal.aborted) throw error
} finally {
  await rm(folder, { recursive: true, force: true })
  await clearLeftovers() // a run that was stopped could not stop its servers
}

const rowsOf = (of: readonly Step[]): string[][] =>
  of.flatMap(({ name }) => record.results.get(name)?.rows ?? []).map(cellsOf)
const brief = ([surroundings = '', , result = '']: readonly string[]): string[] => [surroundings, result]
say(`\n${terminal(brief(tableHead), rowsOf(steps).map(brief))}`)
const open = all.filter(({ name }) => !record.results.has(name))
if (stop.signal.aborted) process.stderr.write('\nStopped before the end. The same command goes on where it was.\n')
else if (open.length > 0)
  say(`\nNo table is written before these have run: ${open.map(({ name }) => name).join(', ')}.`)
else if (record.notKept === null) {
  const file = writeResult('surroundings', 'npm run surroundings', [markdown(tableHead, rowsOf(all))])
  say(`\nWritten to ${file}.`)
}
const failed = steps.filter(({ name }) => !record.results.get(name)?.green)
process.exitCode = stop.signal.aborted ? 130 : failed.length > 0 ? 1 : 0
