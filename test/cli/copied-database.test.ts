// The commands in a database that is a copy: what waits, and what ends the wait.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { createSandbox, type Sandbox } from '../../sandbox/index.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { type CommandLine, errorOf, openCommandLine } from './program.ts'

let sandbox: Sandbox
let original: TestDatabase
let copy: TestDatabase
let cli: CommandLine

beforeAll(async () => {
  sandbox = await createSandbox({ size: 6 })
  cli = await openCommandLine({
    API_AUTH: 'none',
    API_RATE_LIMIT: '0',
    API_BASE_URL: sandbox.url,
    API_TIMEOUT_MS: '1000',
  })
  original = await createTestDatabase()
  expect(await codeOf('sync rentals', original)).toBe(0)
  const [rental] = sandbox.truth({ only: ['rentals'] }).rentals ?? []
  await original.pool.query(`select outbox.enqueue('rental_payment.add', $1, $2)`, [
    { rentalId: Number(rental?.key.id) },
    { price: 77, currency: 'EUR', method: { id: 1 } },
  ])
  copy = await createTestDatabase({ copyOf: original })
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
  await Promise.all([original, copy].map((each) => each[Symbol.asyncDispose]()))
  await sandbox.close()
})

const run = (args: string, { url }: TestDatabase) => cli.run(args.split(' '), { DATABASE_URL: url })
const codeOf = async (args: string, database: TestDatabase): Promise<number | null> => (await run(args, database)).code

it('name what waits first, and the commands that decide about it', async () => {
  const pushed = await run('push', copy)
  expect(pushed.code).toBe(3)
  expect(pushed.stdout).toContain('This database is a copy of another one. 1 change queued before is not sent')
  const { attention } = JSON.parse((await run('status --json', copy)).stdout)
  expect(attention[0]).toMatchObject({
    kind: 'copied',
    commands: ['boat-mirror moved database gone', 'boat-mirror moved database lives'],
  })
  expect(sandbox.requests().some(({ method, path }) => method === 'POST' && path.endsWith('/payments'))).toBe(false)

  const error = errorOf(await run('moved database dead', copy))
  expect(error).toContain('Allowed choices are gone, lives.')
  expect(await codeOf('push', original)).toBe(0)
  const decided = await run('moved database lives --json', copy)
  expect(JSON.parse(decided.stdout)).toEqual({ state: 'lives', changes: 1 })
  const again = await run('moved database lives', copy)
  expect(again.code).toBe(2)
  expect(errorOf(again)).toContain('Nothing shows that this database is a copy')
  expect(await codeOf('push', copy)).toBe(0)
  expect(sandbox.requests().filter(({ method, path }) => method === 'POST' && path.endsWith('/payments'))).toHaveLength(
    1,
  )
  expect((await copy.pool.query('select via, what, target from sync.decisions')).rows).toEqual([
    { via: 'command', what: 'former_lives', target: 'database' },
  ])
})
