// A fresh database for a test. Use it with `await using`, or dispose of it in `afterAll`.

import { randomBytes } from 'node:crypto'
import { Client, escapeIdentifier, Pool } from 'pg'
import { inject } from 'vitest'
import { migrate } from '../../src/mirror/migrate.ts'
import { withDatabase } from './addresses.ts'

export type TestDatabase = AsyncDisposable & {
  readonly url: string
  readonly pool: Pool
}

/**
 * Creates a database of its own name and a pool on it (at most 10 connections).
 * `migrated` (default): with our tables, as `migrate` leaves them; false: empty.
 * Disposing ends the pool and drops the database, whoever is still connected.
 */
export async function createTestDatabase(options: { readonly migrated?: boolean } = {}): Promise<TestDatabase> {
  const adminUrl = inject('adminUrl')
  const name = `${inject('databasePrefix')}${randomBytes(6).toString('hex')}`
  const template = options.migrated === false ? 'template0' : await findTemplate(adminUrl)
  await asAdmin(adminUrl, (admin) => create(admin, name, template))
  const url = withDatabase(adminUrl, name)
  const pool = new Pool({ connectionString: url, max: 10 })
  // An idle connection that dies with a dropped or restarted database is what some tests provoke; queries still fail.
  pool.on('error', () => {})
  let disposed: Promise<void> | undefined
  const dispose = async (): Promise<void> => {
    await pool.end()
    await asAdmin(adminUrl, (admin) => admin.query(`drop database if exists ${escapeIdentifier(name)} with (force)`))
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

/** The migrated database that others are copied from; made by whoever needs it first in this run. */
async function findTemplate(adminUrl: string): Promise<string> {
  const name = `${inject('databasePrefix')}template`
  const draft = `${name}_draft`
  await asAdmin(adminUrl, async (admin) => {
    await admin.query('select pg_advisory_lock(hashtextextended($1, 0))', [name]) // ends with this connection
    const found = await admin.query('select from pg_database where datname = $1', [name])
    if (found.rowCount !== 0) return
    await admin.query(`drop database if exists ${escapeIdentifier(draft)} with (force)`)
    await create(admin, draft, 'template0')
    await migrate(withDatabase(adminUrl, draft))
    await admin.query(`alter database ${escapeIdentifier(draft)} rename to ${escapeIdentifier(name)}`)
  })
  return name
}

async function create(admin: Client, name: string, template: string): Promise<void> {
  await admin.query(`create database ${escapeIdentifier(name)} encoding 'UTF8' template ${escapeIdentifier(template)}`)
}

async function asAdmin(url: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}
