// What the mirror does not know is asked of the API, and what a caller wants to be fresh is read first.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { erasePerson } from '../../src/mirror/persons.ts'
import type { Caller } from '../../src/serve/types.ts'
import { opened } from '../helpers/opened.ts'
import { type Got, openReads } from './reads-rig.ts'

const rig = opened(() => openReads({ sandbox: { size: 20 }, settings: { serveFreshLimit: 5 } }))
beforeAll(async () => {
  await rig.mirror.stopWorker()
})

/** Each test has a token of its own, and so its own minute. */
let token = ''
beforeEach(async ({ task }) => {
  token = task.id
  for (const id of [token, `before ${token}`])
    rig.callers[id] = { ...rig.callers.all, token: { id, name: 'test' } } as Caller
  rig.mirror.sandbox.clearFaults()
  // Tests run in random order: the read after an erasure is made twice, and belongs to no other test.
  await rig.get(`/v3/rentals/${await firstRental()}`, { token: `before ${token}`, headers: noCache })
  rig.mirror.sandbox.resetRequests()
})
const get = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Got> =>
  rig.get(path, { token, headers })

const all = async <R extends object>(sql: string): Promise<R[]> =>
  (await rig.mirror.app.database.pool.query<R & Record<string, unknown>>(sql)).rows

const firstRental = async (): Promise<string> =>
  (await all<{ id: string }>('select id from mirror.rentals where user_id is not null order by id limit 1'))[0]?.id ??
  ''

/** Erases a user, and returns their id. */
async function eraseSomebody(): Promise<string> {
  const [{ id } = { id: '' }] = await all<{ id: string }>(
    'select id from mirror.users where not deactivated order by id desc limit 1',
  )
  await rig.mirror.app.database.transaction((client) => erasePerson(client, id, false))
  return id
}

const asked = (): readonly string[] => rig.mirror.sandbox.requests().map(({ method, path }) => `${method} ${path}`)

const noCache = { 'cache-control': 'no-cache' }
const noStale = { 'cache-control': 'no-cache, stale-if-error=0' }

describe('a record that the mirror does not know', () => {
  it.each([
    ['known only from inside another record', `update mirror.rentals set _source = 'GET /v3/x#y' where id = `],
    [
      'that cannot be mirrored',
      `insert into sync.quarantine (stream, key, endpoint, payload, reason) select 'rentals', id, 'x', '{}', 'x' from mirror.rentals where id = `,
    ],
  ])('%s is read from the API, and stored', async (_, sql) => {
    const id = await firstRental()
    await all(sql + id)
    const path = `/v3/rentals/${id}`
    expect((await get(path)).json).toEqual((await rig.ask(path)).json)
    rig.mirror.sandbox.resetRequests()
    expect((await get(path)).status).toBe(200)
    expect(asked()).toEqual([])
  })

  it('is 503 with Retry-After where the API cannot be asked', async () => {
    const id = await firstRental()
    await all(`update mirror.rentals set _source = 'GET /v3/x#y' where id = ${id}`)
    rig.mirror.sandbox.fault({ op: 'GET *', respond: { status: 400 } })
    const { status, headers } = await get(`/v3/rentals/${id}`)
    expect(status).toBe(503)
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  })

  it('is what hangs below it where that was not read', async () => {
    const id = await firstRental()
    await all(`update sync.records set detail_read_at = null where key = '${id}'`)
    for (const below of ['options', 'payments', 'crewMembers', 'resource']) {
      const path = `/v3/rentals/${id}/${below}`
      expect([below, (await get(path)).json]).toEqual([below, (await rig.ask(path)).json])
    }
  })
})

describe('a fresh read', () => {
  it('shows what the API shows now, and so do later reads', async () => {
    const path = `/v3/rentals/${await firstRental()}`
    const before = await get(path)
    rig.mirror.sandbox.mutate([
      { record: 'rentals', op: 'update', id: path.split('/').at(-1) ?? '', set: { message: 'new' } },
    ])
    expect((await get(path)).json).toEqual(before.json)
    const fresh = await get(path, noCache)
    expect(fresh.json).toMatchObject({ message: 'new' })
    expect(fresh.headers.get('age')).toBe('0')
    const later = await get(path)
    expect([later.json, later.headers.get('etag')]).toEqual([fresh.json, fresh.headers.get('etag')])
    expect((await get(`${path}?fresh=1`)).json).toEqual(fresh.json)
  })

  it('is one for all that ask at the same moment', async () => {
    const path = `/v3/rentals/${await firstRental()}`
    rig.mirror.sandbox.fault({ op: 'GET *', respond: { delayMs: 1_000 } })
    const answers = await Promise.all(Array.from({ length: 8 }, () => get(path, noCache)))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200))
    expect(asked()).toEqual([`GET ${path}`])
  })

  it('is allowed so often a minute to each token', async () => {
    const path = `/v3/rentals/${await firstRental()}`
    const statuses: number[] = []
    for (let i = 0; i < 6; i++) statuses.push((await get(path, noCache)).status)
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429])
    expect((await rig.get(path, { headers: noCache, token: 'all' })).status).toBe(200)
    expect((await get(path)).status).toBe(200)
  })

  it('is the stored record with a warning while the API is away', async () => {
    const path = `/v3/rentals/${await firstRental()}`
    const before = await get(path)
    rig.mirror.sandbox.fault({ op: 'GET *', respond: { status: 400 } })
    const { status, json, headers } = await get(path, noCache)
    expect([status, json, headers.get('warning')]).toEqual([200, before.json, '111 - "Revalidation Failed"'])
    expect(headers.get('x-as-of')).toBe(before.headers.get('x-as-of'))
  })

  it('is none of what is stored where the caller says so', async () => {
    const path = `/v3/rentals/${await firstRental()}`
    rig.mirror.sandbox.fault({ op: 'GET *', respond: { status: 400 } })
    const { status, headers } = await get(path, noStale)
    expect(status).toBe(503)
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  })

  it('is one of all that hangs below a record, where no stored record does', async () => {
    const [{ id } = { id: '' }] = await all<{ id: string }>('select max(id) as id from mirror.rentals')
    const path = `/v3/rentals/${id}/payments`
    const before = await get(path)
    const set = { currency: 'EUR', method: { id: 1 }, price: 1, reference: 'new' }
    rig.mirror.sandbox.mutate([{ record: 'rental_payments', op: 'insert', parent: id, set }])
    expect((await get(path)).json).toEqual(before.json)
    expect((await get(path, noCache)).json).toEqual(before.json)
    expect((await get(path, noStale)).json).toEqual((await rig.ask(path)).json)
  })

  it('looks for an unknown id once a minute', async () => {
    for (let i = 0; i < 3; i++) expect((await get('/v3/rentals/999999', noCache)).status).toBe(404)
    expect(asked()).toEqual(['GET /v3/rentals/999999'])
  })

  it('is read again where somebody was erased since the last one', async () => {
    const path = `/v3/rentals/${await firstRental()}`
    await eraseSomebody()
    const { headers } = await get(path, noCache)
    expect([headers.get('warning'), headers.get('age')]).toEqual([null, '0'])
    expect(asked()).toEqual([`GET ${path}`, `GET ${path}`])
  })

  it('is none of a list, nor of somebody who is erased', async () => {
    await get('/v3/rentals', noCache)
    const id = await eraseSomebody()
    expect((await get(`/v3/users/${id}`, noCache)).json).toEqual({ id: Number(id) })
    expect(asked()).toEqual([])
  })
})
