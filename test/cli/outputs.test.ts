// Outputs that cannot be written: a reader that has left, a full disk, a descriptor that is closed. What a command does, and with
// what it ends, depends on none of them, but where the output is the result. test/surroundings/built.test.ts has all commands.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import { findFreePort } from '../../src/embedded/connection.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { isQuick } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { openCommandLine, type Unwritable } from './program.ts'

const database = opened(() => createTestDatabase())
const sandbox = opened(() => createSandbox({ size: 2 }))
const cli = opened(() =>
  openCommandLine({
    ...{ DATABASE_URL: database.url, API_BASE_URL: sandbox.url, API_AUTH: 'none', PORT: '0' },
    ...{ SLOT_DAYS: '0', PRICE_DAYS: '0', CALENDAR_YEARS: '0' },
  }),
)
beforeAll(async () => {
  const [user] = sandbox.truth({ only: ['users'] }).users ?? []
  sandbox.mutate([{ record: 'users', op: 'update', id: Number(user?.key.id), set: { deactivated: 'no boolean' } }])
  // With what it ends where it can be read.
  expect((await cli.run(['sync', 'users', 'resources', 'harbours'])).code).toBe(3)
})

// A closed output fails as one that is gone does, with another errno; a worker writes to each in the same way.
const places = isQuick ? (['gone', 'full'] as const) : (['gone', 'full', 'closed'] as const)

const one = async <T>(sql: string, ...values: unknown[]): Promise<T | undefined> =>
  (await database.pool.query(sql, values)).rows[0]?.one
const into = (place: Unwritable, line: string, env: Record<string, string> = {}) =>
  cli.startInto(place, line.split(' '), env).ended

describe.each(places)('with outputs that are %s', (place) => {
  it('a command that works ends as ever; one that looks does too, except for a full disk', async () => {
    const [sync, status, report] = await Promise.all([
      into(place, 'sync users --json'),
      into(place, 'status --exit-code'),
      into(place, 'report fleet --csv'),
    ])
    expect([sync.code, status.code, report.code]).toEqual(place === 'full' ? [3, 1, 1] : [3, 3, 0])
  })

  it('the feed acknowledges nothing that was not written', async () => {
    const name = `reader-${place}`
    const { code } = await into(place, `feed --consumer ${name} --from start --ack printed`)
    expect(code).toBe(place === 'gone' ? 0 : 1)
    expect(await one('select acked_at as one from sync.consumers where name = $1', name)).toBeFalsy()
  })

  it('no secret is kept that was not shown', async () => {
    const resource = await one<string>('select id as one from mirror.resources limit 1')
    const valid = () =>
      one('select (select count(*) from sync.access_tokens) + (select count(*) from sync.calendar_keys) as one')
    const before = await valid()
    const made = await Promise.all([
      into(place, 'access token create shop'),
      into(place, `access calendar ${resource}`),
    ])
    expect(made.map(({ code }) => code)).toEqual([1, 1])
    expect(await valid()).toBe(before)
  })
})

it.each(isQuick ? (['full'] as const) : places)(
  'a worker whose outputs are %s works until it is stopped',
  async (place) => {
    const requests = (): number => sandbox.requests().length
    const before = requests()
    const worker = cli.startInto(place, ['worker'], { LOG_LEVEL: 'debug' })
    await expect
      .poll(() => one('select doing is null as one from sync.workers where pid = $1', worker.process.pid), {
        timeout: 60_000,
      })
      .toBe(true)
    await database.pool.query(`select mirror.refresh('harbours')`)
    await expect.poll(requests).toBeGreaterThan(before)
    worker.process.kill('SIGTERM')
    expect((await worker.ended).code).toBe(0)
  },
)

const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ status }) => status === 200,
    () => false,
  )

describe.each(places)('with outputs that are %s', (place) => {
  it('init writes what works', async () => {
    const environment = { DATABASE_URL: database.url, API_BASE_URL: sandbox.url, API_AUTH: 'none' }
    await using own = await openCommandLine()
    expect((await own.startInto(place, ['init'], environment).ended).code).toBe(0)
    expect(await readFile(join(own.folder, '.env'), 'utf8')).toContain(`API_BASE_URL=${sandbox.url}`)
  })

  it.each([
    ['serve', (port: number) => ({ args: [], env: { SERVE_LISTEN: `127.0.0.1:${port}` }, path: '/v3/harbours' })],
    ['sandbox', (port: number) => ({ args: ['--port', `${port}`], env: {}, path: '/_sandbox/clock' })],
  ])('%s answers until it is stopped', async (command, how) => {
    const port = await findFreePort()
    const { args, env, path } = how(port)
    const started = cli.startInto(place, [command, ...args], { LOG_LEVEL: 'debug', ...env })
    await expect.poll(() => answers(`http://127.0.0.1:${port}${path}`)).toBe(true)
    started.process.kill('SIGTERM')
    expect((await started.ended).code).toBe(0)
  })
})
