// Changes of a token belong to its database role: rights, limits and references are those of the role.

import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { saveOutboxLimit } from '../../src/outbox/limit.ts'
import { grantCompanies } from '../../src/state/company-access.ts'
import { Planner } from '../outbox/plans.ts'
import { openWrites, type WritesRig } from './writes-rig.ts'

const role = `serve_${randomBytes(4).toString('hex')}`

let served: WritesRig
let planner: Planner
/** A rental of the company that the token may see, and one of another. */
let own = 0
let foreign = 0
beforeAll(async () => {
  served = await openWrites()
  const { database, sandbox, mirror } = served.rig
  planner = new Planner(sandbox)
  own = planner.rental()
  foreign = planner.rental()
  for (const id of [own, foreign]) await mirror('rentals', { id })
  await database.pool.query('update mirror.rentals set company_id = case id when $1 then 1 else 2 end', [own])
  await database.pool.query(`create role ${role} nologin in role boat_mirror_enqueue`)
  await database.transaction((client) => grantCompanies(client, role, ['1']))
  const rights = { companies: ['1'], personal: true, write: true }
  served.callers.shop = { ...rights, token: { id: '7', name: 'shop' }, role }
  served.callers.revoked = { ...rights, token: { id: '8', name: 'revoked' }, role: `${role}_gone` }
})
afterAll(async () => {
  await served.rig.database.pool.query(`drop owned by ${role}; drop role ${role}`)
  await served[Symbol.asyncDispose]()
})

const put = (rentalId: number, mark: string, token: string, headers: Record<string, string> = {}) =>
  served.send({
    method: 'PUT',
    path: `/v3/rentals/${rentalId}`,
    body: { orderLink: `https://example.com/${mark}` },
    token,
    headers,
  })

describe('a token with a role', () => {
  it('queues changes as that role, by the reference that its program gave', async () => {
    const got = await put(own, 'role', 'shop', { 'idempotency-key': 'order 17' })
    expect(got.status, got.text).toBe(200)
    const { rows } = await served.rig.database.pool.query(
      'select enqueued_by, status from outbox.queue where reference = $1',
      ['order 17'],
    )
    expect(rows).toEqual([{ enqueued_by: role, status: 'done' }])
  })

  it('writes to nothing of another company, and is answered 403', async () => {
    const got = await put(foreign, 'foreign', 'shop')
    expect(got.status).toBe(403)
    expect(served.rig.truth('rentals', { id: foreign })?.orderLink).not.toBe('https://example.com/foreign')
  })

  it('is answered 429 where it has as many open changes as OUTBOX_LIMIT allows', async () => {
    const { pool } = served.rig.database
    await served.pause()
    await saveOutboxLimit(pool, 1)
    const later = { prefer: 'respond-async' }
    const statuses = [await put(own, 'first', 'shop', later), await put(own, 'second', 'shop', later)]
    await saveOutboxLimit(pool, null)
    served.push()
    expect(statuses.map(({ status }) => status)).toEqual([202, 429])
    expect(statuses[1]?.headers.get('retry-after')).toBe('5')
  })

  it('withdraws its own conflict', async () => {
    const free = served.rig.sandbox.truth({ only: ['rentals'] }).rentals?.find(({ record }) => !record.user)
    const rentalId = Number(free?.key.id)
    await served.rig.mirror('rentals', { id: rentalId })
    await served.rig.database.pool.query('update mirror.rentals set company_id = 1 where id = $1', [rentalId])
    const [first, second] = [planner.user(), planner.user()]
    // Customers of rentals of the company may be assigned.
    await served.rig.mirror('rentals', { id: own })
    await served.rig.database.pool.query('update mirror.rentals set company_id = 1, user_id = $2 where id = $1', [
      own,
      second,
    ])
    served.rig.sandbox.mutate([{ record: 'rentals', op: 'update', id: rentalId, set: { user: { id: first } } }])
    const path = `/v3/rentals/${rentalId}/user`
    const got = await served.send({ method: 'POST', path, body: { userId: second }, token: 'shop' })
    expect([got.status, got.json]).toMatchObject([409, { state: 'canceled', errors: [{ field: 'userId' }] }])
  })

  it('whose role is gone is answered 403, and queues nothing', async () => {
    const before = await served.rig.database.pool.query('select count(*) from outbox.queue')
    const got = await put(own, 'gone', 'revoked')
    expect([got.status, got.json]).toMatchObject([403, { detail: expect.stringContaining('role') }])
    expect((await served.rig.database.pool.query('select count(*) from outbox.queue')).rows).toEqual(before.rows)
  })
})
