// A record that cannot be mirrored does not keep its list from being served: it stands there as it was received.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { opened } from '../helpers/opened.ts'
import { type Got, openReads } from './reads-rig.ts'

let rental: Record<string, unknown>
let user: Record<string, unknown>

const all = async <R extends object>(sql: string): Promise<R[]> =>
  (await rig.mirror.app.database.pool.query<R & Record<string, unknown>>(sql)).rows

const raw = (record: 'rentals' | 'users' | 'harbours', body: Record<string, unknown>): void =>
  rig.mirror.sandbox.raw({ record, id: String(body.id) }, JSON.stringify(body))

const quarantined = async (): Promise<readonly string[]> =>
  (await all<{ key: string }>(`select stream || ' ' || key as key from sync.quarantine order by 1`)).map(
    ({ key }) => key,
  )

const asked = (): readonly string[] => rig.mirror.sandbox.requests().map(({ path }) => path)

/** Reads the records alone, so that they go to quarantine, or leave it. */
async function readAgain(): Promise<void> {
  for (const path of [`/v3/rentals/${rental.id}`, '/v3/harbours/990001', `/v3/users/${user.id}`])
    await rig.get(`${path}?fresh=1`)
}

const firstOf = async (path: string): Promise<Record<string, unknown>> => {
  const records = (await rig.ask(path)).json as Record<string, unknown>[]
  return records[Math.floor(records.length / 2)] ?? {}
}

const rig = opened(() => openReads({ sandbox: { size: 14 }, sync: false, settings: { serveFreshLimit: 1_000 } }))
beforeAll(async () => {
  // A user whom no rental shows.
  rig.mirror.sandbox.mutate([{ record: 'users', op: 'insert', id: '990002', set: { deactivated: true } }])
  await rig.mirror.sync({ streams: ['rentals', 'harbours', 'users'] })
  await rig.mirror.stopWorker()
  rental = await firstOf('/v3/rentals?perPage=100')
  user = (await rig.ask('/v3/users/990002')).json as Record<string, unknown>
})

/** One that has a row, one that is new, and one that is on its list only if it is asked for. */
function spoil(): void {
  raw('rentals', { ...rental, crewAdults: 'many' })
  raw('harbours', { id: 990_001, name: 'Nowhere', latitude: 'no number' })
  raw('users', { ...user, email: { of: 'somebody' } })
}

beforeEach(async () => {
  rig.mirror.sandbox.clearFaults()
  spoil()
  await readAgain()
  expect(await quarantined()).toEqual(['harbours 990001', `rentals ${rental.id}`, `users ${user.id}`])
  rig.mirror.sandbox.resetRequests()
})

/** Status and body, and the total where there is one. */
const said = ({ status, json }: Got): unknown => [status, json]

describe('a list with a record that cannot be mirrored', () => {
  it.each([
    '/v3/harbours',
    '/v3/users?perPage=100',
    '/v3/users?perPage=100&deactivated=true',
    ...[1, 2, 3, 4, 5].map((page) => `/v3/rentals?perPage=3&page=${page}`),
    '/v3/rentals?perPage=100&order=creationDateAsc',
    '/v3/rentals?perPage=5&page=2&order=creationDateDesc',
    '/v3/rentals?perPage=100&status=VALIDATED',
  ])('is what the API answers: %s', async (path) => {
    expect([path, said(await rig.get(path))]).toEqual([path, said(await rig.ask(path))])
  })

  it('holds it where a filter asks for it alone, and counts it', async () => {
    const { json, headers } = await rig.get(`/v3/rentals?id=${rental.id}`)
    expect([json, headers.get('x-total-count')]).toEqual([[{ ...rental, crewAdults: 'many' }], '1'])
  })

  it('asks the API for nothing, and is answered while the API cannot be asked', async () => {
    rig.mirror.sandbox.fault({ op: 'GET *', respond: { status: 400 } })
    for (const path of ['/v3/rentals?perPage=2', '/v3/harbours', '/v3/users'])
      expect((await rig.get(path)).status).toBe(200)
    expect(asked()).toEqual([])
  })

  it('shows it without what the caller may not see', async () => {
    const { json } = await rig.get(`/v3/rentals?id=${rental.id}`, { token: 'impersonal' })
    const [shown = {}] = json as Record<string, unknown>[]
    expect([shown.crewAdults, shown.message]).toEqual(['many', undefined])
    for (const name of ['firstName', 'lastName', 'email', 'birthDate']) {
      expect(rental.user).toHaveProperty(name)
      expect(shown.user).not.toHaveProperty(name)
    }
  })

  it('is 503 to a token of some companies, because nothing says whose it is', async () => {
    rig.callers.some = {
      token: { id: '9', name: 'some' },
      role: null,
      companies: ['1'],
      personal: true,
      write: false,
      tagKey: 'some',
    }
    expect((await rig.get('/v3/rentals', { token: 'some' })).status).toBe(503)
    expect((await rig.get('/v3/harbours', { token: 'some' })).status).toBe(200)
  })

  it('is 503 where a filter asks for what another read says of it', async () => {
    await all(`update mirror.rentals set resource_id = 'r1'`)
    const { status, json } = await rig.get('/v3/rentals?resourceId=r1')
    expect([status, json]).toMatchObject([503, { detail: expect.stringContaining('its resource_id does not say') }])
  })

  it('is 503 with Retry-After where its place in the order is not known', async () => {
    raw('rentals', { ...rental, creationDatetime: 'lately' })
    await readAgain()
    const { status, headers } = await rig.get('/v3/rentals?perPage=100&order=creationDateAsc')
    expect(status).toBe(503)
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    const path = '/v3/rentals?perPage=100'
    expect(said(await rig.get(path))).toEqual(said(await rig.ask(path)))
  })

  it('is 503 where it is about a person who was erased', async () => {
    await all(`insert into sync.erased (stream, key) values ('users', '${user.id}')`)
    expect((await rig.get('/v3/users?deactivated=true')).status).toBe(503)
    await all(`delete from sync.erased`)
    expect((await rig.get('/v3/users?deactivated=true')).status).toBe(200)
  })

  it('is without it if the last complete sweep no longer showed it, and has its row once it is good', async () => {
    const asOf = (to: string): Promise<unknown> =>
      all(`update sync.streams set as_of = ${to} where stream = 'harbours'`)
    await asOf('clock_timestamp()')
    const ids = async (): Promise<unknown> =>
      ((await rig.get('/v3/harbours')).json as { id: number }[]).map(({ id }) => id)
    expect(await ids()).not.toContain(990_001)
    await asOf(`as_of - interval '1 h'`)
    expect(await ids()).toContain(990_001)
    raw('rentals', rental)
    await readAgain()
    const path = '/v3/rentals?perPage=100'
    expect(said(await rig.get(path))).toEqual(said(await rig.ask(path)))
    expect(await quarantined()).toEqual(['harbours 990001', `users ${user.id}`])
  })
})
