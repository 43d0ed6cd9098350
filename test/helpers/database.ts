// A fresh database for a test. Use it with `await using`, or dispose of it in `afterAll`.

import { randomBytes } from 'node:crypto'
import { Client, escapeIdentifier, Pool } from 'pg'
import { inject } from 'vitest'
import { migrateQueue } from '../../src/jobs/backend.ts'
import { createLogger } from '../../src/log.ts'
import { migrate } from '../../src/schema/migrate.ts'
import { withDatabase } from './addresses.ts'

export type TestDatabase = AsyncDisposable & {
  readonly url: string
  readonly pool: Pool
}

/**
 * Creates a database of its own name and a pool on it (at most 10 connections).
 * `migrated` (default): with our tables and the queue's, as `migrate` leaves them; false: empty. `copyOf`: with all that
 * another one holds, whose connections end.
 * Disposing ends the pool and drops the database, even with open connections.
 */
export async function createTestDatabase(
  options: { readonly migrated?: boolean; readonly copyOf?: TestDatabase } = {},
): Promise<TestDatabase> {
  const adminUrl = inject('adminUrl')
  const name = `${inject('databasePrefix')}${randomBytes(6).toString('hex')}`
  const template =
    options.copyOf !== undefined
      ? await released(adminUrl, options.copyOf)
      : options.migrated === false
        ? 'template0'
        : await templateOf(adminUrl)
  await create(adminUrl, name, template)
  const url = withDatabase(adminUrl, name)
  const pool = createTestPool(url, 10)
  let disposed: Promise<void> | undefined
  const dispose = async (): Promise<void> => {
    await pool.end()
    await adminOf(adminUrl).query(`drop database if exists ${escapeIdentifier(name)} with (force)`)
  }
  return {
    url,
    pool,
    [Symbol.asyncDispose]: () => {
      disposed ??= dispose()
      return disposed
    },
  }
}

/**
 * A pool on a test's database. Its `end` resolves while its connections still say goodbye, so one of them may die with
 * the dropped (or, on purpose, restarted) database: without a listener that would end the test run. Queries still fail.
 */
export function createTestPool(url: string, max: number): Pool {
  const pool = new Pool({ connectionString: url, max })
  pool.on('error', () => {})
  return pool
}

/** One connection of this process for all its databases: opening one takes longer than copying a small database. */
function adminOf(url: string): Pool {
  if (admin === undefined) {
    admin = new Pool({ connectionString: url, max: 1, allowExitOnIdle: true })
    admin.on('error', () => {}) // a test may end every connection there is: the next query opens another
  }
  return admin
}
let admin: Pool | undefined

let template: Promise<string> | undefined
const templateOf = (adminUrl: string): Promise<string> => {
  template ??= findTemplate(adminUrl)
  return template
}

/** The migrated database that others are copied from; made when a test first needs it in this run. */
async function findTemplate(adminUrl: string): Promise<string> {
  const name = `${inject('databasePrefix')}template`
  const draft = `${name}_draft`
  const client = new Client({ connectionString: adminUrl })
  await client.connect()
  try {
    await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [name]) // ends with this connection
    const found = await client.query('select from pg_database where datname = $1', [name])
    if (found.rowCount !== 0) return name
    await client.query(`drop database if exists ${escapeIdentifier(draft)} with (force)`)
    await create(adminUrl, draft, 'template0')
    await migrate(withDatabase(adminUrl, draft))
    await migrateQueue(withDatabase(adminUrl, draft), createLogger('warn'))
    await client.query(`alter database ${escapeIdentifier(draft)} rename to ${escapeIdentifier(name)}`)
  } finally {
    await client.end()
  }
  return name
}

/** The name of a database to which nobody is connected any more. */
async function released(adminUrl: string, { url }: TestDatabase): Promise<string> {
  const name = new URL(url).pathname.slice(1)
  await adminOf(adminUrl).query('select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1', [
    name,
  ])
  return name
}

async function create(adminUrl: string, name: string, from: string): Promise<void> {
  strategy ??= strategyOf(adminUrl)
  await adminOf(adminUrl).query(
    `create database ${escapeIdentifier(name)} encoding 'UTF8' template ${escapeIdentifier(from)} ${await strategy}`,
  )
}
let strategy: Promise<string> | undefined

/** Copying files is the faster way where nothing has to reach the disk; Postgres 14 knows no other and no such words. */
async function strategyOf(adminUrl: string): Promise<string> {
  const { rows } = await adminOf(adminUrl).query<{ fast: boolean }>(
    `select current_setting('fsync') = 'off' and current_setting('server_version_num')::int >= 150000 as fast`,
  )
  return rows[0]?.fast === true ? 'strategy file_copy' : ''
}
