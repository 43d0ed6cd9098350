// The schedule on both backends: what is wanted is there once, what was dropped is gone, what was missed is made up once.

import { describe, expect, inject, it } from 'vitest'
import { openBackend } from '../../src/jobs/backend.ts'
import { type QueueBackend, scheduleQueue } from '../../src/jobs/queues.ts'
import { applySchedule, effectiveIntervals, requestFirstSync, tick, wantedIntervals } from '../../src/jobs/schedule.ts'
import { startScheduledWorker, startSyncWorker } from '../../src/jobs/worker.ts'
import { createLogger } from '../../src/log.ts'
import { entries, readProfile } from '../../src/profile/profile.ts'
import { overdueTurns, takeTurn } from '../../src/sync/due/stream-state.ts'
import { streamsToRead } from '../../src/sync/plan.ts'
import { isQuick } from '../helpers/extent.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'

const backends = [
  { name: 'Postgres', env: {} },
  { name: 'Redis', env: inject('redisUrl') === null ? null : { REDIS_URL: String(inject('redisUrl')) } },
] as const

const open = (mirror: TestMirror): Promise<QueueBackend> => mirror.app.openQueue(new AbortController().signal)

/** Of streams that are not the point, as if they had been read: a worker begins with what was never read. */
const countAsRead = ({ app }: TestMirror): Promise<unknown> =>
  app.database.pool.query(
    `update sync.streams set as_of = now(), last_run_id = (select max(id) from sync.runs) where last_run_id is null`,
  )

/** Waits until a question is answered with yes. */
async function until(question: () => Promise<boolean>): Promise<void> {
  while (!(await question())) await new Promise((resolve) => setTimeout(resolve, 50))
}

for (const { name, env } of backends)
  describe.skipIf(env === null)(`the schedule on ${name}`, () => {
    it('holds each wanted stream once, even when several workers set it at the same time, and drops what is dropped', async () => {
      await using mirror = await openTestMirror({ size: 5 }, env ?? {})
      const queue = await (await open(mirror)).openQueue(scheduleQueue)
      const wanted = wantedIntervals(mirror.config)
      const { database } = mirror.app
      await Promise.all([1, 2, 3].map(() => applySchedule(database, queue, { intervals: wanted }, {})))
      const schedulers = await queue.getJobSchedulers(0, -1)
      expect(schedulers.map((each) => each.key).sort()).toEqual([...wanted.keys()].sort())
      const fewer = new Map([...wanted].filter(([stream]) => stream !== 'rentals'))
      await applySchedule(database, queue, { intervals: fewer }, {})
      expect((await queue.getJobSchedulers(0, -1)).map((each) => each.key)).not.toContain('rentals')
      const { rows } = await database.pool.query<{ interval_s: string | null }>(
        `select interval_s from sync.streams where stream = 'rentals'`,
      )
      expect(rows).toEqual([{ interval_s: null }])
      await queue.close()
    })

    // A whole first sync; what schedules it is the same, whatever the queue.
    it.skipIf(isQuick && name === 'Redis')(
      'starts the first complete sync on an empty mirror, keeps to its intervals, and stops when told to',
      async () => {
        await using mirror = await openTestMirror({ size: 5 }, env ?? {})
        const { app, config } = mirror
        const backend = await open(mirror)
        const quick = { ...config, schedules: { countries: 1_000 } }
        const worker = await startScheduledWorker({
          context: app.syncContext,
          backend,
          log: app.log,
          config: quick,
          ratePerSecond: 0,
          listenUrl: app.databaseUrl,
        })
        await until(async () => {
          const { rows } = await app.database.pool.query<{ runs: number; open: number }>(
            `select (select count(*)::int from sync.runs where stream = 'countries' and trigger = 'schedule' and status = 'done') as runs,
             (select count(*)::int from sync.requests where trigger = 'first' and finished_at is null) as open`,
          )
          return (rows[0]?.runs ?? 0) >= 2 && rows[0]?.open === 0
        })
        expect(await mirror.differences()).toEqual([])
        const hearing = `select 1 from pg_stat_activity where application_name = 'boat-mirror listen boat_mirror_refresh' and datname = current_database()`
        expect((await app.database.pool.query(hearing)).rowCount).toBe(1)
        await worker.stop()
        const overlapping = await app.database.pool.query(
          `select 1 from sync.runs a join sync.runs b on a.stream = b.stream and a.id < b.id and b.started_at < a.finished_at`,
        )
        expect(overlapping.rowCount).toBe(0)
      },
    )
  })

