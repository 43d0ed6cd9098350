// `npm run surroundings`: the whole suite on every version of Postgres, on some with another Node or time zone, then each group of
// test/surroundings in full. Writes the table "surroundings × result" into the folder `results`.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, relative } from 'node:path'
import { Command, InvalidArgumentError } from 'commander'
import type { JsonTestResults } from 'vitest/reporters'
import { markdown, terminal } from '../../bench/report.ts'
import { writeResult } from '../../scripts/results.ts'
import { installPackage } from '../helpers/npm-package.ts'
import { packageOf, postgresVersions } from '../helpers/postgres-versions.ts'
import { clearLeftovers } from '../helpers/run-folder.ts'

type Step = {
  /** `postgres 14`, `postgres-jit` or the name of a group. */
  readonly name: string
  /** Test files whose path holds one of these; none: all. */
  readonly files: readonly string[]
  readonly mode: 'all' | 'full'
  readonly env?: Readonly<Record<string, string>>
  /** The major version of the Node that runs the tests and what they start as `node`; unset: this one. */
  readonly node?: string
}

const groupFolder = 'test/surroundings'
const groups = readdirSync(groupFolder)
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => file.slice(0, -'.test.ts'.length))
  .sort()
const suiteName = (version: string): string => `postgres ${version}`

/** What else is different on a version: a run is long, and these hardly have to do with each other. */
const besides: Readonly<Record<string, { readonly node?: string; readonly env?: { readonly TZ: string } }>> = {
  14: { node: '22' },
  15: { env: { TZ: 'Europe/Paris' } },
  16: { node: '24' },
}

/** The parts of the suite that ask most of Postgres. */
const onJit = ['mirror', 'reports', 'messages', 'inspect', 'access', 'cli/feed', 'cli/status', 'outbox/turns']

const all: readonly Step[] = [
  ...postgresVersions.map((version): Step => {
    const { node, env } = besides[version] ?? {}
    const wishes = { files: [], mode: 'all', env: { TEST_POSTGRES_VERSION: version, ...env } } as const
    return { name: suiteName(version), ...wishes, ...(node !== undefined && { node }) }
  }),
  {
    name: 'postgres-jit',
    files: onJit.map((part) => `test/${part}`),
    mode: 'all',
    env: { REQUIRE_POSTGRES_JIT: '1', TEST_POSTGRES_JIT: '1' },
  },
  ...groups.map((name): Step => ({ name, files: [`${groupFolder}/${name}.test.ts`], mode: 'full' })),
]

const listOf =
  (known: readonly string[]) =>
  (text: string): string[] => {
    const names = text.split(',')
    const unknown = names.find((name) => !known.includes(name))
    if (unknown === undefined) return names
    throw new InvalidArgumentError(`${JSON.stringify(unknown)} is none of ${known.join(', ')}.`)
  }

const program = new Command('npm run surroundings --')
  .description(
    `Runs the suite on Postgres ${postgresVersions.join(', ')} (on 14 with Node 22, on 16 with Node 24, on 15 in the time zone of Paris), what asks most of Postgres on one with JIT (postgres-jit), and the groups of test/surroundings in full. Needs \`redis-server\`, \`pgbouncer\` and \`chromium\` on the path, the package \`postgresql\` of the distribution, and npm's registry for the other versions of Postgres and Node.`,
  )
  .option(
    '--only <groups>',
    `only these groups, with commas between: ${['postgres-jit', ...groups].join(', ')}`,
    listOf(['postgres-jit', ...groups]),
  )
  .option('--postgres <versions>', 'only the suite on these, such as 14,18', listOf(postgresVersions))
  .option('--seed <n>', 'seed of the order of tests', String(Date.now()))
  .allowExcessArguments(false)
  .showHelpAfterError('Add --help to see the usage.')
  .parse()
const { only = [], postgres = [], seed } = program.opts<{ only?: string[]; postgres?: string[]; seed: string }>()
const asked = [...only, ...postgres.map(suiteName)]

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort())
const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** Installs a version of Node, such as `24`, and returns the folder of its program. Its install script fetches the binary. */
async function installNode(version: string, folder: string): Promise<string> {
  const home = await mkdtemp(join(folder, 'node-'))
  await installPackage('node', version, home, stop.signal)
  return join(home, 'node_modules/node/bin')
}

