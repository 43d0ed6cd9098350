// `npm run coverage`: which lines of `src` the suite runs, in its own process or in those it starts from `dist`.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { Command } from 'commander'
import { startVitest } from 'vitest/node'
import { markdown, terminal } from '../bench/report.ts'
import { writeBlock } from '../test/helpers/doc-block.ts'
import { type Place, Processes } from './coverage-processes.ts'

type FileCoverage = {
  readonly path: string
  readonly statementMap: Readonly<Record<string, { readonly start: Place }>>
  readonly s: Readonly<Record<string, number>>
}
type Lines = { readonly file: string; readonly all: number; readonly missed: readonly number[] }

const program = new Command('coverage')
  .description('Runs the suite and counts the lines of src that it runs.')
  .argument('[files...]', 'only test files whose path holds one of these')
  .option('--json <file>', 'where the files go as JSON, with the lines that no test runs')
  .option('--docs', 'writes the tables into docs/reliability.md', false)
  .parse()
const flags = program.opts<{ readonly json?: string; readonly docs: boolean }>()
if (flags.docs && program.args.length > 0) program.error('--docs records the whole suite: leave the files out.')

/** Less than this is named file by file. */
const wantedPercent = 90

/** Runs the suite. @returns whether it was green. */
async function runSuite(reports: string, processes: string): Promise<boolean> {
  Object.assign(process.env, { REQUIRE_REDIS: '1', REQUIRE_CHROMIUM: '1' })
  const vitest = await startVitest('test', [...program.args], {
    watch: false,
    reporters: ['dot'],
    env: { NODE_V8_COVERAGE: processes },
    coverage: {
      enabled: true,
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['json'],
      reportsDirectory: reports,
      reportOnFailure: true,
    },
  })
  await vitest.close()
  return vitest.state.getCountOfFailedTests() === 0 && vitest.state.getUnhandledErrors().length === 0
}

/** A line is one on which a statement begins; it counts when one of its statements was run by whomever. */
function linesOf({ path, statementMap, s }: FileCoverage, processes: Processes): Lines {
  const lines = new Map<number, boolean>()
  for (const [id, { start }] of Object.entries(statementMap)) {
    if (lines.get(start.line) === true) continue
    lines.set(start.line, (s[id] ?? 0) > 0 || processes.ran(path, start))
  }
  const missed = [...lines].flatMap(([line, ran]) => (ran ? [] : [line])).sort((a, b) => a - b)
  return { file: relative('src', path), all: lines.size, missed }
}

const percent = (ran: number, all: number): string => (all === 0 ? '–' : ((100 * ran) / all).toFixed(1))

function rowOf(name: string, files: readonly Lines[]): (string | number)[] {
  const all = files.reduce((sum, file) => sum + file.all, 0)
  const ran = all - files.reduce((sum, file) => sum + file.missed.length, 0)
  return [name, files.length, all, percent(ran, all)]
}

/** 3, 4, 5, 9 → `3–5, 9`. */
function ranges(lines: readonly number[]): string {
  const runs: [number, number][] = []
  for (const line of lines) {
    const last = runs.at(-1)
    if (last !== undefined && last[1] === line - 1) last[1] = line
    else runs.push([line, line])
  }
  return runs.map(([from, to]) => (from === to ? from : `${from}–${to}`)).join(', ')
}

const folder = await mkdtemp(join(tmpdir(), 'boat-mirror-coverage-'))
let files: readonly Lines[]
try {
  const [reports, written] = [join(folder, 'reports'), join(folder, 'processes')]
  if (!(await runSuite(reports, written))) process.exitCode = 1
  const report: Readonly<Record<string, FileCoverage>> = JSON.parse(
    await readFile(join(reports, 'coverage-final.json'), 'utf8'),
  )
  const processes = await Processes.read(written)
  files = Object.values(report)
    .map((file) => linesOf(file, processes))
    .filter(({ all }) => all > 0)
} finally {
  await rm(folder, { recursive: true, force: true })
}

const folderOf = ({ file }: Lines): string => (dirname(file) === '.' ? 'src' : (file.split('/')[0] ?? file))
const folders = [...new Set(files.map(folderOf))].sort()
const head = ['folder', 'files', 'lines', '% run']
const rows = [
  ...folders.map((name) =>
    rowOf(
      name,
      files.filter((file) => folderOf(file) === name),
    ),
  ),
  rowOf('all', files),
]
const below = files.filter(({ all, missed }) => 100 * (all - missed.length) < wantedPercent * all)
process.stdout.write(`\n${terminal(head, rows)}\n\nbelow ${wantedPercent} %, and the lines that nothing runs:\n`)
for (const { file, all, missed } of below)
  process.stdout.write(`  ${file} ${percent(all - missed.length, all)} %: ${ranges(missed)}\n`)
if (flags.json !== undefined) await writeFile(flags.json, `${JSON.stringify(files, null, 2)}\n`)
if (flags.docs) writeBlock('docs/reliability.md', 'coverage', [markdown(head, rows)])
