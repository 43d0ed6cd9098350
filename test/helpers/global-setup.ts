// Once per test run: one Postgres and, where there is one, one Redis. Test files find them with `inject`:
// `adminUrl` (may create databases), `databasePrefix` (what this run's databases begin with), `redisUrl` (or null).

import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import type { TestProject } from 'vitest/node'
import { openTestPostgres } from './postgres-server.ts'
import { openTestRedis } from './redis-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    adminUrl: string
    databasePrefix: string
    redisUrl: string | null
  }
}

const withoutRedis = 'not run: Redis suites (set TEST_REDIS_URL or install redis-server)'

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const redis = await openTestRedis()
  if (redis === null && process.env.REQUIRE_REDIS === '1') throw new Error(`${withoutRedis}, and REQUIRE_REDIS is 1`)
  const postgres = await openTestPostgres().catch(async (error: unknown) => {
    await redis?.close()
    throw error
  })
  const databasePrefix = `bm_test_${randomBytes(4).toString('hex')}_`
  project.provide('adminUrl', postgres.url)
  project.provide('databasePrefix', databasePrefix)
  project.provide('redisUrl', redis?.url ?? null)

  return async () => {
    await dropDatabases(postgres.url, databasePrefix)
    await postgres.close()
    await redis?.close()
    if (redis === null) process.stdout.write(`\n${withoutRedis}\n`)
  }
}

/** Drops what this run has made and not dropped itself: the template, and databases of tests that were cut off. */
async function dropDatabases(adminUrl: string, prefix: string): Promise<void> {
  const client = new Client({ connectionString: adminUrl })
  await client.connect()
  try {
    const found = await client.query<{ datname: string }>(
      'select datname from pg_database where starts_with(datname, $1)',
      [prefix],
    )
    for (const { datname } of found.rows)
      await client.query(`drop database if exists ${client.escapeIdentifier(datname)} with (force)`)
  } finally {
    await client.end()
  }
}
