// Clocks that are set: that of a worker's host while it works, and that of the database. Nothing is read by a time that lies
// ahead of the database's clock, and what was all the same is read anew. With `npm run test:all` a worker's clock goes ahead once, back
// once, and over a change to summer time.

import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { streams } from '../../src/catalog/catalog.ts'
import { openDatabase } from '../../src/database/database.ts'
import { noteDatabaseTime } from '../../src/database/database-clock.ts'
import { type CommandLine, openCommandLine, type Started } from '../cli/program.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { isFull } from '../helpers/extent.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'
import { quiet } from '../helpers/rows.ts'

const hour = 3_600_000
const day = 24 * hour
// Two workers read each world: both by the same days.
const few = { PRICE_DAYS: '5', SLOT_DAYS: '1', CALENDAR_YEARS: '1' }

/** Tables with rows whose reading time, or that of their details, lies ahead of the database's clock. */
async function tablesAhead(mirror: TestMirror): Promise<readonly string[]> {
  const found: string[] = []
  const conditions = [...streams.map(({ name }) => [`mirror.${name}`, '_read_at']), ['sync.records', 'detail_read_at']]
  for (const [table, column] of conditions) {
    const { rowCount } = await mirror.app.database.pool.query(
      `select from ${table} where ${column} > clock_timestamp() limit 1`,
    )
    if (rowCount !== 0) found.push(String(table))
  }
  return found
}

describe.runIf(isFull)('the clock of a worker is set while it works', () => {
  let mirror: TestMirror
  let line: CommandLine
  let worker: Started
  let round = 0
  const setClock = async (offsetMs: number): Promise<void> => {
    writeFileSync(join(line.folder, 'clock'), String(offsetMs))
    await new Promise((seen) => setTimeout(seen, 200)) // it looks every 20 ms
  }
  /** By how much the worker said that the clock of Postgres is ahead of its host's, in whole minutes. */
  const saidSkews = (): readonly number[] =>
    [...worker.text().matchAll(/"event":"clock_skew","ms":(-?\d+)/g)].map(([, ms]) => Math.round(Number(ms) / 60_000))
  /** Changes records upstream, queues a change of our own, and lets the worker bring both to their ends. */
  const work = async (): Promise<void> => {
    round++
    const { pool } = mirror.app.database
    const { rows } = await pool.query<{ id: string; rental: string }>(
      `select outbox.enqueue('rental.update', jsonb_build_object('rentalId', id), $1) as id, id as rental
       from (select id from mirror.rentals where _deleted_at is null order by id limit 1) one`,
      [{ referenceId: `round ${round}` }],
    )
    const state = async (): Promise<string | undefined> =>
      (await pool.query<{ status: string }>('select status from outbox.changes where id = $1', [rows[0]?.id])).rows[0]
        ?.status
    await expect.poll(state).toBe('done')
    // A deletion of what we have just written counts only in a later sync: it could be a read that came too early.
    mirror.sandbox.mutateRandomly(
      6,
      round,
      ({ record, op, id }) => record === 'rentals' && op === 'delete' && String(id) === rows[0]?.rental,
    )
    await mirror.sync()
  }

  beforeAll(async () => {
    mirror = await openTestMirror({ size: 6 }, few)
    await mirror.sync()
    await mirror.stopWorker()
    line = await openCommandLine({
      DATABASE_URL: mirror.config.databaseUrl ?? '',
      API_BASE_URL: mirror.sandbox.url,
      API_AUTH: 'none',
      API_RATE_LIMIT: '0',
      PORT: '0',
      ...few,
      NODE_OPTIONS: `--import ${pathToFileURL(resolve('test/helpers/stepping-date.mjs')).href}`,
    })
    const file = join(line.folder, 'clock')
    writeFileSync(file, '0')
    // At its start the worker goes by Paris, and so does everything in it that would ask for local time.
    worker = line.start(['worker'], { WALL_CLOCK_FILE: file, TZ: 'Europe/Paris' })
    await vi.waitFor(() => expect(worker.text()).toContain('Running. Next'), { timeout: 60_000, interval: 100 })
  })
  afterAll(async () => {
    worker?.process.kill('SIGTERM')
    await worker?.ended
    await line?.[Symbol.asyncDispose]()
    await mirror?.[Symbol.asyncDispose]()
  })

  const summerTime = Date.parse('2027-03-28T01:00:00Z') // 02:00 in Paris becomes 03:00
  type ClockStep = readonly [string, () => number]
  const further: readonly ClockStep[] = [
    ['an hour ahead', () => hour],
    ['a day ahead', () => day],
    ['a day back', () => -day],
    ['over a change to summer time', () => summerTime - 2_000 - Date.now()],
  ]
  const steps: readonly ClockStep[] = [['an hour back', () => -hour], ...further]
  for (const [name, offset] of steps)
    it(`${name}, for a while: no row is ahead, and the mirror equals the truth, then and afterwards`, async () => {
      const offsetMs = offset()
      await setClock(offsetMs)
      await work()
      expect(saidSkews()).toContain(Math.round(-offsetMs / 60_000))
      expect(await tablesAhead(mirror)).toEqual([])
      expect(await mirror.differences()).toEqual([])
      await setClock(0)
      await work()
      expect(await mirror.differences()).toEqual([])
    })
})

