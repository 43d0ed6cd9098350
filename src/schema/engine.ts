// Is it Postgres that answers? Others speak its protocol and name its version. What the program relies on is tried between two
// sessions, in transactions, so that a pooler is no reason to fail.

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Pool, PoolClient } from 'pg'
import { withDeadline } from '../clock.ts'
import { begin, keepsPrepared } from '../database/session.ts'
import { sqlStateOf } from '../database/sql-states.ts'
import { BoatMirrorError, messageOf } from '../errors.ts'

/** How long a second session is waited for, and a notification, in milliseconds. */
const [sessionMs, notificationMs] = [4_000, 3_000]

const engine = `jsonb_build_array(version(), (select oid::text from pg_database where datname = current_database()))`

/** What one session does, and whether another sees it as Postgres shows it; otherwise what the name says. */
const mine = `select pg_try_advisory_xact_lock($1::bigint) as locked, pg_current_xact_id()::text as id`
const others = `select not pg_try_advisory_xact_lock($1::bigint) as "an advisory lock does not keep other sessions out",
  not pg_visible_in_snapshot($2::xid8, pg_current_snapshot()) and pg_snapshot_xmin(pg_current_snapshot()) <= $2::xid8
    as "an open transaction does not hold the horizon",
  pg_current_xact_id() > $2::xid8 as "transaction ids have no order"`
const temporary = `create temporary table boat_mirror_engine (n int) on commit drop; insert into boat_mirror_engine values (1)`

/**
 * Tries the engine of the database, once for a version of it.
 * @returns why it could not be tried; null: it works, or did when it was tried
 * @throws BoatMirrorError DATABASE_UNSUITABLE with what does not
 */
export async function probeEngine(pool: Pool): Promise<string | null> {
  const { rowCount: hasTable } = await pool.query(`select where to_regclass('sync.pinned') is not null`)
  const known = `select from sync.pinned where key = 'engine' and value = ${engine}`
  if (hasTable === 1 && (await pool.query(known)).rowCount === 1) return null
  const note = await tried(pool).catch((error: unknown) => {
    // What is not allowed is reported where it is needed.
    if (sqlStateOf(error) === undefined || sqlStateOf(error) === '42501') throw error
    throw unsuitable(messageOf(error))
  })
  if (hasTable === 1 && note === null)
    await pool.query(`insert into sync.pinned (key, value) values ('engine', ${engine})
      on conflict (key) do update set value = excluded.value, probed_at = clock_timestamp()`)
  return note
}

async function tried(pool: Pool): Promise<string | null> {
  const key = randomBytes(8).readBigInt64BE().toString()
  const clients: PoolClient[] = []
  let isOver = false
  const open = async (): Promise<PoolClient> => {
    const client = await pool.connect()
    if (isOver) client.release(true)
    else clients.push(client)
    await client.query(begin(client, ''))
    return client
  }
  try {
    const first = await open()
    const { rows } = await first.query<{ locked: boolean; id: string }>(mine, [key])
    const second = await withDeadline(open(), sessionMs).catch(messageOf)
    if (typeof second === 'string') return `the engine was not tried, because a second session failed: ${second}`
    const seen = await second.query<Record<string, boolean>>(others, [key, rows[0]?.id])
    const [wrong] = Object.entries(seen.rows[0] ?? {}).find(([, isRight]) => !isRight) ?? []
    if (wrong !== undefined || !rows[0]?.locked) throw unsuitable(wrong ?? 'it gives no advisory locks')
    await second.query(temporary).catch((error: unknown) => {
      if (sqlStateOf(error) !== '42501') throw error
    })
    for (const client of clients) await client.query('rollback')
    // Behind a transaction pooler none arrives, which is no reason to fail.
    if (keepsPrepared(second)) await assertNotified(second, first)
    return null
  } finally {
    isOver = true
    for (const client of clients) client.release(true) // what a session holds ends with it
  }
}

async function assertNotified(listener: PoolClient, notifier: PoolClient): Promise<void> {
  const heard = once(listener, 'notification')
  await listener.query('listen boat_mirror_engine')
  await notifier.query('notify boat_mirror_engine')
  await withDeadline(heard, notificationMs).catch(() => {
    throw unsuitable('a notification does not arrive')
  })
}

const unsuitable = (what: string): BoatMirrorError =>
  new BoatMirrorError('DATABASE_UNSUITABLE', `The database names itself Postgres and does not work like it: ${what}.`, {
    remedy: 'Use Postgres itself. Engines that only speak its protocol lose or double what the mirror holds.',
  })
