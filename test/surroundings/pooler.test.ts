// A connection pooler between the program and Postgres: a real PgBouncer, the program, a sandbox. With `npm run test:all` a worker has its
// queue on Redis behind one of the poolers: what it asks of a pooler then is less than with its queue on Postgres.

import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createSandbox, type Sandbox } from '../../sandbox/index.ts'
import { readConfig } from '../../src/config.ts'
import { type CommandLine, errorOf, openCommandLine, type Started } from '../cli/program.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { isFull } from '../helpers/extent.ts'
import { findPgBouncer, type PgBouncer, type PgBouncerSettings, startPgBouncer } from '../helpers/pgbouncer.ts'
import { differencesFromTruth } from '../helpers/truth.ts'
import { Planner } from '../outbox/plans.ts'
import { ranges } from './ranges.ts'

const program = findPgBouncer()
const redisUrl = inject('redisUrl')
/** The advisory lock of a migrate, which older versions hold, too. */
const migrateLock = '7030520240801'
const patience = { timeout: 90_000, interval: 100 }

type Rig = AsyncDisposable & {
  readonly database: TestDatabase
  readonly bouncer: PgBouncer
  readonly sandbox: Sandbox
  readonly planner: Planner
  readonly cli: CommandLine
  /** Queues a change of a rental through the pooler, as a partner's own system does. */
  enqueue(orderLink: string): Promise<{ readonly id: string; readonly rentalId: number }>
  /** The order link of a rental as the API has it. */
  orderLink(rentalId: number): unknown
}