describe.runIf(isFull)('the clock of the database is set back', () => {
  let mirror: TestMirror
  const all = async <R extends object>(sql: string, values: unknown[] = []): Promise<readonly R[]> =>
    (await mirror.app.database.pool.query<R>(sql, values)).rows
  beforeAll(async () => {
    mirror = await openTestMirror({ size: 20 }, few)
    await mirror.sync()
  })
  afterAll(() => mirror?.[Symbol.asyncDispose]())

  it('rows from the future, whose later reads an older version dropped, are read anew and reported', async () => {
    const [rental] = await all<{ id: string }>(
      `select id from mirror.rentals where _deleted_at is null order by id limit 1`,
    )
    const [before] = await all(`select * from mirror.rentals where id = $1`, [rental?.id])
    mirror.sandbox.mutate([
      { record: 'rentals', op: 'update', id: Number(rental?.id), set: { referenceId: 'while nobody looked' } },
    ])
    await mirror.sync({ streams: ['rentals'] })
    expect(await mirror.differences()).toEqual([])
    // As it was left: the row of before, stamped a day ahead, while what was read since is remembered as known.
    await all(
      `update mirror.rentals set reference_id = $2, _payload = $3, _read_at = now() + interval '1 day' where id = $1`,
      [
        rental?.id,
        (before as { reference_id: string | null }).reference_id,
        JSON.stringify((before as { _payload: unknown })._payload),
      ],
    )
    expect(await mirror.differences()).not.toEqual([])

    const runs = await mirror.sync({ streams: ['rentals'] })
    expect(await mirror.differences()).toEqual([])
    expect(await tablesAhead(mirror)).toEqual([])
    const run = runs.find(({ stream }) => stream === 'rentals')
    expect(run?.warnings.join()).toContain('1 row had a read time ahead of the clock of Postgres')
  })

  for (const interval of ['1 hour', '1 day'])
    it(`by ${interval}: what changes upstream arrives at the next sync`, async () => {
      // A clock that goes back is the same as rows, leases and times that go ahead.
      for (const { name } of streams)
        await all(
          `update mirror.${name} set _read_at = _read_at + $1::interval, _changed_at = _changed_at + $1::interval`,
          [interval],
        )
      await all(
        `update sync.records set detail_read_at = detail_read_at + $1::interval, changed_at = changed_at + $1::interval`,
        [interval],
      )
      mirror.sandbox.mutateRandomly(10, interval.length)
      await mirror.sync()
      expect(await mirror.differences()).toEqual([])
      expect(await tablesAhead(mirror)).toEqual([])
    })

  it('a deletion and a return are told apart from rows of the future, too', async () => {
    const [rental] = await all<{ id: string }>(
      `select id from mirror.rentals where _deleted_at is null order by id desc limit 1`,
    )
    await all(`update mirror.rentals set _read_at = now() + interval '1 hour'`)
    mirror.sandbox.mutate([{ record: 'rentals', op: 'delete', id: Number(rental?.id) }])
    await mirror.sync()
    expect(await mirror.differences()).toEqual([])
  })

  it('leases, due times and waits go back with it, once', async () => {
    await using idle = await createTestDatabase()
    const database = openDatabase({ url: idle.url, applicationName: 'test', max: 2, log: quiet })
    const all = async (sql: string) => (await idle.pool.query(sql)).rows
    expect(await noteDatabaseTime(database)).toBe(0)
    await all(`insert into sync.runs (stream, trigger) values ('harbours', 'test')`)
    await all(
      `insert into sync.tasks (run_id, stream, kind, status, lease_until, woken_at)
       select max(id), 'harbours', 'sweep', 'running', now() + interval '1 hour 5 s', now() + interval '1 hour' from sync.runs`,
    )
    await all(`update sync.streams set next_due_at = now() + interval '1 hour 3 min'`)
    await all(`update sync.pinned set probed_at = now() + interval '1 hour' where key = 'database_clock'`)
    expect(Math.round((await noteDatabaseTime(database)) / 60)).toBe(60)
    expect(await noteDatabaseTime(database)).toBe(0)
    const [left] = await all(
      `select max(lease_until) < now() + interval '1 min' as lease, max(woken_at) < now() + interval '1 min' as wake,
         (select bool_and(next_due_at between now() and now() + interval '4 min') from sync.streams) as due from sync.tasks`,
    )
    expect(left).toEqual({ lease: true, wake: true, due: true })
    await database.close()
  })
})
