// A fresh database for a test. Use it with `await using`, or dispose of it in `afterAll`.

import { randomBytes } from 'node:crypto'
import { Client, escapeIdentifier, Pool } from 'pg'
import { inject } from 'vitest'

export type TestDatabase = AsyncDisposable & {
  readonly url: string
  readonly pool: Pool
}

/**
 * Creates an empty database of its own name and a pool on it (at most 10 connections).
 * Disposing ends the pool and drops the database, whoever is still connected.
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const adminUrl = inject('adminUrl')
  const name = `${inject('databasePrefix')}${randomBytes(6).toString('hex')}`
  await asAdmin(adminUrl, (admin) => admin.query(`create database ${escapeIdentifier(name)} template template0`))
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

/** The same address with another database. */
export function withDatabase(address: string, database: string): string {
  const url = new URL(address)
  url.pathname = `/${database}`
  return url.href
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