/** A database that nobody migrated yet, and all that works on it through the pooler. */
async function openRig(settings: PgBouncerSettings, direct: boolean): Promise<Rig> {
  const database = await createTestDatabase({ migrated: false })
  const bouncer = await startPgBouncer(program ?? '', inject('runFolder'), inject('adminUrl'), settings)
  const sandbox = await createSandbox({ size: isFull ? 20 : 10 })
  const planner = new Planner(sandbox)
  const url = bouncer.through(database.url)
  const cli = await openCommandLine({
    DATABASE_URL: url,
    ...(direct ? { DATABASE_DIRECT_URL: database.url } : {}),
    API_BASE_URL: sandbox.url,
    API_AUTH: 'none',
    API_RATE_LIMIT: '0',
    PORT: '0',
    ...ranges,
  })
  return {
    database,
    bouncer,
    sandbox,
    planner,
    cli,
    enqueue: async (orderLink) => {
      const rentalId = planner.rental()
      const id = await asPartner(url, async (client) => {
        const { rows } = await client.query<{ id: string }>('select outbox.enqueue($1, $2, $3) as id', [
          'rental.update',
          { rentalId },
          { orderLink },
        ])
        return String(rows[0]?.id)
      })
      return { id, rentalId }
    },
    orderLink: (rentalId) =>
      sandbox.truth({ only: ['rentals'] }).rentals?.find((row) => row.key.id === rentalId)?.record.orderLink,
    [Symbol.asyncDispose]: async () => {
      await cli[Symbol.asyncDispose]()
      await sandbox.close()
      await bouncer[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}

const differences = ({ database, sandbox }: Rig): Promise<readonly string[]> => {
  const { slotDays, slotDurations, priceDays, calendarYears } = readConfig(ranges, '/nonexistent')
  const truth = sandbox.truthText({ days: slotDays, durations: slotDurations, priceDays, calendarYears })
  return differencesFromTruth(database.pool, truth)
}

async function asPartner<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {}) // fails the query under way
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

const statusOf = async (database: TestDatabase, id: string): Promise<string | undefined> =>
  (await database.pool.query<{ status: string }>('select status from outbox.queue where id = $1', [id])).rows[0]?.status

/** Lines of the log of these events, or of any warning. */
const logged = (started: { text(): string }, events: readonly string[]): string[] =>
  started
    .text()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .filter((line) => events.includes((JSON.parse(line) as { event?: string }).event ?? ''))

const complaints = (started: Started): string[] =>
  started
    .text()
    .split('\n')
    .filter((line) => line.startsWith('{') && (JSON.parse(line) as { level: number }).level >= 40)

async function stopWorker(worker: Started): Promise<void> {
  worker.process.kill('SIGTERM')
  expect((await worker.ended).code).toBe(0)
}

const surroundings = [
  { name: 'PgBouncer, session mode', settings: { pool_mode: 'session' }, direct: false, polls: false },
  // Three server connections for all that a worker opens: a task that held one while waiting for another would never end.
  {
    name: 'PgBouncer, transaction mode',
    settings: { pool_mode: 'transaction', default_pool_size: '3' },
    direct: false,
    polls: true,
  },
  {
    name: 'PgBouncer, transaction mode, with DATABASE_DIRECT_URL',
    settings: { pool_mode: 'transaction', default_pool_size: '3' },
    direct: true,
    polls: false,
  },
] as const

/** Of these the one that forbids most stands for the others in a slice. */
const chosen = surroundings.filter(({ direct, polls }) => isFull || (polls && !direct))

for (const { name, settings, direct, polls } of chosen)
  describe.skipIf(program === undefined)(name, () => {
    let rig: Rig
    beforeAll(async () => {
      rig = await openRig(settings, direct)
      for (const command of ['migrate', 'sync']) {
        const { code, stderr } = await rig.cli.run([command])
        expect({ command, code, stderr }).toMatchObject({ code: 0 })
      }
    })
    afterAll(() => rig[Symbol.asyncDispose]())

    it.runIf(isFull)('a migrate that waits for a lock says so, and ends with SIGTERM', async () => {
      await using rig = await openRig(settings, direct)
      await asPartner(rig.database.url, async (holder) => {
        await holder.query('select pg_advisory_lock($1)', [migrateLock])
        const waiting = rig.cli.start(['migrate'])
        await expect.poll(() => waiting.text(), patience).toMatch(/waits for a lock of pid/)
        waiting.process.kill('SIGTERM')
        expect((await waiting.ended).code).toBe(1)
        const { rows } = await rig.database.pool.query(
          `select pid from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())`,
        )
        expect(rows).toEqual([])
      })
    })

    it('migrate leaves no lock behind', async () => {
      const { code, stderr } = await rig.cli.run(['migrate'])
      expect({ code, stderr }).toMatchObject({ code: 0 })
      const { rows } = await rig.database.pool.query(
        `select pid from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
      )
      expect(rows).toEqual([])
    })

    it('a sync equals the truth', async () => {
      const { code, stderr } = await rig.cli.run(['sync'])
      expect({ code, stderr }).toMatchObject({ code: 0 })
      expect(await differences(rig)).toEqual([])
    })

    it('push settles a change', async () => {
      const { id, rentalId } = await rig.enqueue('https://example.com/pushed')
      const { code, stderr } = await rig.cli.run(['push'])
      expect({ code, stderr }).toMatchObject({ code: 0 })
      expect(await statusOf(rig.database, id)).toBe('done')
      expect(rig.orderLink(rentalId)).toBe('https://example.com/pushed')
    })

    it('the feed gives every change once', async () => {
      const url = rig.bouncer.through(rig.database.url)
      const seqs: string[] = []
      let cursor: string | null = null
      const readOn = async (): Promise<number> => {
        const rows = await asPartner(url, async (client) => {
          const sql = 'select cursor, seq from mirror.changes_since($1, 500)'
          return (await client.query<{ cursor: string; seq: string }>(sql, [cursor])).rows
        })
        seqs.push(...rows.map((row) => row.seq))
        cursor = rows.at(-1)?.cursor ?? cursor
        return rows.length
      }
      const { rows } = await rig.database.pool.query<{ n: string }>('select count(*) as n from mirror.change_log')
      const all = Number(rows[0]?.n)
      // A writing transaction of any database of this server holds the last changes back: other tests have such.
      await expect.poll(async () => (await readOn()) === 0 && seqs.length >= all, patience).toBe(true)
      expect(seqs.length).toBe(all)
      expect(new Set(seqs).size).toBe(seqs.length)
    })

    for (const queue of isFull || direct ? (['Postgres', 'Redis'] as const) : (['Postgres'] as const))
      it.skipIf(!isFull || (queue === 'Redis' && redisUrl === null))(
        `a worker with its queue on ${queue} serves its pages and sends a change at once`,
        async () => {
          const worker = rig.cli.start(['worker'], queue === 'Redis' ? { REDIS_URL: redisUrl ?? '' } : {})
          await expect.poll(() => worker.text(), patience).toMatch(/Running. Next/)
          const [, page] = /Pages +(http\S+)/.exec(worker.text()) ?? []
          expect(await (await fetch(`${page}/`)).text()).toContain('rentals')
          expect((await fetch(`${page}/readyz`)).status).toBe(200)
          const { id, rentalId } = await rig.enqueue(`https://example.com/${queue}`)
          await expect.poll(() => statusOf(rig.database, id), patience).toBe('done')
          expect(rig.orderLink(rentalId)).toBe(`https://example.com/${queue}`)
          expect(logged(worker, ['transaction_pooler'])).toHaveLength(polls ? 1 : 0)
          expect(complaints(worker)).toEqual([])
          await stopWorker(worker)
        },
      )

    it('check says what it found', async () => {
      const { code, stdout } = await rig.cli.run(['check'])
      expect(code).toBe(0)
      expect(stdout).toMatch(/ok +queue/)
      if (direct)
        expect(stdout).toMatch(/ok +pooler +DATABASE_URL points to a transaction pooler; .*use DATABASE_DIRECT_URL/)
      else if (polls) expect(stdout).toMatch(/warn +pooler +a transaction pooler: notifications do not pass through it/)
      else expect(stdout).toMatch(/ok +pooler +a session pooler: everything works/)
    })

    it('whoever is given the connections next finds no settings and no notifications of ours', async () => {
      const { rows } = await asPartner(rig.bouncer.through(rig.database.url), (client) =>
        client.query(
          `select current_setting('statement_timeout') as statement, current_setting('search_path') as path,
             current_setting('idle_in_transaction_session_timeout') as idle, array(select pg_listening_channels()) as channels`,
        ),
      )
      expect(rows).toEqual([{ statement: '0', path: '"$user", public', idle: '0', channels: [] }])
      const unwanted = /packet 'A' from server when not linked|unsupported startup parameter/ // A: a notification
      const lines = rig.bouncer.log().split('\n')
      expect(lines.filter((line) => unwanted.test(line))).toEqual([])
    })
  })

describe.skipIf(program === undefined || !isFull)(
  'PgBouncer, transaction mode, two server connections for three workers',
  () => {
    it('nobody waits for a connection that a waiting one holds', async () => {
      await using rig = await openRig({ pool_mode: 'transaction', default_pool_size: '2' }, false)
      expect((await rig.cli.run(['migrate'])).code).toBe(0)
      const workers = [1, 2, 3].map(() => rig.cli.start(['worker']))
      for (const worker of workers) await expect.poll(() => worker.text(), patience).toMatch(/Running. Next/)
      expect(await differences(rig)).toEqual([])
      for (const worker of workers) await stopWorker(worker)
      expect(workers.flatMap(complaints)).toEqual([])
    })
  },
)

describe.skipIf(program === undefined)('PgBouncer, statement mode', () => {
  it('is refused by its own words', async () => {
    await using rig = await openRig({ pool_mode: 'statement' }, false)
    const ended = await rig.cli.run(['migrate'])
    expect(ended.code).toBe(1)
    expect(errorOf(ended)).toMatch(/statement pooling mode \(08P01\).*\[DATABASE_UNREACHABLE\]\n.*a pooler answers/s)
  })
})

describe('DATABASE_DIRECT_URL', () => {
  it('without DATABASE_URL stops the start', async () => {
    await using cli = await openCommandLine({ DATABASE_DIRECT_URL: 'postgres://127.0.0.1/boats' })
    const ended = await cli.run(['sync'])
    expect(ended.code).toBe(2)
    expect(errorOf(ended)).toMatch(/DATABASE_DIRECT_URL is set, but DATABASE_URL is not.* \[CONFIG_INVALID\]/)
  })

  it('that leads to another database stops every command that would use it, even if that one is a copy', async () => {
    await using database = await createTestDatabase()
    await using other = await createTestDatabase() // made from the same template: same tables, same installation
    await using cli = await openCommandLine({ DATABASE_URL: database.url, DATABASE_DIRECT_URL: other.url })
    for (const args of [['sync'], ['worker'], ['push'], ['migrate']]) {
      const ended = await cli.run(args)
      expect({ args, code: ended.code }).toEqual({ args, code: 2 })
      expect(errorOf(ended)).toMatch(/leads to another database than DATABASE_URL .*\[CONFIG_INVALID\]/)
    }
    expect((await cli.run(['check'])).stdout).toMatch(/fail +database .*another database/)
  })

  it('that leads nowhere is named in the message', async () => {
    await using database = await createTestDatabase()
    await using cli = await openCommandLine({
      DATABASE_URL: database.url,
      DATABASE_DIRECT_URL: 'postgres://127.0.0.1:1/x',
    })
    const ended = await cli.run(['migrate'])
    expect(ended.code).toBe(1)
    expect(errorOf(ended)).toMatch(
      /No connection to the database \(DATABASE_DIRECT_URL .*correct host and port in DATABASE_DIRECT_URL/s,
    )
  })
})
