// What commands write to their log: one line for each run that changed something, and the error that ends a command.

import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import { errorOf, openCommandLine } from '../cli/program.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { findOnPath } from '../helpers/redis-server.ts'

type Line = { readonly level: string; readonly time: string; readonly event: string; readonly msg: string }

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