describe('a worker that finds the windows of a list to be honoured', () => {
  it('makes the sweeps of the whole list rarer at once', async () => {
    await using mirror = await openTestMirror({ size: 5 }, { READ_ECONOMY: 'off' })
    const { app, config } = mirror
    await mirror.sync({ streams: ['rentals', 'rental_options'] })
    await countAsRead(mirror)
    const { pool } = app.database
    const worker = await startScheduledWorker({
      ...{ context: app.syncContext, backend: await open(mirror), log: app.log },
      ...{ config, ratePerSecond: 0.5 },
    })
    /** How many times as long it is as that of a stream with the same wish. */
    const times = async (): Promise<number> => {
      const { rows } = await pool.query<{ times: number | null }>(
        `select (r.interval_s / o.interval_s)::float8 as times from sync.streams r, sync.streams o
         where r.stream = 'rentals' and o.stream = 'rental_options'`,
      )
      return rows[0]?.times ?? 0
    }
    await until(async () => (await times()) > 0)
    expect(await times()).toBe(1)
    await (await readProfile(pool)).found(entries.windows, 'rentals', { honoured: true })
    await until(async () => (await times()) > 1)
    await worker.stop()
  })
})

it('a complete run that a command made counts, and the windows are tried before the list is read again', async () => {
  await using mirror = await openTestMirror({ size: 5 })
  const { pool } = mirror.app.database
  const queue = await (await open(mirror)).openQueue(scheduleQueue)
  const every = (seconds: number) =>
    applySchedule(mirror.app.database, queue, { intervals: new Map([['rentals', seconds * 1_000]]) }, {})
  const due = async () => {
    const { rows } = await pool.query<{ s: number; read: Date }>(
      `select round(extract(epoch from next_due_at - as_of))::int as s, as_of as read from sync.streams where stream = 'rentals'`,
    )
    return rows[0] ?? { s: 0, read: new Date(0) }
  }
  await mirror.sync({ streams: ['rentals'] })
  await every(600)
  const first = await due()
  expect(first.s).toBe(600)
  // A longer interval counts from the same moment, and so does another run by a command.
  await every(3_600)
  expect(await due()).toEqual({ ...first, s: 3_600 })
  await mirror.sync({ streams: ['rentals'] })
  const second = await due()
  expect(second.s).toBe(3_600)
  expect(second.read.getTime()).toBeGreaterThan(first.read.getTime())
  await pool.query(`update sync.streams set next_due_at = now() - interval '1 s' where stream = 'rentals'`)
  const context = { ...mirror.app.syncContext, onTasks: () => {} }
  expect(await tick(context, 'rentals', mirror.app.log)).toBe('asked')
  expect((await pool.query('select hot from sync.requests where finished_at is null')).rows).toEqual([{ hot: true }])
  await queue.close()
})

describe('a worker that begins after a pause', () => {
  it('runs what is overdue first, the longest overdue before the others', async () => {
    await using mirror = await openTestMirror({ size: 5 }, { READ_ECONOMY: 'off' })
    const { app, config } = mirror
    await mirror.sync({ streams: ['harbours'] })
    await countAsRead(mirror)
    const { pool } = app.database
    const wanted = await effectiveIntervals(app.database, wantedIntervals(config), 0)
    const queue = await (await open(mirror)).openQueue(scheduleQueue)
    await applySchedule(app.database, queue, { intervals: wanted }, {})
    await queue.close()
    const overdue = ['users', 'harbours', 'resources', 'companies']
    await pool.query(
      `update sync.streams set hot_next_due_at = clock_timestamp() + interval '1 hour', next_due_at = case
         when stream = any($1) then clock_timestamp() - interval '5 min' + array_position($1, stream) * interval '1 s'
         else clock_timestamp() + interval '1 hour' end`,
      [overdue],
    )
    const { rows: known } = await pool.query<{ id: string }>('select max(id) as id from sync.runs')
    const worker = await startScheduledWorker({
      ...{ context: app.syncContext, backend: await open(mirror), log: app.log },
      ...{ config, ratePerSecond: 0 },
    })
    let started: readonly string[] = []
    await until(async () => {
      const { rows } = await pool.query<{ stream: string }>(
        'select stream from sync.runs where id > $1 and not hot order by id',
        [known[0]?.id],
      )
      started = rows.map(({ stream }) => stream)
      return started.length >= overdue.length
    })
    await worker.stop()
    expect(started.slice(0, overdue.length)).toEqual(overdue)
  })
})

describe('a worker on Redis', () => {
  it.skipIf(inject('redisUrl') === null)('opens its queue although it would wait for ever', async () => {
    const backend = openBackend({
      databaseUrl: 'postgres://unused',
      redisUrl: String(inject('redisUrl')),
      prefix: 'endless-patience',
      log: createLogger('silent'),
      patienceMs: Number.MAX_SAFE_INTEGER,
      signal: new AbortController().signal,
    })
    const queue = await backend.openQueue(scheduleQueue)
    expect(await queue.getJobSchedulers(0, -1)).toEqual([])
    await queue.close()
    await backend.close()
  })
})

