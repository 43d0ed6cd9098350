// Changes of a token belong to its database role: rights, limits and references are those of the role.

import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { saveOutboxLimit } from '../../src/outbox/inspect.ts'
import { grantCompanies } from '../../src/serve/access/company-access.ts'
import { revokeToken } from '../../src/serve/access/tokens.ts'
import { opened } from '../helpers/opened.ts'
import { openWrites } from './writes-rig.ts'

const role = `serve_${randomBytes(4).toString('hex')}`

const served = opened(() => openWrites({ timeoutMs: 10_000 }))
/** A rental of the company that the token may see, and one of another. */
let own = 0
let foreign = 0
beforeAll(async () => {
  const { database, mirror } = served.rig
  own = served.planner.rental()
  foreign = served.planner.rental()
  for (const id of [own, foreign]) await mirror('rentals', { id })
  await database.pool.query('update mirror.rentals set company_id = case id when $1 then 1 else 2 end', [own])
  await database.pool.query(`create role ${role} nologin in role boat_mirror_enqueue`)
  await database.transaction((client) => grantCompanies(client, role, ['1']))
  const rights = { companies: ['1'], personal: true, write: true, tagKey: 'any' }
  served.callers.shop = { ...rights, token: { id: '7', name: 'shop' }, role }
  served.callers.revoked = { ...rights, token: { id: '8', name: 'revoked' }, role: `${role}_gone` }
})
afterAll(() => served.rig.database.pool.query(`drop owned by ${role}; drop role ${role}`))

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
    // What it brings back must not replace what a later test writes into the mirror.
    await expect
      .poll(async () => (await pool.query('select from outbox.queue where settled_at is null')).rowCount)
      .toBe(0)
    expect(statuses.map(({ status }) => status)).toEqual([202, 429])
    expect(statuses[1]?.headers.get('retry-after')).toBe('5')
  })

  it('is answered as before where it repeats a request, though it may not write to the record any more', async () => {
    const { pool } = served.rig.database
    const headers = { 'idempotency-key': 'before the boat was sold' }
    const first = await put(own, 'sold', 'shop', headers)
    await pool.query('update mirror.rentals set company_id = 2 where id = $1', [own])
    const again = await put(own, 'sold', 'shop', { ...headers, 'if-match': '"of another version"' })
    const other = await put(own, 'sold since', 'shop')
    await pool.query('update mirror.rentals set company_id = 1 where id = $1', [own])
    expect([first.status, again.status, again.text, other.status]).toEqual([200, 200, first.text, 403])
  })

  describe('that is revoked', () => {
    const shop = `insert into sync.access_tokens (id, name, hash, role, personal, write) overriding system value
      values (7, 'shop', '', '${role}', true, true)`
    beforeEach(() => served.rig.database.pool.query(shop))
    afterEach(() => served.rig.database.pool.query('delete from sync.access_tokens where id = 7'))

    it('queues nothing any more, though it was let in before', async () => {
      const { pool } = served.rig.database
      const before = await pool.query('select count(*) from outbox.queue')
      const waiting = await served.rig.database.transaction(async (client) => {
        await revokeToken(client, 'shop')
        const answer = put(own, 'too late', 'shop')
        const held = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
        await expect.poll(async () => (await pool.query(held)).rowCount).toBe(1)
        return { answer }
      })
      expect((await waiting.answer).status).toBe(401)
      expect((await pool.query('select count(*) from outbox.queue')).rows).toEqual(before.rows)
    })

    it('is told why its change was not sent, if it waits for the answer', async () => {
      const { database } = served.rig
      await served.pause()
      const answer = put(own, 'unsent', 'shop')
      const queued = `select from outbox.queue where status = 'queued' and body ->> 'orderLink' like '%unsent'`
      await expect.poll(async () => (await database.pool.query(queued)).rowCount).toBe(1)
      await database.transaction((client) => revokeToken(client, 'shop'))
      served.push()
      const { status, json } = await answer
      expect([status, json]).toMatchObject([409, { detail: expect.stringContaining('token 7 (shop) was revoked') }])
      expect(served.rig.truth('rentals', { id: own })?.orderLink).not.toBe('https://example.com/unsent')
    })
  })

  it('withdraws its own conflict', async () => {
    const free = served.rig.sandbox.truth({ only: ['rentals'] }).rentals?.find(({ record }) => !record.user)
    const rentalId = Number(free?.key.id)
    await served.rig.mirror('rentals', { id: rentalId })
    await served.rig.database.pool.query('update mirror.rentals set company_id = 1 where id = $1', [rentalId])
    const [first, second] = [served.planner.user(), served.planner.user()]
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