function endGroup(group: number | undefined, signal: NodeJS.Signals): void {
  if (group === undefined) return
  try {
    process.kill(-group, signal)
  } catch {
    // No process of it is left.
  }
}

/** Runs the tests of a step in a process group of its own. Returns where they ran, the counts, and what failed. */
async function run({ name, files, mode, env = {}, node }: Step, folder: string) {
  const bin = node === undefined ? dirname(process.execPath) : await installNode(node, folder)
  const report = join(folder, 'report.json')
  await rm(report, { force: true })
  const { TEST_DATABASE_URL: _database, TEST_REDIS_URL: _redis, ...rest } = process.env // servers are the run's own
  const required = { REQUIRE_REDIS: '1', REQUIRE_CHROMIUM: '1', REQUIRE_PGBOUNCER: '1' }
  const wishes = [`--mode=${mode}`, `--sequence.seed=${seed}`, '--reporter=dot', '--reporter=json']
  const child = spawn(
    join(bin, 'node'),
    ['node_modules/vitest/vitest.mjs', 'run', ...wishes, `--outputFile.json=${report}`, ...files],
    {
      stdio: ['ignore', 'inherit', 'inherit'],
      detached: true,
      env: { ...rest, ...required, ...env, PATH: `${bin}${delimiter}${process.env.PATH ?? ''}` },
    },
  )
  const onAbort = (): void => endGroup(child.pid, 'SIGINT')
  stop.signal.addEventListener('abort', onAbort, { once: true })
  const [code] = (await once(child, 'exit')) as unknown[]
  stop.signal.removeEventListener('abort', onAbort)
  endGroup(child.pid, 'SIGKILL') // what a run leaves behind must not disturb the next
  stop.signal.throwIfAborted()
  const text = await readFile(report, 'utf8').catch(() => null)
  const results = text === null ? null : (JSON.parse(text) as JsonTestResults)
  const failures = (results?.testResults ?? [])
    .filter(({ status }) => status === 'failed')
    .map(({ name: file, message, assertionResults }) => {
      const failed = assertionResults.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName)
      return `${relative('', file)}: ${failed.length === 0 ? message : failed.join('; ')}`
    })
  const { numPassedTests: passed = 0, numPendingTests: skipped = 0, numFailedTests: failed = 0 } = results ?? {}
  const green = code === 0 && passed > 0
  if (!green && failures.length === 0) failures.push(`The runner ended with ${code}: its output is above.`)
  const version = env.TEST_POSTGRES_VERSION
  const place = [
    version === undefined ? name : `Postgres ${(await packageOf(version, stop.signal)).version}`,
    ...(node === undefined ? [] : [execFileSync(join(bin, 'node'), ['--version'], { encoding: 'utf8' }).trim()]),
    ...(env.TZ === undefined ? [] : [env.TZ]),
  ].join(', ')
  const counts = `${passed} passed, ${skipped} skipped, ${failed} failed`
  return { place, green, failures, result: green ? counts : `FAILED: ${counts}` }
}

const steps = all.filter(({ name }) => asked.length === 0 || asked.includes(name))
const folder = await mkdtemp(join(tmpdir(), 'boat-mirror-surroundings-'))
const rows: string[][] = []
let failed = 0
try {
  for (const [index, step] of steps.entries()) {
    say(`\n${index + 1} of ${steps.length}: ${step.name}`)
    const { place, green, failures, result } = await run(step, folder)
    rows.push([place, result])
    if (!green) failed++
    for (const line of failures) say(`  ${line}`)
  }
} catch (error) {
  if (!stop.signal.aborted) throw error
} finally {
  await rm(folder, { recursive: true, force: true })
  await clearLeftovers() // a run that was stopped could not stop its servers
}

const head = ['surroundings', 'result']
say(`\n${terminal(head, rows)}`)
if (rows.length === all.length)
  say(`\nWritten to ${writeResult('surroundings', 'npm run surroundings', [markdown(head, rows)])}.`)
process.exitCode = stop.signal.aborted ? 130 : failed > 0 ? 1 : 0
