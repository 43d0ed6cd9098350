// How long a served write waits, and what it is answered when the change does not end as wished.

import { afterEach, describe, expect, it } from 'vitest'
import { pruneHistory } from '../../src/mirror/history.ts'
import { opened } from '../helpers/opened.ts'
import { Planner } from '../outbox/plans.ts'
import { type Got, openWrites } from './writes-rig.ts'

const served = opened(() => openWrites({ timeoutMs: 400 }))
afterEach(() => {
  served.rig.sandbox.clearFaults()
  served.push()
})

const put = (rentalId: number, body: object, headers: Record<string, string> = {}) =>
  served.send({ method: 'PUT', path: `/v3/rentals/${rentalId}`, body, headers })
const stateAt = async (got: Got, token = 'writer'): Promise<Got> =>
  served.send({ method: 'GET', path: got.headers.get('location') ?? 'none', token })
const link = (mark: string) => ({ orderLink: `https://example.com/${mark}` })

describe('with Prefer: respond-async', () => {
  it('a write is answered 202 at once; its address shows state and result, to its own token alone', async () => {
    await served.pause()
    const got = await put(served.planner.rental(), link('async'), { prefer: 'return=minimal, respond-async' })
    expect([got.status, got.headers.get('location'), got.headers.get('preference-applied')]).toEqual([
      202,
      expect.stringMatching(/^\/changes\/\d+$/),
      'respond-async',
    ])
    expect((await stateAt(got)).json).toMatchObject({ operation: 'rental.update', state: 'queued', answer: null })
    expect((await stateAt(got, 'other')).status).toBe(404)
    expect((await stateAt(got, '')).status).toBe(404)
    served.push()
    await expect
      .poll(async () => (await stateAt(got)).json)
      .toMatchObject({
        state: 'done',
        answer: { status: 200, body: link('async') },
      })
  })

  it('a change that nobody asked for over HTTP has no address', async () => {
    const id = await served.rig.queue('rental.update', { rentalId: served.planner.rental() }, link('sql'))
    for (const path of [`/changes/${id}`, '/changes/0', '/changes/x', '/changes/99999999999999999999'])
      expect((await served.send({ method: 'GET', path })).status).toBe(404)
  })
})

describe('a wait that runs out', () => {
  it('is answered 504 with the address of the change, which goes on', async () => {
    await using short = await openWrites({ waitMs: 150 })
    const rentalId = new Planner(short.rig.sandbox).rental()
    await short.pause()
    const got = await short.send({ method: 'PUT', path: `/v3/rentals/${rentalId}`, body: link('late') })
    const location = got.headers.get('location') ?? ''
    expect([got.status, got.json]).toMatchObject([504, { status: 504, location, state: 'queued' }])
    short.push()
    const again = () => short.send({ method: 'GET', path: location })
    await expect.poll(async () => (await again()).json).toMatchObject({ state: 'done' })
    expect(short.rig.truth('rentals', { id: rentalId })).toMatchObject(link('late'))
  })

  it('ends early where the change is settled, also where no NOTIFY comes through', async () => {
    await using deaf = await openWrites({ listens: false })
    const rentalId = new Planner(deaf.rig.sandbox).rental()
    const got = await deaf.send({ method: 'PUT', path: `/v3/rentals/${rentalId}`, body: link('deaf') })
    expect(got.status).toBe(200)
  })
})

describe('a conflict', () => {
  it('is answered 409 with its fields, and the change is withdrawn: it neither holds the record nor is sent later', async () => {
    const [rentalId, userId, other] = [
      Number(served.rig.sandbox.truth({ only: ['rentals'] }).rentals?.find(({ record }) => !record.user)?.key.id),
      served.planner.user(),
      served.planner.user(),
    ]
    const assign = (id: number) =>
      served.send({ method: 'POST', path: `/v3/rentals/${rentalId}/user`, body: { userId: id } })
    expect((await assign(userId)).status).toBe(200)
    const got = await assign(other)
    expect([got.status, got.json]).toMatchObject([
      409,
      { state: 'canceled', conflict: { userId: { local: other, remote: userId } } },
    ])
    expect((await stateAt(got)).json).toMatchObject({ state: 'canceled', answer: { status: 409 } })
    const again = await assign(other)
    expect([again.status, again.headers.get('location')]).toEqual([409, got.headers.get('location')])
    expect((await put(rentalId, link('goes on'))).status).toBe(200)
  })

  it('shows no values to a token that may not see those of persons', async () => {
    const owner = served.rig.sandbox.truth({ only: ['user_identities'] }).user_identities?.[0]
    const path = `/v3/users/${owner?.key.user_id}/identity`
    const body = { number: 'another', type: 'PASSEPORT' }
    const got = await served.send({ method: 'POST', path, body, token: 'impersonal' })
    expect([got.status, got.json]).toMatchObject([
      409,
      { errors: expect.arrayContaining([expect.objectContaining({ field: 'number' })]) },
    ])
    expect(got.text).not.toContain(String(owner?.record.number))
  })
})

describe('a change whose fate is not known', () => {
  it('is answered 504, also when the same request comes again, and is not sent twice; a person decides', async () => {
    served.rig.sandbox.fault({ op: 'POST /v3/users', times: 1, respond: 'dropAfterEffect' })
    const send = () => served.send({ method: 'POST', path: '/v3/users', body: { addressCity: 'Nowhere-sur-Mer' } })
    const first = await send()
    // The API refuses a user without a name, so that this one can only be found by chance.
    const second = await send()
    for (const got of [first, second]) expect([got.status, got.json]).toMatchObject([504, { state: 'unknown' }])
    expect(second.headers.get('location')).toBe(first.headers.get('location'))
    const posts = served.rig.writes().filter(({ path }) => path === '/v3/users')
    expect(posts).toHaveLength(1)
    expect((await stateAt(first)).json).toMatchObject({ state: 'unknown', answer: null })
    const { change } = first.json as { change: string }
    await served.rig.decide('did_not', change)
    await expect
      .poll(async () => (await stateAt(first)).json)
      .toMatchObject({
        state: 'failed',
        answer: { status: 400 },
      })
  })
})

describe('a change that is not sent', () => {
  it('because it was canceled is answered 409, because its text cannot be written back 422', async () => {
    await served.pause()
    const canceled = await put(served.planner.rental(), link('canceled'), { prefer: 'respond-async' })
    const { change } = canceled.json as { change: string }
    await served.rig.database.pool.query('select outbox.cancel($1)', [change])
    expect((await stateAt(canceled)).json).toMatchObject({ state: 'canceled', answer: { status: 409 } })

    const rentalId = served.planner.rental()
    served.rig.sandbox.mutate([{ record: 'rentals', op: 'update', id: rentalId, set: { orderLink: 'a\u0000b' } }])
    served.push()
    const got = await put(rentalId, { orderLink: 'x\ufffd' })
    expect([got.status, got.json]).toMatchObject([422, { detail: expect.stringContaining('orderLink') }])
  })
})

it('what is known of requests goes with their changes', async () => {
  const got = await put(served.planner.rental(), link('old'))
  expect(got.status).toBe(200)
  await served.rig.database.pool.query(
    `update outbox.queue set settled_at = now() - interval '400 days' where status = 'done'`,
  )
  await pruneHistory(served.rig.database.pool, { historyDays: 90 })
  const { rows } = await served.rig.database.pool.query(
    'select r.change_id from outbox.requests r left join outbox.queue q on q.id = r.change_id where q.id is null',
  )
  expect(rows).toEqual([])
})
