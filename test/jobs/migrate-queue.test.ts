// The queue's own tables are made after the mirror's: a wait is watched and can be ended, a failure says where it stands.

import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { migrateQueue } from '../../src/jobs/backend.ts'
import { syncQueue } from '../../src/jobs/queues.ts'
import { createLogger } from '../../src/log.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { openTestMirror } from '../helpers/mirror.ts'

const made = async (pool: { query(sql: string): Promise<{ rows: unknown[] }> }): Promise<unknown> =>
  (await pool.query(`select to_regclass('bullmq.job') is not null as made`)).rows

describe("the queue's own tables", () => {
  it('say whom they wait for, and a signal ends the wait', async () => {
    await using database = await createTestDatabase({ migrated: false })
    const stopping = new AbortController()
    const said: string[] = []
    const log = pino({ level: 'warn' }, { write: (line: string) => void said.push(line) })
    const holder = await database.pool.connect()
    try {
      // The lock of BullMQ's own migrations.
      await holder.query(
        `set application_name = 'another worker'; begin; select pg_advisory_xact_lock(x'42554c4c'::int, hashtext('bullmq'))`,
      )
      const waiting = migrateQueue(database.url, log, stopping.signal)
      waiting.catch(() => {}) // checked below
      await expect
        .poll(() => said.join(''))
        .toMatch(/migrate \(queue\) waits for a lock of pid \d+, application another worker/)
      const reason = new Error('stopped by the test')
      stopping.abort(reason)
      await expect(waiting).rejects.toBe(reason)
      expect(await made(database.pool)).toEqual([{ made: false }])
    } finally {
      holder.release(true)
    }
    await migrateQueue(database.url, createLogger('silent'))
    expect(await made(database.pool)).toEqual([{ made: true }])
  })

  it('say that the rest is up to date and how to go on when they cannot be made', async () => {
    await using database = await createTestDatabase({ migrated: false })
    await database.pool.query(`create function public.refuse() returns event_trigger language plpgsql as $$
      begin raise exception 'no tables here'; end $$;
      create event trigger refuse on ddl_command_start when tag in ('CREATE TABLE') execute function public.refuse()`)
    await expect(migrateQueue(database.url, createLogger('silent'))).rejects.toMatchObject({
      code: 'QUEUE_REFUSED',
      message: expect.stringMatching(
        /own schema is up to date, but the queue's tables \(schema bullmq\) are not: no tables here/,
      ),
      remedy: expect.stringContaining('boat-mirror migrate'),
    })
    await database.pool.query('drop event trigger refuse')
    await migrateQueue(database.url, createLogger('silent'))
    expect(await made(database.pool)).toEqual([{ made: true }])
  })
})

it('events of jobs, which BullMQ keeps for those who watch a queue, do not pile up', async () => {
  await using mirror = await openTestMirror({ size: 0 })
  await mirror.stopWorker()
  const { app } = mirror
  const backend = await app.openQueue(new AbortController().signal)
  const queue = await backend.openQueue(syncQueue)
  const count = async (table: string): Promise<number> => {
    const { rows } = await app.database.pool.query<{ rows: number }>(
      `select count(*)::int as rows from bullmq.${table}`,
    )
    return rows[0]?.rows ?? -1
  }
  await queue.addBulk(
    Array.from({ length: 600 }, (_, index) => ({
      name: 'task',
      data: { taskId: '0' },
      opts: { jobId: `task-${index}`, removeOnComplete: true },
    })),
  )
  expect(await count('event')).toBeGreaterThan(1_000)
  const worker = await backend.openWorker(syncQueue, async () => ({}), 4)
  try {
    await expect.poll(() => count('job')).toBe(0)
    await expect.poll(() => count('event')).toBeLessThan(1_000) // 500, and what came since they were trimmed
  } finally {
    await worker.close()
    await queue.close()
  }
})
