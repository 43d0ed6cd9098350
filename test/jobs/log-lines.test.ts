// What a worker says in its log: a line for a run that changed something, one an hour of all the rest.

import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { pino } from 'pino'
import { describe, expect, it, vi } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import { takeLineTurn } from '../../src/database/senders.ts'
import type { Queryable } from '../../src/database/sql.ts'
import type { AttentionItem } from '../../src/inspect/status.ts'
import { startHourlyLine } from '../../src/jobs/hourly-line.ts'
import { errorOf, openCommandLine } from '../cli/program.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { findOnPath } from '../helpers/redis-server.ts'

type Line = { readonly level: string; readonly time: string; readonly event: string; readonly msg: string }

describe('the hourly line', () => {
  const held: AttentionItem = {
    kind: 'held',
    about: ['rentals'],
    since: null,
    message: 'rentals: 40 deletions wait.',
    commands: [],
  }
  /** A worker's hourly lines, where hours are short. */
  const openWorker = (db: Queryable, read: () => Promise<readonly AttentionItem[]>, everyMs: number) => {
    const lines: { event: string; msg: string }[] = []
    const log = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line)) })
    const { stop } = startHourlyLine({ db, owner: 'host:1:a', read, log, everyMs, checkEveryMs: 1 })
    return { lines, stop }
  }

  it('says that all is well, or what is not', async () => {
    await using database = await createTestDatabase()
    const answers = [async () => [], async () => [held], () => Promise.reject(new Error('no connection'))]
    const worker = openWorker(database.pool, () => answers.shift()?.() ?? Promise.resolve([]), 1)
    await vi.waitFor(() => expect(worker.lines.length).toBeGreaterThan(2), { timeout: 60_000 })
    await worker.stop()
    expect(worker.lines.slice(0, 3).map(({ event, msg }) => `${event}: ${msg}`)).toEqual([
      'well: healthy: nothing needs your attention',
      'needs_person: needs your attention: rentals: 40 deletions wait.',
      'state_unknown: cannot determine now whether anything needs attention',
    ])
  })

  it('is said by one of several workers, and by another once the hour is over', async () => {
    await using database = await createTestDatabase()
    const owners = Array.from({ length: 8 }, (_, index) => `host:${index}:a`)
    const said = async (): Promise<number> => {
      const turns = await Promise.all(owners.map((owner) => takeLineTurn(database.pool, owner, 3_600_000)))
      return turns.filter(Boolean).length
    }
    expect([await said(), await said()]).toEqual([1, 0])
    await database.pool.query(`update sync.senders set delivered_at = delivered_at - interval '1 h'`)
    expect([await said(), await said()]).toEqual([1, 0])
  })

  it('is left to who said it within the hour', async () => {
    await using database = await createTestDatabase()
    await database.pool.query(`insert into sync.senders (name, delivered_at) values ('log', now() + interval '1 h')`)
    let looks = 0
    const query = ((...args: Parameters<typeof database.pool.query>) => {
      looks += 1
      return database.pool.query(...args)
    }) as typeof database.pool.query
    const worker = openWorker({ query }, async () => [], 1)
    await vi.waitFor(() => expect(looks).toBeGreaterThan(3), { timeout: 60_000 })
    expect(worker.lines).toEqual([])
    await database.pool.query(`update sync.senders set delivered_at = now() - interval '1 h'`)
    await vi.waitFor(() => expect(worker.lines[0]?.event).toBe('well'), { timeout: 60_000 })
    await worker.stop()
  })
})

it('a sync without a terminal writes nothing but lines of the log on stderr, one for each stream that changed', async () => {
  await using database = await createTestDatabase()
  await using sandbox = await createSandbox({ size: 5 })
  await using cli = await openCommandLine({ DATABASE_URL: database.url, API_BASE_URL: sandbox.url, API_AUTH: 'none' })
  const lines = async (): Promise<readonly Line[]> => {
    const { stderr } = await cli.run(['sync', 'harbours', 'types'])
    return stderr
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  }
  const [first, second] = [await lines(), await lines()]
  const runs = first.filter(({ event }) => event === 'run_finished')
  expect(runs.map(({ msg }) => msg.replace(/:.*/, '')).sort()).toEqual(['harbours', 'types'])
  expect(runs[0]?.msg).toMatch(/^\w+: done, \d+ read, \d+ inserted, \d+ requests, [\d.]+ s$/)
  expect(first.every(({ level, time }) => level === 'info' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(time))).toBe(true)
  expect(second.filter(({ event }) => event === 'run_finished')).toEqual([])
})

describe('an error that ends a command', () => {
  const unreachable = { DATABASE_URL: 'postgres://127.0.0.1:1/boats' }
  const wrong = { ...unreachable, API_PAGING: 'pages' }
  const cases = [
    ...['worker', 'sync', 'push', 'migrate', 'report fleet'].map((command) => ({
      command,
      env: unreachable,
      exit: 1,
      says: /^No connection to the database .* \[DATABASE_UNREACHABLE\]\nStart Postgres/,
    })),
    { command: 'worker', env: wrong, exit: 2, says: /^API_PAGING is "pages". It must be .* \[CONFIG_INVALID\]\n$/ },
    { command: 'report boats', env: {}, exit: 2, says: /^There is no report "boats"\. \[USAGE\]\nReports are fleet, / },
  ]
  it.each(cases)(
    'is the last line of the log without a terminal: $command, $exit',
    async ({ command, env, exit, says }) => {
      await using cli = await openCommandLine(env)
      const ended = await cli.run(command.split(' '))
      const lines = ended.stderr.trimEnd().split('\n')
      expect(lines.map((line) => Object.keys(JSON.parse(line)).slice(0, 3))).toEqual(
        lines.map(() => ['level', 'time', 'event']),
      )
      expect(errorOf(ended)).toMatch(says)
      expect(ended).toMatchObject({ code: exit, stdout: '' })
    },
  )

  it('is text on a terminal', async (test) => {
    const script = findOnPath('script')
    if (script === undefined) return test.skip('there is no script, which gives a terminal')
    await using cli = await openCommandLine()
    const program = `${process.execPath} ${resolve('dist/src/cli/main.js')} sync`
    const { stdout, status } = spawnSync(script, ['-qec', program, '/dev/null'], {
      cwd: cli.folder,
      env: { PATH: process.env.PATH, ...unreachable },
      encoding: 'utf8',
    })
    expect(stdout).toMatch(/^boat-mirror: .* \[DATABASE_UNREACHABLE\]\r\n\w/)
    expect(status).toBe(1)
  })
})
