// Proves that the suite is green whatever its order: runs on Node's floor version and one on the newest Node, each with a
// seed and servers of its own. Stops at the first run that is not green, names what failed and how to replay it.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command, InvalidArgumentError, Option } from 'commander'
import { markdown, terminal } from '../bench/report.ts'
import manifest from '../package.json' with { type: 'json' }
import { writeBlock } from '../test/helpers/doc-block.ts'
import { clearLeftovers } from '../test/helpers/run-folder.ts'
import { installNode, type Node } from './proof-node.ts'
import { codeName, type Run, readRuns, writeRuns } from './proof-record.ts'
import { runSuite } from './proof-suite.ts'

type Flags = {
  readonly runs: number
  readonly seed: number
  readonly on: 'floor' | 'newest' | 'both'
  readonly json?: string
  readonly resume: boolean
  readonly docs: boolean
}

function wholeNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It takes a whole number.')
}

const program = new Command('proof')
  .description('Runs the suite in random orders on the floor version of Node, and once on the newest.')
  .argument('[files...]', 'only test files whose path holds one of these')
  .option('--runs <n>', 'runs on the floor version', wholeNumber, 10)
  .option('--seed <n>', 'seed of the first run; each run after it takes the next', wholeNumber, Date.now())
  .addOption(new Option('--on <node>', 'which Node').choices(['floor', 'newest', 'both']).default('both'))
  .option('--json <file>', 'where the runs go as JSON, each as it ends')
  .option('--resume', 'goes on after the green runs in that file, which must be of the same code', false)
  .option('--docs', 'writes the table into docs/reliability.md', false)
  .parse()
const flags: Flags = program.opts()
const files = program.args
if (flags.docs && files.length > 0) program.error('--docs records the whole suite: leave the files out.')
if (flags.resume && flags.json === undefined)
  program.error('--resume needs the --json file of the proof that was stopped.')

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort())

const head = ['run', 'Node', 'seed', 'passed', 'skipped', 'failed', 'minutes', 'green']
const rowOf = ({ node, seed, passed, skipped, failed, minutes, green }: Run, index: number): (string | number)[] => [
  index + 1,
  node,
  seed,
  passed,
  skipped,
  failed,
  minutes.toFixed(1),
  green ? 'yes' : 'no',
]

/** What to type to see a run again: the same Node, seed, files and servers. */
function replayOf({ on, seed }: Run): string {
  const which = on === 'floor' ? '--on floor --runs 1' : '--on newest'
  return ['npm run proof --', which, `--seed ${seed}`, ...files].join(' ')
}

function explain(run: Run): void {
  process.stderr.write(`\nNot green. Replay: ${replayOf(run)}\n`)
  for (const line of run.failures) process.stderr.write(`  ${line}\n`)
}

const planned = [
  ...(flags.on === 'newest' ? [] : Array<'floor'>(flags.runs).fill('floor')),
  ...(flags.on === 'floor' ? [] : (['newest'] as const)),
]

/** The planned runs that are not among those before. */
function openRuns(before: readonly Run[]): readonly Run['on'][] {
  const done = before.map(({ on }) => on)
  return planned.filter((on) => {
    const place = done.indexOf(on)
    if (place >= 0) done.splice(place, 1)
    return place < 0
  })
}

/** Runs until all is done, one run is not green, or somebody stops it. Each run is handed over when it has ended. */
async function* prove(folder: string, before: readonly Run[]): AsyncGenerator<Run> {
  const firstSeed = before.length === 0 ? flags.seed : Math.max(...before.map(({ seed }) => seed)) + 1
  const nodes = new Map<string, Node>()
  for (const [index, on] of openRuns(before).entries()) {
    const wanted = on === 'floor' ? manifest.engines.node.replace('>=', '') : 'latest'
    const node = nodes.get(on) ?? (await installNode(wanted, folder, stop.signal))
    nodes.set(on, node)
    const seed = firstSeed + index
    const place = before.length + index + 1
    process.stdout.write(`\nrun ${place} of ${planned.length}: Node ${node.version}, seed ${seed}\n`)
    const report = join(folder, `run-${place}.json`)
    const outcome = await runSuite({ node, seed, files, report, signal: stop.signal })
    if (stop.signal.aborted) return
    yield { on, seed, node: node.version, ...outcome }
    if (!outcome.green) return
  }
}

const code = flags.json === undefined ? '' : await codeName(flags.json, files)
const before = flags.resume && flags.json !== undefined ? await readRuns(flags.json, code) : []
const finished = before.filter(({ green }) => green)
if (finished.length < before.length)
  program.error(`${flags.json} has a run that was not green: begin anew, without --resume.`)
const folder = await mkdtemp(join(tmpdir(), 'boat-mirror-proof-'))
try {
  for await (const run of prove(folder, before)) {
    finished.push(run)
    if (flags.json !== undefined) await writeRuns(flags.json, code, finished)
  }
} catch (error) {
  if (!stop.signal.aborted) throw error
} finally {
  await rm(folder, { recursive: true, force: true })
  await clearLeftovers() // a run that was stopped could not stop its servers
}
process.stdout.write(`\n${terminal(head, finished.map(rowOf))}\n`)
for (const run of finished) if (!run.green) explain(run)
const isOver = finished.length === planned.length
if (stop.signal.aborted) process.stderr.write('\nStopped before the last run.\n')
if (flags.docs) {
  const left = isOver ? [] : ['', `${finished.length} of ${planned.length} runs so far.`]
  writeBlock('docs/reliability.md', 'proof', [markdown(head, finished.map(rowOf)), ...left])
}
process.exitCode = stop.signal.aborted ? 130 : finished.every(({ green }) => green) ? 0 : 1
