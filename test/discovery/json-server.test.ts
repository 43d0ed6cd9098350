// A server that others wrote, from an address to rows and back: its settings found, its lists mirrored, changes sent to it.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import { openCommandLine } from '../cli/program.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { type Collections, startJsonServer } from './json-server.ts'

/** Records of the sandbox, each as its own read shows it. */
async function records(size: number): Promise<Collections> {
  await using sandbox = await createSandbox({ size })
  const read = async (path: string): Promise<Record<string, unknown>[]> =>
    (await fetch(`${sandbox.url}/v3/${path}`)).json() as Promise<Record<string, unknown>[]>
  const whole = async (name: string) => {
    const listed = await read(`${name}?perPage=100`)
    // The list of users shows those that are deactivated only where they are asked for.
    const hidden = name === 'users' ? await read('users?perPage=100&deactivated=true') : []
    return (await Promise.all([...listed, ...hidden].map(({ id }) => read(`${name}/${id}`)))).flat()
  }
  const [users, companies, resources, rentals] = await Promise.all(
    ['users', 'companies', 'resources', 'rentals'].map(whole),
  )
  const payments = await Promise.all(
    (rentals ?? []).map(async ({ id }) =>
      (await read(`rentals/${id}/payments`)).map((payment) => ({ ...payment, rentalId: id })),
    ),
  )
  return { users, companies, resources, rentals, payments: payments.flat() } as Collections
}

it('finds out how json-server is asked, mirrors what it has, and sends changes to it', async () => {
  const truth = await records(25)
  await using server = await startJsonServer(truth)
  await using database = await createTestDatabase()
  await using cli = await openCommandLine({ DATABASE_URL: database.url, API_RATE_LIMIT: '0' })

  const found = await cli.run(['check', '--write'], { API_BASE_URL: server.url })
  const lines = (await readFile(join(cli.folder, '.env'), 'utf8')).split('\n')
  expect(lines).toEqual(
    expect.arrayContaining([
      ...[`API_BASE_URL=${server.url}`, 'API_AUTH=none', 'API_PAGING=page'],
      ...['API_PAGE_PARAM=_page', 'API_PAGE_BASE=1', 'API_SIZE_PARAM=_limit'],
    ]),
  )
  expect(found.stdout).toMatch(/ok +list rentals +a bare array, paging by page from 1 .*, a total of 25; 25 records/)

  // All else comes from `.env`, with pages of seven.
  const small = { API_PAGE_SIZE: '7' }
  const streams = ['users', 'companies', 'resources', 'rentals', 'rental_payments']
  expect(await cli.run(['sync', ...streams], small)).toMatchObject({ code: 0 })
  for (const [table, key] of [...streams.slice(0, 4).map((name) => [name, name]), ['rental_payments', 'payments']]) {
    const { rows } = await database.pool.query(`select id from live.${table} order by id`)
    const ids = truth[key ?? '']?.map(({ id }) => Number(id)).sort((a, b) => a - b)
    expect({ table, ids: rows.map(({ id }) => Number(id)) }).toEqual({ table, ids })
  }

  const userId = truth.users?.[0]?.id
  await database.pool.query(`select outbox.enqueue('user.update', $1, $2)`, [{ userId }, { lastName: 'Le Goff' }])
  const made = { firstName: 'Ana', lastName: 'Newcomer', email: 'ana@example.com' }
  await database.pool.query(`select outbox.enqueue('user.create', '{}', $1)`, [made])
  const pushed = await cli.run(['push'], small)
  expect(pushed.stdout.match(/ done /g)).toHaveLength(2)
  const { users } = await server.collections()
  expect(users?.find(({ id }) => id === userId)).toMatchObject({ lastName: 'Le Goff' })
  expect(users?.filter(({ email }) => email === made.email)).toEqual([expect.objectContaining(made)])
  expect(users).toHaveLength((truth.users?.length ?? 0) + 1)
})
