// The 22 writes under their own method and path: each takes effect once, and is answered as the API answers it.

import { describe, expect, it } from 'vitest'
import { writes } from '../../src/catalog/writes.ts'
import { opened } from '../helpers/opened.ts'
import { effects, mirroredEffects } from '../outbox/effects.ts'
import { openWrites } from './writes-rig.ts'

const served = opened(() => openWrites({ env: { MIRROR_DOCUMENTS: 'on' } }))

const countOf = async (table: string): Promise<number> => {
  const { rows } = await served.rig.database.pool.query<{ count: string }>(`select count(*) from ${table}`)
  return Number(rows[0]?.count)
}

describe('a served write', () => {
  it('takes effect once for each operation, and is answered with the record as the API shows it', async () => {
    served.rig.sandbox.resetRequests()
    const plan = served.planner.plan()
    expect(new Set(plan.map(({ operation }) => operation))).toEqual(new Set(writes.map(({ operation }) => operation)))
    const answers = await Promise.all(
      plan.map(async (planned) => {
        const { method, path, body } = planned
        return { planned, got: await served.send({ method, path, ...(method !== 'DELETE' && { body }) }) }
      }),
    )
    for (const { planned, got } of answers) {
      const { operation, method, effect } = planned
      const seen = { operation, status: got.status, effects: effects(served.rig.sandbox, planned) }
      expect(seen, got.text).toEqual({ operation, status: method === 'DELETE' ? 204 : 200, effects: 1 })
      expect(await mirroredEffects(served.rig.database, planned)).toBe(1)
      if (method === 'DELETE') expect(got.text).toBe('')
      else if (operation === 'rental_user.assign') expect(got.json).toMatchObject({ id: planned.body.userId })
      else expect(got.json).toMatchObject(effect ?? {})
    }
    const requests = served.rig.writes().filter(({ status }) => status !== null && status < 300)
    expect(requests).toHaveLength(plan.length)
  })

  it('names the id of what it made', async () => {
    const { rentalId } = served.planner.freeOption()
    const line = { currency: 'EUR', method: { id: 1 }, price: 3, reference: 'with id' }
    const got = await served.send({ method: 'POST', path: `/v3/rentals/${rentalId}/payments`, body: line })
    const { id } = got.json as { id: number }
    expect(served.rig.truth('rental_payments', { rental_id: rentalId, id })).toMatchObject({ reference: 'with id' })
  })

  it('takes the types of the API: a reference as a number, a commission as text', async () => {
    const created = await served.send({
      method: 'POST',
      path: '/v3/rentals',
      body: { ...served.planner.slot(), referenceId: 4711 },
    })
    expect(created.json).toMatchObject({ referenceId: '4711' })
    const { rentalId, optionId } = served.planner.freeOption()
    const body = { optionId, quantity: 1, commissionPrice: '5.50' }
    const added = await served.send({ method: 'POST', path: `/v3/rentals/${rentalId}/options`, body })
    expect([added.status, served.rig.writes().at(-1)?.body]).toMatchObject([
      200,
      { commissionPrice: expect.any(String) },
    ])
  })

  it('leaves a field as it is that the body does not name, where the API would reset it', async () => {
    const rentalId = served.planner.rental()
    const before = served.rig.truth('rentals', { id: rentalId })
    await served.send({ method: 'PUT', path: `/v3/rentals/${rentalId}`, body: { rentalPrice: 1234.5 } })
    await served.send({ method: 'PUT', path: `/v3/rentals/${rentalId}`, body: { orderLink: 'https://example.com/o' } })
    const after = served.rig.truth('rentals', { id: rentalId })
    expect(after).toMatchObject({ rentalPrice: 1234.5, orderLink: 'https://example.com/o', status: before?.status })
  })

  it('goes over what others wrote meanwhile where it names no version, as at the API', async () => {
    const rentalId = served.planner.rental()
    await served.rig.mirror('rentals', { id: rentalId })
    const seen = served.rig.truth('rentals', { id: rentalId })
    served.rig.sandbox.mutate([
      { record: 'rentals', op: 'update', id: rentalId, set: { orderLink: 'https://example.com/theirs' } },
    ])
    const body = { orderLink: seen?.orderLink ?? null }
    const got = await served.send({ method: 'PUT', path: `/v3/rentals/${rentalId}`, body })
    expect([got.status, served.rig.truth('rentals', { id: rentalId })?.orderLink]).toEqual([
      200,
      seen?.orderLink ?? null,
    ])
  })

  it('ignores members that cannot be written, as the API does: a record goes back as it was read', async () => {
    const rentalId = served.planner.rental()
    const record = served.rig.truth('rentals', { id: rentalId })
    const body = { ...record, neverHeardOf: 1 }
    const got = await served.send({ method: 'PUT', path: `/v3/rentals/${rentalId}`, body })
    const { lastModificationDatetime: _, ...rest } = record ?? {}
    expect([got.status, served.rig.truth('rentals', { id: rentalId })]).toMatchObject([200, rest])
  })

  it('is answered as the API refuses it: status and body', async () => {
    const taken = served.rig.truth('users', { id: served.planner.user() })
    const body = { firstName: 'A', lastName: 'B', email: taken?.email }
    const got = await served.send({ method: 'POST', path: '/v3/users', body })
    expect([got.status, got.json]).toMatchObject([
      409,
      { code: 'CONFLICT', message: expect.stringContaining('already exists') },
    ])
    const slot = { resourceId: 'no such boat', slotId: 'x' }
    const wrong = await served.send({ method: 'POST', path: '/v3/rentals', body: slot })
    expect([wrong.status, wrong.json]).toMatchObject([400, { errors: [{ field: 'resourceId' }] }])
  })

  it('of a record that is not there is answered 404', async () => {
    const answers = await Promise.all([
      served.send({ method: 'PUT', path: '/v3/rentals/1', body: { orderLink: 'x' } }),
      served.send({ method: 'DELETE', path: '/v3/rentals/2' }),
      served.send({
        method: 'POST',
        path: '/v3/rentals/3/crewMembers',
        body: { firstName: 'A', lastName: 'B', type: 'ADULT' },
      }),
    ])
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404])
  })

  it('of several options is a change each, and is answered with an array', async () => {
    const { rentalId, optionId } = served.planner.freeOption()
    const add = (body: unknown) => served.send({ method: 'POST', path: `/v3/rentals/${rentalId}/options`, body })
    const one = await add([{ optionId, quantity: 1 }])
    expect([one.status, one.json]).toMatchObject([200, [{ option: { id: optionId } }]])
    const next = served.planner.freeOption()
    const mixed = await served.send({
      method: 'POST',
      path: `/v3/rentals/${next.rentalId}/options`,
      body: [
        { optionId: next.optionId, quantity: 2 },
        { optionId: 1, quantity: 1 },
      ],
    })
    expect([mixed.status, mixed.json]).toMatchObject([
      400,
      {
        changes: [
          { state: 'done', status: 200 },
          { state: 'failed', status: 400 },
        ],
      },
    ])
    expect((await add([])).status).toBe(400)
    expect((await served.send({ method: 'POST', path: '/v3/users', body: [{}] })).status).toBe(400)
  })
})

