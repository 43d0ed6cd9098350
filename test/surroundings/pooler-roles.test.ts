// Everybody who comes through a pooler in transaction mode: a program with the library, partners with roles of their own,
// and many readers of the feed, over two server connections for each role: a thousand with `npm run surroundings`.

import { randomBytes } from 'node:crypto'
import { Kysely, PostgresDialect, sql } from 'kysely'
import { Client, Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { createSandbox, type Sandbox } from '../../sandbox/index.ts'
import { changes, enqueue, type MirrorDatabase } from '../../src/client.ts'
import { type Mirror, openMirror } from '../../src/library.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { isFull } from '../helpers/extent.ts'
import { findPgBouncer, type PgBouncer, startPgBouncer } from '../helpers/pgbouncer.ts'
import { differencesFromTruth } from '../helpers/truth.ts'
import { Planner } from '../outbox/plans.ts'

const program = findPgBouncer()
const mark = randomBytes(6).toString('hex')
const password = 'a'.repeat(12)
/** A role that logs in, by the role it is a member of. */
const logins = {
  boat_mirror_partner: `partner_${mark}`,
  boat_mirror_enqueue: `enqueue_${mark}`,
  boat_mirror_reader: `reader_${mark}`,
} as const
const ranges = { priceDays: 3, slotDays: 1, calendarYears: 0 } as const
const truthRanges = { days: ranges.slotDays, priceDays: ranges.priceDays, calendarYears: ranges.calendarYears }
const readersAtOnce = 1_000
const patience = { timeout: 60_000, interval: 200 }

describe.skipIf(program === undefined || !isFull)('PgBouncer, transaction mode, roles of their own', () => {
  let database: TestDatabase
  let bouncer: PgBouncer
  let sandbox: Sandbox
  let mirror: Mirror
  let planner: Planner

  beforeAll(async () => {
    database = await createTestDatabase()
    for (const [group, login] of Object.entries(logins))
      await database.pool.query(`create role ${login} login password '${password}' in role ${group}`)
    const settings = { pool_mode: 'transaction', default_pool_size: '2', max_client_conn: '1100' } as const
    const roles = Object.fromEntries(Object.values(logins).map((login) => [login, password]))
    bouncer = await startPgBouncer(program ?? '', inject('runFolder'), inject('adminUrl'), settings, roles)
    await database.pool.query(`grant boat_mirror_enqueue to ${logins.boat_mirror_partner}`)
    sandbox = await createSandbox({ size: 20 })
    planner = new Planner(sandbox)
    mirror = await openMirror({
      databaseUrl: bouncer.through(database.url),
      apiBaseUrl: sandbox.url,
      apiAuth: 'none',
      ...ranges,
      apiRateLimit: 2_000, // so that the budget is lent through the pooler as well
    })
    const { runs } = await mirror.sync()
    expect(runs.filter(({ status }) => status !== 'done')).toEqual([])
  })
  afterAll(async () => {
    await mirror.close()
    await sandbox.close()
    await bouncer[Symbol.asyncDispose]()
    const names = Object.values(logins).join(', ')
    await database.pool.query(`drop owned by ${names}; drop role ${names}`)
    await database[Symbol.asyncDispose]()
  })

  /** The address of the pooler for a login. */
  const addressOf = (login: string): string =>
    Object.assign(new URL(bouncer.through(database.url)), { username: login, password }).href

  /** Kysely with a pool of its own, as a partner's program has it. */
  const as = async <T>(login: string, work: (db: Kysely<MirrorDatabase>) => Promise<T>): Promise<T> => {
    const pool = new Pool({ connectionString: addressOf(login), max: 4 })
    const db = new Kysely<MirrorDatabase>({ dialect: new PostgresDialect({ pool }) })
    return work(db).finally(() => db.destroy())
  }

  it('a first sync of the library equals the truth, and its limit is lent through the pooler', async () => {
    expect(await differencesFromTruth(database.pool, sandbox.truthText(truthRanges))).toEqual([])
    const { rows } = await database.pool.query('select last_value > 1 as lent from sync.requests_lent_until')
    expect(rows).toEqual([{ lent: true }])
  })

  it('roles that may enqueue, alone or as partners, queue changes in transactions, which push settles', async () => {
    const queued = [logins.boat_mirror_enqueue, logins.boat_mirror_partner].map((login) =>
      as(login, async (db) => {
        const ids = Array.from({ length: 5 }, (_, n) =>
          db.transaction().execute((trx) =>
            enqueue(trx, {
              operation: 'rental.update',
              target: { rentalId: planner.rental() },
              body: { orderLink: `https://example.com/${n}` },
            }),
          ),
        )
        return await Promise.all(ids)
      }),
    )
    const ids = (await Promise.all(queued)).flat()
    const { changes: pushed } = await mirror.push()
    for (const id of ids) expect(pushed.find((change) => String(change.id) === id)).toMatchObject({ status: 'done' })
    const own = await as(logins.boat_mirror_enqueue, (db) =>
      db.selectFrom('outbox.changes').select('status').where('id', 'in', ids.slice(0, 5)).execute(),
    )
    expect(own).toEqual(Array.from({ length: 5 }, () => ({ status: 'done' })))
  })

  it('a partner reads the feed by a consumer of its own, acknowledges, and goes on there', async () => {
    const read = (consumer: string, most: number) =>
      as(logins.boat_mirror_partner, async (db) => {
        const seqs: string[] = []
        const feed = changes(db, { consumer })
        for await (const { seq, cursor } of feed) {
          seqs.push(seq)
          if (seqs.length < most) continue
          await db.transaction().execute((trx) => feed.ack(cursor, trx))
          break
        }
        return seqs
      })
    // A writing transaction of any database of this server holds the last changes back: other tests have such.
    await vi.waitFor(async () => expect(await read(`late_${mark}`, 100)).toHaveLength(100), patience)
    const [first, second] = [await read(`own_${mark}`, 50), await read(`own_${mark}`, 50)]
    expect(new Set([...first, ...second]).size).toBe(100)
  })

  it('a refresh that a partner asks for is the one that the library carries out', async () => {
    const key = { id: planner.rental() }
    const asked = await as(logins.boat_mirror_partner, (db) =>
      sql<{ id: string }>`select mirror.refresh('rentals', ${JSON.stringify(key)}::jsonb) as id`.execute(db),
    )
    const { id, state } = await mirror.refresh('rentals', { key })
    expect({ id: String(id), state }).toEqual({ id: String(asked.rows[0]?.id), state: 'done' })
  })

  it('a reader sees reports, and no personal table', async () => {
    await as(logins.boat_mirror_reader, async (db) => {
      expect((await db.selectFrom('report.freshness').selectAll().execute()).length).toBeGreaterThan(0)
      await expect(db.selectFrom('mirror.users').selectAll().execute()).rejects.toThrow(/permission denied/)
    })
  })

  it(`${readersAtOnce} readers of the feed are one query each, on the two server connections of their role`, async () => {
    const { rows: all } = await database.pool.query<{ cursor: string }>(
      'select cursor from mirror.changes_since(null, 500)',
    )
    const query = `select cursor, seq from mirror.changes_since('${all.at(-1)?.cursor}', 10)`
    const readers = await Promise.all(
      Array.from({ length: readersAtOnce }, async () => {
        const client = new Client({ connectionString: addressOf(logins.boat_mirror_partner) })
        await client.connect()
        return client
      }),
    )
    try {
      const most = { connections: 0 }
      const watch = setInterval(async () => {
        const { rows } = await database.pool.query<{ n: number }>(
          'select count(*)::int as n from pg_stat_activity where usename = $1',
          [logins.boat_mirror_partner],
        )
        most.connections = Math.max(most.connections, rows[0]?.n ?? 0)
      }, 50)
      const answers = await Promise.all(readers.map((reader) => reader.query<{ seq: string }>(query)))
      clearInterval(watch)
      const first = answers[0]?.rows.map(({ seq }) => seq)
      expect(first).toHaveLength(10)
      for (const { rows } of answers) expect(rows.map(({ seq }) => seq)).toEqual(first)
      expect(most.connections).toBeGreaterThan(0)
      expect(most.connections).toBeLessThanOrEqual(2)
    } finally {
      await Promise.all(readers.map((reader) => reader.end()))
    }
  })
})
