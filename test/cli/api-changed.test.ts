// A mirror is of one API: what was queued for a rental of the one never reaches the rental of the same number of another.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSandbox, type Sandbox } from '../../sandbox/index.ts'
import { openApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import { openMirror } from '../../src/index.ts'
import { createLogger } from '../../src/log.ts'
import { createPusher } from '../../src/outbox/pusher.ts'
import { apiName } from '../../src/profile/mirrored-api.ts'
import { closedPort } from '../api/http-server.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { isQuick } from '../helpers/extent.ts'
import { openTcpProxy } from '../helpers/tcp-proxy.ts'
import { type CommandLine, errorOf, openCommandLine } from './program.ts'

const settings = { API_AUTH: 'none', API_RATE_LIMIT: '0', PORT: '0', SERVE_LISTEN: '127.0.0.1:0' }

/** Two APIs with the same records under the same ids. */
let ours: Sandbox
let other: Sandbox
let cli: CommandLine
const databases: TestDatabase[] = []

beforeAll(async () => {
  ;[ours, other] = await Promise.all([createSandbox({ size: 6 }), createSandbox({ size: 6 })])
  cli = await openCommandLine(settings)
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
  await Promise.all([ours.close(), other.close(), ...databases.map((each) => each[Symbol.asyncDispose]())])
})

const emptyDatabase = async (): Promise<TestDatabase> => {
  const database = await createTestDatabase()
  databases.push(database)
  return database
}

const at = ({ url }: TestDatabase, apiUrl: string) => ({ DATABASE_URL: url, API_BASE_URL: apiUrl })

async function run(args: string, env: Readonly<Record<string, string>>, code = 0) {
  const ended = await cli.run(args.split(' '), env)
  expect(ended.code, ended.stderr.slice(-2_000)).toBe(code)
  return ended
}

/** A mirror of our API, with a payment queued for one of its rentals. */
async function mirrorWithPayment() {
  const database = await emptyDatabase()
  await run('sync countries', at(database, ours.url))
  const rentalId = Number(ours.truth({ only: ['rentals'] }).rentals?.[0]?.key.id)
  const { rows } = await database.pool.query<{ id: string }>(
    `select outbox.enqueue('rental_payment.add', $1, '{"price": 77, "currency": "EUR", "method": {"id": 1}}') as id`,
    [{ rentalId }],
  )
  return { database, id: String(rows[0]?.id) }
}

const statusOf = async ({ pool }: TestDatabase, id: string): Promise<unknown> =>
  (await pool.query('select status from outbox.queue where id = $1', [id])).rows[0]?.status

describe('a mirror with a payment queued, and the address of another API', () => {
  let database: TestDatabase
  let id = ''
  beforeAll(async () => {
    ;({ database, id } = await mirrorWithPayment())
  })

  it.each([
    ...['push', 'push --dry-run', 'sync countries', 'sync --check countries', 'worker', 'serve'],
    ...['refresh countries --wait', 'runs release 1', 'changes resolve 1 --took-effect'],
  ])('%s asks it nothing, and names both addresses and the ways out', async (command) => {
    other.resetRequests()
    const error = errorOf(await run(command, at(database, other.url), 1))
    expect(error).toBe(
      `The database holds the data of ${ours.url}, and API_BASE_URL is ${other.url}. [API_CHANGED]\n` +
        'Set DATABASE_URL to another database. If it is the same API at a new address, run: boat-mirror moved api',
    )
    expect(other.requests()).toEqual([])
    expect(await statusOf(database, id)).toBe('queued')
  })

  it('check fails, and asks it nothing', async () => {
    other.resetRequests()
    const { stdout } = await run('check', at(database, other.url), 1)
    expect(stdout).toContain(`fail  API            The database holds the data of ${ours.url}`)
    expect(other.requests()).toEqual([])
  })

  it('a program is refused, too', async () => {
    const wrong = openMirror({ databaseUrl: database.url, apiBaseUrl: other.url, apiAuth: 'none' })
    await expect(wrong).rejects.toMatchObject({ code: 'API_CHANGED' })
  })

  it('nor is the sandbox that stands in for an address asked', async () => {
    const error = errorOf(await run('push', { DATABASE_URL: database.url }, 1))
    expect(error).toContain('API_BASE_URL is not set, which stands for the built-in sandbox. [API_CHANGED]')
  })

  it('what only reads the database works, and status says whose data it is', async () => {
    const env = at(database, other.url)
    const { stdout } = await run('status', env)
    expect(stdout).toContain(`API       ${other.url} – not used: the database mirrors ${ours.url}\n`)
    expect(JSON.parse((await run('status --json', env)).stdout).api).toMatchObject({ mirrored: ours.url })
    for (const command of ['runs', `changes show ${id}`, 'quarantine retry --all', 'refresh countries', 'feed'])
      await run(command, env)
  })
})

it('an address in another spelling is the same API', async () => {
  const { database, id } = await mirrorWithPayment()
  await run('push', at(database, `${ours.url.replace('http', 'HTTP')}/v3/`))
  expect(await statusOf(database, id)).toBe('done')
  expect(apiName('HTTPS://Me:secret@API.example.com:443/Boats/')).toBe('https://api.example.com/boats')
  expect(apiName('http://api.example.com:80')).toBe(apiName('http://API.example.com/'))
  expect(apiName('http://api.example.com/a')).not.toBe(apiName('http://api.example.com/b'))
})

it('moved api says that the API has a new address, which then gets what is queued', async () => {
  const { database, id } = await mirrorWithPayment()
  const front = await openTcpProxy(ours.port)
  try {
    const moved = at(database, `http://127.0.0.1:${front.port}`)
    await run('push', moved, 1)
    const facts = JSON.parse((await run('moved api --json', moved)).stdout)
    expect(facts).toEqual({ before: ours.url, after: moved.API_BASE_URL })
    await run('push', moved)
    expect(await statusOf(database, id)).toBe('done')
    // The former address is another API from now on, and what changes nothing is refused.
    await run('push', at(database, ours.url), 1)
    expect(errorOf(await run('moved api', moved, 2))).toContain(`API_BASE_URL is ${moved.API_BASE_URL}. Set it`)
    expect(errorOf(await run('moved api', { DATABASE_URL: database.url }, 2))).toContain(
      'API_BASE_URL is not set. Set it',
    )
    expect((await run('moved api', at(database, ours.url))).stdout).toBe(
      `Before: ${moved.API_BASE_URL}\nNow:    ${ours.url}\n`,
    )
  } finally {
    await front.close()
  }
})

// Four programs one after the other; the tests above show the refusal, and the one below what counts as another API.
it.skipIf(isQuick)('a wrong address does no harm while nothing came from it', async () => {
  const database = await emptyDatabase()
  const dead = `http://127.0.0.1:${await closedPort()}`
  await run('sync countries', at(database, dead), 1)
  const { rows } = await database.pool.query(
    `select outbox.enqueue('user.create', '{}', '{"firstName": "Ada", "lastName": "Lovelace", "email": "ada@example.com"}') as id`,
  )
  {
    const config = readConfig({ ...at(database, dead), API_AUTH: 'none' }, '/nonexistent')
    const log = createLogger('silent')
    await using app = await openApp({ config, log, apiUrl: dead, sandbox: false, schema: 'check', patienceMs: 1_000 })
    const pusher = createPusher(app.pushContext)
    await pusher.runOnce(new AbortController().signal)
    await pusher.close()
  }
  await database.pool.query(`update outbox.queue set next_attempt_at = clock_timestamp()`)
  await run('push', at(database, ours.url))
  expect(await statusOf(database, rows[0].id)).toBe('done')
  await run('push', at(database, other.url), 1)
})

it('a mirror of an earlier version becomes one of the API that its next sync reads', async () => {
  const { database } = await mirrorWithPayment()
  await database.pool.query('update sync.settings set api = null')
  await run('sync countries', at(database, ours.url))
  await run('push', at(database, other.url), 1)
})

it('of two programs that open an empty mirror with two APIs the slower one writes nothing', async () => {
  const database = await emptyDatabase()
  const options = { databaseUrl: database.url, apiAuth: 'none', migrate: true, logLevel: 'silent' } as const
  const slower = await openMirror({ ...options, apiBaseUrl: other.url })
  try {
    await run('sync countries', at(database, ours.url))
    const { runs } = await slower.sync({ streams: ['harbours'] })
    expect(runs).toMatchObject([{ status: 'failed', error: expect.stringContaining('API_BASE_URL is') }])
    expect((await database.pool.query('select from mirror.harbours')).rowCount).toBe(0)
  } finally {
    await slower.close()
  }
})

describe('the first hour: the sandbox, then an API', () => {
  it('a sandbox on another port is the same', async () => {
    const database = await emptyDatabase()
    for (const folder of ['one', 'two'])
      await run('sync countries', { DATABASE_URL: database.url, DATA_DIR: join(cli.folder, folder) })
  })

  it('init says that the folder holds made-up data, and works with another one', async () => {
    await using own = await openCommandLine(settings)
    const trial = { DATA_DIR: join(own.folder, 'trial') }
    expect(await own.run(['sync', 'countries'], trial)).toMatchObject({ code: 0 })
    const answers = `API_BASE_URL=${ours.url}\nAPI_TOKEN=x\n`
    const refused = await own.run(['init'], trial, answers)
    expect(refused).toMatchObject({ code: 1, stdout: expect.stringContaining('the made-up data of the built-in') })
    expect(refused.stdout).toContain(`or stop all commands and delete ${trial.DATA_DIR}.`)
    const live = { DATA_DIR: join(own.folder, 'live') }
    expect(await own.run(['init'], live, answers)).toMatchObject({ code: 0 })
    expect(await readFile(join(own.folder, '.env'), 'utf8')).toContain(`DATA_DIR=${live.DATA_DIR}\n`)
  })
})