describe('a request that cannot be taken', () => {
  const cases = [
    { name: 'without a token', request: { token: '' }, status: 401 },
    { name: 'with a token that may not write', request: { token: 'reader' }, status: 403 },
    { name: 'that is no JSON', request: { body: '{"orderLink": ' }, status: 400 },
    { name: 'with a body that is no object', request: { body: '"x"' }, status: 400 },
    { name: 'without a body', request: {}, status: 400 },
    {
      name: 'of a form',
      request: { body: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      status: 415,
    },
    { name: 'of plain text', request: { body: '{}', headers: { 'content-type': 'text/plain' } }, status: 415 },
    { name: 'of more than a megabyte', request: { body: { orderLink: 'x'.repeat(1_100_000) } }, status: 413 },
    {
      name: 'of a rental that is no number',
      request: { path: '/v3/rentals/x', body: { orderLink: 'x' } },
      status: 400,
      field: 'rentalId',
    },
    {
      name: 'with a status that cannot be written',
      request: { body: { status: 'PENDING' } },
      status: 400,
      field: 'status',
    },
    {
      name: 'with a hash of the mirror',
      request: { body: { orderLink: 'bmh1:abc' } },
      status: 422,
      field: 'orderLink',
    },
    { name: 'with a NUL', request: { body: '{"orderLink": "a\\u0000b"}' }, status: 400, field: 'orderLink' },
    {
      name: 'with half of a surrogate pair, wherever it is',
      request: { body: '{"orderLink": "x", "note": [{"to": "\\ud83d"}]}' },
      status: 400,
      field: 'note.0.to',
    },
    {
      name: 'with a NUL in a name',
      request: { method: 'POST', path: '/v3/users', body: '{"address": {"a\\u0000": 1}}' },
      status: 400,
      field: 'address.a\0',
    },
    {
      name: 'with a reference that is too long',
      request: { body: { orderLink: 'x' }, headers: { 'idempotency-key': 'x'.repeat(500) } },
      status: 400,
    },
  ] as const
  for (const { name, request, status, ...rest } of cases)
    it(`${name} is answered ${status} as problem+json, and queues nothing`, async () => {
      const before = await countOf('outbox.queue')
      const got = await served.send({ method: 'PUT', path: '/v3/rentals/1', ...request })
      expect([got.status, got.headers.get('content-type')]).toEqual([
        status,
        expect.stringContaining('application/problem+json'),
      ])
      if ('field' in rest) expect(got.json).toMatchObject({ errors: [{ field: rest.field }] })
      expect(await countOf('outbox.queue')).toBe(before)
    })
})
