// Databases of tests are separate, migrated unless a test says otherwise, and leave nothing behind.

import { Client } from 'pg'
import { expect, inject, it } from 'vitest'
import { createTestDatabase } from './database.ts'

async function databases(): Promise<string[]> {
  const client = new Client({ connectionString: inject('adminUrl') })
  await client.connect()
  try {
    const { rows } = await client.query<{ datname: string }>('select datname from pg_database')
    return rows.map((row) => row.datname)
  } finally {
    await client.end()
  }
}

it('two databases do not see each other, and are dropped with connections still open', async () => {
  const [one, two] = await Promise.all([createTestDatabase(), createTestDatabase()])
  await one.pool.query('create table only_here (n int)')
  await expect(two.pool.query('select from only_here')).rejects.toMatchObject({ code: '42P01' })
  const straggler = new Client({ connectionString: one.url })
  straggler.on('error', () => {}) // being thrown out is what this test expects
  await straggler.connect()
  await Promise.all([one, two].map((database) => database[Symbol.asyncDispose]()))
  const names = new Set(await databases())
  expect([one, two].map(({ url }) => names.has(new URL(url).pathname.slice(1)))).toEqual([false, false])
})

it('a database is migrated, or empty when asked for', async () => {
  await using migrated = await createTestDatabase()
  await using empty = await createTestDatabase({ migrated: false })
  const schemas = "select nspname from pg_namespace where nspname in ('mirror', 'sync', 'outbox') order by 1"
  expect((await migrated.pool.query(schemas)).rows.map((row) => row.nspname)).toEqual(['mirror', 'outbox', 'sync'])
  expect((await empty.pool.query(schemas)).rows).toEqual([])
})
