// What must be true of the tables after a storm: nothing stuck, nothing overlapping, nothing leaked.

import { createPostgresBackend, type PgPool, Queue } from 'bullmq'
import { Redis } from 'ioredis'
import type pg from 'pg'
import { sleep } from '../../../src/clock.ts'
import { queueNames } from '../../../src/jobs/queues.ts'
import { askPatiently, openStormPool } from './pool.ts'

type Check = readonly [name: string, sql: string]

/** While workers are at work nothing may be overdue by more than this, in seconds. */
const overdueS = 20

const stuckChecks: readonly Check[] = [
  [
    'a task waits and nobody takes it',
    `select kind || ' of ' || stream || ' (task ' || id || ')' as what from sync.tasks
     where status = 'waiting' and greatest(created_at, not_before) < clock_timestamp() - interval '${overdueS} s' limit 5`,
  ],
  [
    "a task's lease has run out and nobody takes it over",
    `select kind || ' of ' || stream || ' (task ' || id || ')' as what from sync.tasks
     where status = 'running' and lease_until < clock_timestamp() - interval '${overdueS} s' limit 5`,
  ],
  [
    'a run has nothing to do and does not end',
    `select r.stream || ' (run ' || r.id || ')' as what from sync.runs r
     where r.status = 'running' and r.started_at < clock_timestamp() - interval '${overdueS} s'
       and not exists (select from sync.tasks t where t.run_id = r.id
         and (t.status in ('waiting', 'running') or t.finished_at > clock_timestamp() - interval '${overdueS} s')) limit 5`,
  ],
  [
    "a change's lease has run out and nobody takes it over",
    `select operation || ' (change ' || id || ')' as what from outbox.queue
     where status = 'sending' and coalesce(lease_until, next_attempt_at) < clock_timestamp() - interval '${overdueS} s' limit 5`,
  ],
]

const historyChecks: readonly Check[] = [
  // A hot and a complete run may go on side by side as soon as the sweep of the first has ended.
  [
    'two runs of a stream overlapped',
    `select a.stream || ' (runs ' || a.id || ' and ' || b.id || ')' as what from sync.runs a
     join sync.runs b on a.stream = b.stream and a.id < b.id
       and b.started_at < coalesce(case when a.hot = b.hot then a.finished_at else a.swept_at end, 'infinity') limit 5`,
  ],
]

const find = async (pool: pg.Pool, checks: readonly Check[]): Promise<string[]> => {
  const found: string[] = []
  for (const [name, sql] of checks) {
    const rows = await askPatiently<{ what: string }>(pool, sql)
    found.push(...rows.map(({ what }) => `${name}: ${what}`))
  }
  return found
}

/** What is stuck although workers are at work; it has `patienceMs` to come loose. */
export async function findStuck(pool: pg.Pool, patienceMs: number): Promise<readonly string[]> {
  for (const end = Date.now() + patienceMs; ; ) {
    const stuck = await find(pool, stuckChecks)
    if (stuck.length === 0 || Date.now() > end) return stuck
    await sleep(500)
  }
}

/** What the tables show of the storm. */
export const findOverlaps = (pool: pg.Pool): Promise<readonly string[]> => find(pool, historyChecks)

/** Connections of the program that are left after it has ended. */
export async function findLeaks(pool: pg.Pool, patienceMs: number): Promise<readonly string[]> {
  for (const end = Date.now() + patienceMs; ; ) {
    const { rows } = await pool.query<{ name: string; count: number }>(
      `select application_name as name, count(*)::int as count from pg_stat_activity
       where datname = current_database() and application_name like 'boat-mirror%' group by 1`,
    )
    if (rows.length === 0) return []
    if (Date.now() > end) return rows.map(({ name, count }) => `${count} connections of "${name}" are left`)
    await sleep(200)
  }
}

/** Jobs that a queue still calls active after all workers have ended cleanly. `redisUrl` is null where it is on Postgres. */
export async function findActiveJobs(controlUrl: string, redisUrl: string | null): Promise<readonly string[]> {
  const pool = openStormPool(controlUrl, 'control', 2, 'bullmq')
  const redis = redisUrl === null ? null : new Redis(redisUrl, { maxRetriesPerRequest: null })
  const found: string[] = []
  try {
    const { rows } = await pool.query<{ prefix: string }>(
      `select 'boat-mirror-' || i.id || '-' || d.oid as prefix from outbox.installation i, pg_database d
       where d.datname = current_database()`,
    )
    for (const name of queueNames) {
      const queue =
        redis === null
          ? new Queue(name, { connection: pool as unknown as PgPool }, createPostgresBackend)
          : new Queue(name, { connection: redis, prefix: String(rows[0]?.prefix) })
      const { active = 0 } = await queue.getJobCounts('active')
      if (active > 0) found.push(`${active} jobs of ${name} are still active`)
      await queue.close()
    }
  } finally {
    redis?.disconnect()
    await pool.end()
  }
  return found
}
