// Once per test run: one Postgres and, where there is one, one Redis. Test files find them with `inject`:
// `adminUrl` (may create databases), `databasePrefix` (what this run's databases begin with), `redisUrl` (or null),
// `runFolder` (removed afterwards, by the next run if this one is killed).

import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { Client } from 'pg'
import type { TestProject } from 'vitest/node'
import { openTestPostgres } from './postgres-server.ts'
import { openTestRedis } from './redis-server.ts'
import { foldersOfTests, makeRunFolder } from './run-folder.ts'

declare module 'vitest' {
  interface ProvidedContext {
    adminUrl: string
    databasePrefix: string
    redisUrl: string | null
    runFolder: string
  }
}

const withoutRedis = 'not run: Redis suites (set TEST_REDIS_URL or install redis-server)'

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await makeRunFolder(await foldersOfTests())
  const opened: { close(): Promise<void> }[] = []
  const release = async (): Promise<void> => {
    for (const server of opened.reverse()) await server.close()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const redis = await openTestRedis(folder)
    if (redis !== null) opened.push(redis)
    else if (process.env.REQUIRE_REDIS === '1') throw new Error(`${withoutRedis}, and REQUIRE_REDIS is 1`)
    const postgres = await openTestPostgres(folder)
    opened.push(postgres)
    const databasePrefix = provideAll(project, { folder, adminUrl: postgres.url, redisUrl: redis?.url ?? null })
    return async () => {
      await dropDatabases(postgres.url, databasePrefix)
      await release()
      if (redis === null) process.stdout.write(`\n${withoutRedis}\n`)
    }
  } catch (error) {
    await release()
    throw error
  }
}

type Provided = { readonly folder: string; readonly adminUrl: string; readonly redisUrl: string | null }

/** Hands the addresses to the test files. Returns what the names of this run's databases begin with. */
function provideAll(project: TestProject, { folder, adminUrl, redisUrl }: Provided): string {
  const databasePrefix = `bm_test_${randomBytes(4).toString('hex')}_`
  project.provide('adminUrl', adminUrl)
  project.provide('databasePrefix', databasePrefix)
  project.provide('redisUrl', redisUrl)
  project.provide('runFolder', folder)
  return databasePrefix
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
