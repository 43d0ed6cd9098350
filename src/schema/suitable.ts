// Can the program work in this database at all? What an administrator chose otherwise is refused by name, before anything
// is written. And is it Postgres that answers? Others speak its protocol and name its version: what the program relies on is
// tried between two sessions, in transactions, so that a pooler is no reason to fail.

import { randomBytes } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import { withDeadline } from '../clock.ts'
import { begin, keepsPrepared } from '../database/session.ts'
import type { Queryable } from '../database/sql.ts'
import { sqlStateOf } from '../database/sql-states.ts'
import { BoatMirrorError, messageOf } from '../errors.ts'

type Facts = {
  readonly name: string
  readonly role: string
  readonly encoding: string
  readonly standby: boolean
  readonly read_only: boolean
  readonly temporary: boolean
}

const factsQuery = `select current_database() as name, current_user as role,
  pg_encoding_to_char(encoding) as encoding, pg_is_in_recovery() as standby,
  current_setting('transaction_read_only') = 'on' as read_only,
  has_database_privilege(oid, 'temporary') as temporary
  from pg_database where datname = current_database()`

const refused = (message: string, remedy: string): BoatMirrorError =>
  new BoatMirrorError('DATABASE_UNSUITABLE', message, { remedy })

function assertWritable({ name, role, encoding, standby, read_only: readOnly }: Facts): void {
  if (encoding !== 'UTF8')
    throw refused(
      `Database ${name} has the encoding ${encoding}, which cannot hold every text of the API.`,
      `Create one with: create database NAME encoding 'UTF8' template template0, and name it in DATABASE_URL.`,
    )
  if (standby)
    throw refused(
      `The server of database ${name} is a standby, which takes no writes.`,
      'Set DATABASE_URL to the primary.',
    )
  if (readOnly)
    throw refused(
      `Transactions of role ${role} in database ${name} are read-only (default_transaction_read_only).`,
      'Set it to off by alter database, alter role or in postgresql.conf, or use another role.',
    )
}

/**
 * Checks that the database can be written to, and can hold every text. `sync` also needs temporary tables, through
 * which batches are loaded.
 * @throws BoatMirrorError DATABASE_UNSUITABLE, DATABASE_PRIVILEGE.
 */
export async function assertSuitable(db: Queryable, purpose: 'migrate' | 'sync'): Promise<void> {
  const { rows } = await db.query<Facts>(factsQuery)
  for (const facts of rows) {
    assertWritable(facts)
    if (purpose === 'migrate' || facts.temporary) continue
    throw new BoatMirrorError(
      'DATABASE_PRIVILEGE',
      `Role ${facts.role} may not make temporary tables in database ${facts.name}.`,
      { remedy: `Run: grant temporary on database ${facts.name} to ${facts.role}` },
    )
  }
}

/** The schemas that the baseline makes. */
export const ourSchemas = ['sync', 'mirror', 'mirror_log', 'mirror_views', 'live', 'report', 'outbox', 'company_access']

const takenQuery = `select n.nspname as schema, pg_get_userbyid(n.nspowner) as owner, min(c.relname) as example
  from pg_namespace n join pg_class c on c.relnamespace = n.oid and c.relkind in ('r', 'p', 'v', 'm', 'f')
  where n.nspname = any ($1) group by 1, 2 order by 1`

/**
 * Schemas of our names may be there before the first migrate, but nothing in them.
 * @throws BoatMirrorError DATABASE_UNSUITABLE
 */
export async function assertNamesFree(db: Queryable): Promise<void> {
  const { rows } = await db.query<{ schema: string; owner: string; example: string }>(takenQuery, [ourSchemas])
  if (rows.length === 0) return
  const taken = rows.map(({ schema, owner, example }) => `${schema} (of ${owner}, with ${example})`).join(', ')
  throw refused(
    `The database already has schemas with the names that Boat Mirror needs: ${taken}.`,
    'Rename them (alter schema … rename to …), or give Boat Mirror its own database.',
  )
}

/** How long a second session is waited for, in milliseconds. */
const sessionMs = 4_000

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
    const state = sqlStateOf(error) ?? ''
    // Postgres has, and understands, all that is tried. Every other failure is one that Postgres has, too.
    if (!/^(0A|42)/.test(state) || state === '42501') throw error
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

/** Postgres delivers a notification with the next answer. Round trips are counted, not seconds: a busy machine is no other engine. */
async function assertNotified(listener: PoolClient, notifier: PoolClient): Promise<void> {
  let isHeard = false
  listener.once('notification', () => {
    isHeard = true
  })
  await listener.query('listen boat_mirror_engine')
  await notifier.query('notify boat_mirror_engine')
  for (let round = 0; !isHeard && round < 20; round++) await listener.query('select pg_sleep(0.1)')
  if (!isHeard) throw unsuitable('a notification does not arrive')
}

const unsuitable = (what: string): BoatMirrorError =>
  new BoatMirrorError('DATABASE_UNSUITABLE', `The database names itself Postgres and does not work like it: ${what}.`, {
    remedy: 'Use Postgres itself. Engines that only speak its protocol lose or double what the mirror holds.',
  })