describe('due times', () => {
  it('that were missed several times are made up once', async () => {
    await using mirror = await openTestMirror({ size: 5 })
    const { pool } = mirror.app.database
    await pool.query(
      `update sync.streams set interval_s = 60, next_due_at = now() - interval '1 hour' where stream = 'rentals'`,
    )
    expect(await overdueTurns(pool, 5)).toEqual(['rentals'])
    const turns = await Promise.all([1, 2, 3, 4].map(() => takeTurn(pool, { stream: 'rentals', hot: false }, 0.5)))
    expect(turns.filter(Boolean)).toHaveLength(1)
    expect(await overdueTurns(pool, 5)).toEqual([])
  })

  it('read details only when some are due; otherwise they are as fresh as what they hang below', async () => {
    await using mirror = await openTestMirror({ size: 5 })
    const { app } = mirror
    const { pool } = app.database
    const context = { ...app.syncContext, onTasks: () => {} }
    const turn = async (): Promise<string> => {
      await pool.query(
        `update sync.streams set interval_s = 60, next_due_at = now() - interval '1 s' where stream = 'rental_payments'`,
      )
      return await tick(context, 'rental_payments', app.log)
    }
    await mirror.sync({ streams: ['rentals', 'rental_payments'] })
    await mirror.sync({ streams: ['rentals'] })
    expect(await turn()).toBe('fresh')
    expect(await tick(context, 'rental_payments', app.log)).toBe('early')
    const { rows } = await pool.query<{ same: boolean }>(
      `select count(distinct as_of) = 1 as same from sync.streams where stream in ('rentals', 'rental_payments')`,
    )
    expect(rows).toEqual([{ same: true }])
    await pool.query(`update sync.records set detail_hash = null, changed_at = now() where stream = 'rentals'`)
    await mirror.stopWorker()
    expect([await turn(), await turn()]).toEqual(['asked', 'waiting'])
  })

  it('let only one of two workers ask for the first sync', async () => {
    await using mirror = await openTestMirror({ size: 5 })
    const streams = streamsToRead([], mirror.config)
    const asked = await Promise.all([1, 2].map(() => requestFirstSync(mirror.app.database, streams)))
    expect(asked.filter(Boolean)).toHaveLength(1)
  })
})

describe('a queue that has gone silent', () => {
  // Not with `npm test`: silent-queue.test.ts has a worker whose wake-ups do not come.
  it.skipIf(isQuick)(
    'costs seconds, not the sync: an idle worker takes up what waits, a command does not ask it',
    async () => {
      await using mirror = await openTestMirror({ size: 3 })
      const { app } = mirror
      await mirror.stopWorker()
      const backend = await open(mirror)
      const deaf: QueueBackend = { ...backend, openWorker: async () => ({ close: async () => {} }) }
      const worker = await startSyncWorker({
        context: app.syncContext,
        backend: deaf,
        log: app.log,
        neglectedAfterMs: 200,
      })
      const runs = await mirror.sync({ streams: ['countries'] })
      await worker.stop()
      expect(runs.map((run) => run.status)).toEqual(['done'])

      // A command begins its tasks without asking the queue, which wakes others for what it has no room for.
      const command = await startSyncWorker({
        context: app.syncContext,
        backend: deaf,
        log: app.log,
        neglectedAfterMs: 3_600_000,
        beginsAtOnce: true,
      })
      const again = await mirror.sync({ streams: ['countries'] })
      expect(again.map((run) => run.status)).toEqual(['done'])
      await command.stop()
    },
  )
})

describe('several workers', () => {
  it('share one sync; stopping some of them loses nothing', async () => {
    await using mirror = await openTestMirror({ size: 40, latencyMs: 5 })
    const { app } = mirror
    const more = await Promise.all(
      [1, 2, 3].map(async () =>
        startSyncWorker({ context: app.syncContext, backend: await open(mirror), log: app.log }),
      ),
    )
    const streams = ['rentals', 'rental_options', 'rental_payments', 'rental_crew_members', 'users']
    const syncing = mirror.sync({ streams })
    await until(async () => {
      const { rows } = await app.database.pool.query<{ running: number }>(
        `select count(*)::int as running from sync.tasks where status = 'running' and kind = 'details'`,
      )
      return (rows[0]?.running ?? 0) > 2
    })
    await Promise.all(more.slice(0, 2).map((worker) => worker.stop()))
    const runs = await syncing
    await Promise.all(more.map((worker) => worker.stop()))
    expect(runs.filter((run) => run.status !== 'done').map((run) => `${run.stream}: ${run.error}`)).toEqual([])
    const differences = await mirror.differences()
    expect(differences.filter((each) => streams.some((stream) => each.startsWith(`${stream} `)))).toEqual([])
  })
})
