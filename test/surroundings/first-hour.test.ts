// The first hour as README.md describes it: its commands in an empty clone, in their order, and what a reader sees then has the
// shape of what the document shows. `npm run surroundings` runs it: it installs every package.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { findPsql } from '../helpers/psql.ts'

const execute = promisify(execFile)

const psql = findPsql()

/** Slow machines install packages for minutes. */
const limit = 1_200_000

const clone = join(inject('runFolder'), 'first-hour')
let readme = ''
let worker: ChildProcess | undefined
/** What the worker has printed. */
let seen = ''
beforeAll(async () => {
  await execute('git', ['clone', '--quiet', '.', clone])
  readme = await readFile(join(clone, 'README.md'), 'utf8')
}, limit)
afterAll(async () => {
  const { pid, exitCode, signalCode } = worker ?? {}
  if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL')
  await rm(clone, { recursive: true, force: true })
})

/** A reader's environment: nothing is set, except another port than that of a worker that may run here. */
const { PATH = '', HOME = '' } = process.env
const env = { PATH, HOME, PORT: '0' }

const sectionOf = (heading: string): string => readme.split(/^## /m).find((part) => part.startsWith(heading)) ?? ''
const blocksOf = (heading: string, language: string): string[] =>
  [...sectionOf(heading).matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].flatMap(([, name, text = '']) =>
    name === language ? [text] : [],
  )

/** Types lines into the shell, which the last command may read on. */
const type = async (lines: string): Promise<string> => {
  const shell = execute('sh', ['-e', '-c', 'exec sh -e -s 2>&1'], { cwd: clone, env, maxBuffer: 2 ** 24 })
  shell.child.stdin?.end(lines)
  return (await shell).stdout
}
const openSql = 'npm run cli -- db psql'
const ask = async (sql: string): Promise<string> => await type(`${openSql} <<'END'\n${sql}\nEND\n`)

const kinds: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['number', /^-?\d+(\.\d+)?$/],
  ['month', /^\d{4}-\d\d$/],
  ['moment', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/],
  ['currency', /^[A-Z]{3}$/],
  ['record', /^[a-z]+:\d+$/],
]
const kindOf = (cell: string): string => kinds.find(([, pattern]) => pattern.test(cell))?.[0] ?? 'text'

/** Names and kinds of the columns of a table, whose rows are all alike: as psql or as a command prints it. */
function shapeOf(text: string): readonly (readonly string[])[] {
  const cut = (line: string): string[] =>
    (line.includes('|') ? line.split('|') : line.split(/ {2,}/)).map((cell) => cell.trim())
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !/^-[-+]+$|^\(\d+ rows?\)$/.test(line))
  const [head = '', ...rows] = lines
  expect(rows.length, text).toBeGreaterThan(0)
  return [cut(head), ...new Set(rows.map((row) => JSON.stringify(cut(row).map(kindOf))))].map((line) =>
    typeof line === 'string' ? JSON.parse(line) : line,
  )
}

/** The tables that psql printed, without what npm says first. */
const tablesIn = (output: string): string[] =>
  output
    .split(/(?<=\(\d+ rows?\)\n)/)
    .flatMap((part) => /^.*\n[-+]{3,}\n[\s\S]*\)\n/m.exec(part)?.[0].trimStart() ?? [])

describe('README.md, from its first command to its last', { shuffle: false }, () => {
  it(
    'starts, without a warning, and says when the first sync is done',
    async () => {
      const [start = ''] = blocksOf('Start', 'sh')
      expect(start).toBe('npm ci\nnpm start\n')
      expect(await type('npm ci\n')).not.toMatch(/EBADENGINE|deprecated|vulnerabilit/)
      worker = spawn('npm', ['start'], { cwd: clone, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
      for (const stream of [worker.stdout, worker.stderr])
        stream?.setEncoding('utf8').on('data', (text) => (seen += text))
      await expect.poll(() => seen, { timeout: limit, interval: 500 }).toMatch(/First sync done/)
      expect(seen).toMatch(/^Pages +http:\/\/127\.0\.0\.1:\d+$/m)
      expect(seen).not.toMatch(/"level":"(error|fatal)"/)
    },
    limit,
  )

  it.skipIf(psql === undefined)(
    'answers the questions in tables of the shape that is shown',
    async () => {
      const heading = 'Five minutes with SQL'
      expect(blocksOf(heading, 'sh')).toEqual([`${openSql}\n`])
      const answers = blocksOf(heading, 'text')
      expect(answers.length).toBeGreaterThan(1)
      const questions = blocksOf(heading, 'sql')
      for (const [index, answer] of answers.entries())
        expect(tablesIn(await ask(questions[index] ?? '')).map(shapeOf)).toEqual([shapeOf(answer)])
      const more = questions.slice(answers.length).join('\n')
      const tables = tablesIn(await ask(more))
      expect(tables).toHaveLength(more.match(/;$/gm)?.length ?? 0)
      for (const table of tables) shapeOf(table)
    },
    limit,
  )

  it.skipIf(psql === undefined)(
    'sends a change that is queued, and shows it as the document does',
    async () => {
      const [sql = ''] = blocksOf('Write back', 'sql')
      const [done = ''] = blocksOf('Write back', '')
      const [, queued = ''] = tablesIn(await ask(sql))
      expect(shapeOf(queued)).toEqual(shapeOf(done))
      expect(queued).toMatch(/queued|sending|done/)
      const [, again = ''] = sql.split(/(?<=;)\n\n/)
      await expect
        .poll(async () => tablesIn(await ask(again))[0], { timeout: limit, interval: 500 })
        .toMatch(/\| done$/m)
      expect(shapeOf(tablesIn(await ask(again))[0] ?? '')).toEqual(shapeOf(done))
    },
    limit,
  )

  it(
    'checks the settings, and ends with Ctrl-C',
    async () => {
      expect(sectionOf('Connect your API')).toContain('`npm run cli -- check`')
      expect(await type('npm run cli -- check\n')).toMatch(/ok/i)
      const ended = new Promise((resolve) => worker?.once('close', resolve))
      if (worker?.pid !== undefined) process.kill(-worker.pid, 'SIGINT')
      await ended // npm ends by the signal itself, and its outputs close with the worker
      expect(seen).toMatch(/"event":"stopping"/)
      expect(seen).not.toMatch(/"level":"(error|fatal)"/)
    },
    limit,
  )
})
