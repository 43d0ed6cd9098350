// Releases have an order: an older program refuses what a newer one made of the schema, also one that changes only views and
// functions, and one that is running stops. The newer program is this one with a higher number.

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import { release } from '../../src/database/release.ts'
import { openMirror } from '../../src/index.ts'
import { migrate } from '../../src/schema/migrate.ts'
import { repeatableVersion } from '../../src/schema/repeatable-steps.ts'
import { openCommandLine } from '../cli/program.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { isQuick } from '../helpers/extent.ts'

async function asNewerProgram<T>(work: () => Promise<T>): Promise<T> {
  release.number += 1
  try {
    return await work()
  } finally {
    release.number -= 1
  }
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)

it('has a number that changes with the schema', () => {
  const files = readdirSync('migrations', { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|sql)$/.test(file))
    .sort()
  const texts = files.map((file) => readFileSync(join('migrations', file), 'utf8'))
  const schemaOf = (number: number): string => hashOf([number, repeatableVersion, ...texts].join('\n'))
  const next = release.number + 1
  expect(
    release.schema,
    `The schema has changed. Write in src/database/release.ts: { number: ${next}, schema: '${schemaOf(next)}' }`,
  ).toBe(schemaOf(release.number))
})

it('lets no older program start, which leaves everything as it is', async () => {
  await using database = await createTestDatabase()
  await using cli = await openCommandLine({
    DATABASE_URL: database.url,
    API_BASE_URL: 'http://127.0.0.1:9',
    API_AUTH: 'none',
  })
  await asNewerProgram(() => migrate(database.url))
  const applied = async (): Promise<unknown> => (await database.pool.query('select * from sync.repeatable')).rows
  const before = await applied()
  const name = `release ${release.number + 1}`
  for (const command of ['sync', 'push', 'serve', 'worker', 'status', 'migrate', 'feed', 'access list']) {
    const { code, stderr } = await cli.run(command.split(' '))
    expect({ command, code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('DATABASE_SCHEMA') })
    expect(stderr).toContain(`The database was migrated by a newer program (${name})`)
  }
  for (const command of ['check', 'migrate --status'])
    expect(await cli.run(command.split(' '))).toMatchObject({ code: 1, stdout: expect.stringContaining(name) })
  for (const wished of [true, false])
    await expect(openMirror({ databaseUrl: database.url, migrate: wished })).rejects.toMatchObject({
      code: 'DATABASE_SCHEMA',
    })
  expect(await applied()).toEqual(before)
})

it('is applied while an older program is about to write, and neither is ended by a deadlock', async () => {
  await using database = await createTestDatabase()
  const writer = await database.pool.connect()
  try {
    await writer.query('begin')
    await writer.query('select from sync.privacy for share')
    const migrated = asNewerProgram(() => migrate(database.url))
    const waitsFor = async (what: string): Promise<boolean> =>
      (
        await database.pool.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like $1`,
          [what],
        )
      ).rowCount === 1
    await expect.poll(() => waitsFor('%generation%')).toBe(true)
    const second = database.pool.query('begin; select from sync.privacy for share; commit')
    await expect.poll(() => waitsFor('begin; select from sync.privacy%')).toBe(true)
    await writer.query('commit')
    await Promise.all([migrated, second])
  } finally {
    writer.release()
  }
})

// A whole worker of another release; that none starts, a test above shows.
it.skipIf(isQuick)('stops an older program that is running before it writes', async () => {
  await using database = await createTestDatabase()
  await using sandbox = await createSandbox({ size: 1 })
  await using cli = await openCommandLine({
    DATABASE_URL: database.url,
    API_BASE_URL: sandbox.url,
    API_AUTH: 'none',
    PORT: '0',
  })
  expect((await cli.run(['sync', 'users'])).code).toBe(0)
  await using mirror = Object.assign(
    await openMirror({ databaseUrl: database.url, apiBaseUrl: sandbox.url, apiAuth: 'none' }),
    { [Symbol.asyncDispose]: () => mirror.close() },
  )
  const worker = cli.start(['worker'], { LOG_LEVEL: 'info' })
  await expect.poll(() => worker.text(), { interval: 100 }).toContain('Pages ')
  await asNewerProgram(() => migrate(database.url))
  const [user] = sandbox.truth({ only: ['users'] }).users ?? []
  const id = Number(user?.key.id)
  sandbox.mutate([{ record: 'users', op: 'update', id, set: { lastName: 'By old rules' } }])
  await database.pool.query('select outbox.enqueue($1, $2, $3)', ['user.update', { userId: id }, { firstName: 'Ann' }])
  await database.pool.query(`select mirror.refresh('users')`)
  const refusal = { code: 'DATABASE_SCHEMA', message: expect.stringContaining('newer program') }
  expect(await worker.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('DATABASE_SCHEMA') })
  await expect(mirror.sync({ streams: ['users'] })).rejects.toMatchObject(refusal)
  await expect(mirror.push()).rejects.toMatchObject(refusal)
  expect(sandbox.requests().filter(({ method }) => method === 'PUT')).toEqual([])
  const { rows } = await database.pool.query(
    `select (select count(*)::int from mirror.users where last_name = 'By old rules') as written,
       (select status from outbox.queue) as change, (select count(*)::int from sync.runs where status = 'failed') as failed`,
  )
  expect(rows).toEqual([{ written: 0, change: 'queued', failed: 0 }])
})
