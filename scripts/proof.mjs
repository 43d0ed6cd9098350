// Proves that the suite is green whatever its order: N runs on Node's floor version and one on the newest Node, each with
// a seed of its own. `npm run proof -- [--runs N] [--seed FIRST] [--on floor|newest|both]`. Stops at the first run that is
// not green, names what failed and how to replay it.

import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now()) },
    on: { type: 'string', default: 'both' },
  },
})
const runs = wholeNumber('runs', values.runs)
const firstSeed = wholeNumber('seed', values.seed)
if (!['floor', 'newest', 'both'].includes(values.on)) throw new Error(`--on takes floor, newest or both: ${values.on}`)

const { engines } = JSON.parse(readFileSync('package.json', 'utf8'))
const folder = mkdtempSync(join(tmpdir(), 'boat-mirror-proof-'))
process.on('SIGINT', () => {}) // Ctrl-C ends what runs below; the folder is removed after it

/** The Node of a version from npm's `node` package. Its install script, which fetches the binary, is the only one allowed. */
function installNode(version) {
  const home = mkdtempSync(join(folder, 'node-'))
  writeFileSync(join(home, 'package.json'), JSON.stringify({ private: true, allowScripts: { node: true } }))
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', `node@${version}`], {
    cwd: home,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const node = join(home, 'node_modules/node/bin/node')
  return { node, version: execFileSync(node, ['--version'], { encoding: 'utf8' }).trim() }
}

/** One run of the suite, its own report read. Green: tests passed, none failed, and the runner itself found nothing wrong. */
function runSuite({ node, version }, seed, number) {
  const report = join(folder, `run-${number}.json`)
  const reporters = ['--reporter=dot', '--reporter=json', `--outputFile=${report}`]
  const { status } = spawnSync(
    node,
    ['node_modules/vitest/vitest.mjs', 'run', `--sequence.seed=${seed}`, ...reporters],
    {
      stdio: 'inherit',
      // What the suites start as `node` is the same Node; suites for Redis and a browser may not be left out.
      env: {
        REQUIRE_REDIS: '1',
        REQUIRE_CHROMIUM: '1',
        ...process.env,
        PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
      },
    },
  )
  const { numPassedTests: passed, numFailedTests: failed, testResults } = readReport(report)
  const broken = testResults.filter((file) => file.status === 'failed')
  return {
    run: number,
    seed,
    node: version,
    passed,
    failed,
    green: status === 0 && passed > 0,
    broken,
  }
}

// Without a report the runner ended before it could write one: nothing passed.
const readReport = (file) =>
  existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { numPassedTests: 0, numFailedTests: 0, testResults: [] }

function tableOf(rows) {
  const head = ['run', 'seed', 'node', 'passed', 'failed', 'green']
  const table = new Table({ head, style: { head: [], border: [] } })
  for (const row of rows) table.push(head.map((name) => String(row[name])))
  return table.toString()
}

function explain({ seed, node, broken }) {
  process.stderr.write(`\nNot green. Replay with Node ${node}: npx vitest run --sequence.seed=${seed}\n`)
  for (const { name, message, assertionResults } of broken) {
    const tests = assertionResults.filter((test) => test.status === 'failed').map((test) => test.fullName)
    process.stderr.write(`  ${name}: ${tests.length === 0 ? message : tests.join('; ')}\n`)
  }
}

function wholeNumber(name, text) {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new Error(`--${name} takes a whole number: ${text}`)
}

const floor = values.on === 'newest' ? [] : Array(runs).fill(engines.node.replace('>=', ''))
const newest = values.on === 'floor' ? [] : ['latest']
const installed = new Map()
const finished = []
try {
  for (const [index, version] of [...floor, ...newest].entries()) {
    if (!installed.has(version)) installed.set(version, installNode(version))
    const { broken, ...row } = runSuite(installed.get(version), firstSeed + index, index + 1)
    finished.push(row)
    if (row.green) continue
    explain({ ...row, broken })
    process.exitCode = 1
    break
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
  process.stdout.write(`\n${tableOf(finished)}\n`)
}
