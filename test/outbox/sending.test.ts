// The moment of sending: what allowed a change when it was claimed must allow it still when it leaves, however long the reads, the
// rate limit or a pause took in between.

import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { freePermit, type Limiter, unlimited } from '../../src/api/admission/rate-limit.ts'
import { grantCompanies, revokeCompanies } from '../../src/serve/access/company-access.ts'
import { asRole } from '../helpers/roles.ts'
import { newPayment } from './plans.ts'
import { sharedRig } from './rig.ts'

const rig = sharedRig()
const partner = `partner_${randomUUID().slice(0, 8)}`
beforeAll(() => sql(`create role ${partner} in role boat_mirror_enqueue`))
afterAll(() => sql(`drop role ${partner}`))
afterEach(() => rig.sandbox.clearFaults())

const sql = (text: string, values: unknown[] = []) => rig.database.pool.query(text, values)
const orderLink = 'https://example.com/sent'

/** Queues as the partner. */
const queueAsPartner = (operation: string, target: object, body: object): Promise<string> =>
  asRole(rig.database.pool, partner, async (client) => {
    const asked = [operation, JSON.stringify(target), JSON.stringify(body)]
    return String((await client.query('select outbox.enqueue($1, $2, $3) as id', asked)).rows[0]?.id)
  })

const hour = 3_600_000
const soon = (): string => new Date(Date.now() + hour / 2).toISOString()
let passedMs = 0

/** Pushes. `meanwhile` happens while the first change waits for its read, or for its write to leave. */
async function pushWhile(waits: 'read' | 'write', meanwhile: () => Promise<unknown>): Promise<void> {
  let requests = 0
  const limiter: Limiter = {
    ...unlimited,
    acquire: async () => {
      requests++
      if (requests === (waits === 'read' ? 1 : 2)) await meanwhile()
      return freePermit
    },
  }
  passedMs = 0
  const clock = { now: () => new Date(Date.now() + passedMs) }
  await rig.pushAs({ limiter, concurrency: 1, timeoutMs: 20_000, changes: { clock } })
}
const expireNow = (id: string) =>
  sql(`update outbox.queue set expires_at = clock_timestamp() - interval '1 ms' where id = $1`, [id])
const writesTo = (rentalId: number) => rig.writes(`/v3/rentals/${rentalId}`)

describe('a change whose expires_at passes', () => {
  const ends = { status: 'expired', error: 'Not sent before its expires_at.', attempts: 0, sent_at: null }

  it('while the record is read is not sent, and blocks what refers to it', async () => {
    const rentalId = rig.planner.rental()
    const id = await rig.queue('rental_payment.add', { rentalId }, newPayment('too late'), { expires_at: soon() })
    const paymentId = { change: Number(id) }
    const edit = await rig.queue('rental_payment.update', { rentalId, paymentId }, { price: 11 })
    rig.sandbox.resetRequests()
    await pushWhile('read', () => expireNow(id))
    expect(await rig.change(id)).toMatchObject({ ...ends, request: null })
    expect((await rig.change(edit)).status).toBe('blocked')
    expect(rig.writes()).toEqual([])
  })

  it('while the request waits for the rate limit is not sent', async () => {
    const rentalId = rig.planner.rental()
    const id = await rig.queue('rental.update', { rentalId }, { orderLink }, { expires_at: soon() })
    await pushWhile('write', async () => {
      expect((await rig.change(id)).sent_at).not.toBeNull() // it was marked in time
      passedMs += hour
      await expireNow(id)
    })
    expect(await rig.change(id)).toMatchObject(ends)
    expect(writesTo(rentalId)).toEqual([])
  })
})

describe('a change whose role', () => {
  it('may not queue it any more is not sent, until it may again', async () => {
    const rentalId = rig.planner.rental()
    const id = await queueAsPartner('rental.update', { rentalId }, { orderLink })
    await pushWhile('read', () => sql(`revoke boat_mirror_enqueue from ${partner}`))
    expect(await rig.change(id)).toMatchObject({
      status: 'failed',
      attempts: 0,
      error: `Not sent: Change ${id} was queued by role ${partner}, which may no longer queue changes. Once it may be sent, run: boat-mirror changes retry ${id}.`,
    })
    expect(writesTo(rentalId)).toEqual([])
    await sql(`grant boat_mirror_enqueue to ${partner}`)
    await rig.decide('retry', id)
    await rig.push()
    expect((await rig.change(id)).status).toBe('done')
  })

  it('sees the companies of other rentals only is not sent', async () => {
    const rentalId = rig.planner.rental()
    await rig.mirror('rentals', { id: rentalId })
    const id = await queueAsPartner('rental.update', { rentalId }, { orderLink })
    try {
      await pushWhile('read', () => rig.database.transaction((client) => grantCompanies(client, partner, ['999'])))
      expect(await rig.change(id)).toMatchObject({ status: 'failed', error: expect.stringContaining('companies 999') })
      expect(writesTo(rentalId)).toEqual([])
    } finally {
      await rig.database.transaction((client) => revokeCompanies(client, partner))
    }
  })

  it('is dropped is held, and says so: it is sent when it was handed over to another, and nothing waits for it', async () => {
    const [first, second] = [rig.planner.rental(), rig.planner.rental()]
    const ids = [
      await queueAsPartner('rental.update', { rentalId: first }, { orderLink }),
      await queueAsPartner('rental.update', { rentalId: second }, { orderLink }),
    ]
    await pushWhile('read', () => sql(`drop role ${partner}`))
    for (const id of ids)
      expect(await rig.change(id)).toMatchObject({
        status: 'queued',
        attempts: 0,
        error: `Held: role ${partner} is gone. Hand over what it left: boat-mirror access hand-over ${partner} ROLE; or cancel the change: boat-mirror changes cancel ${id}.`,
      })
    expect([...writesTo(first), ...writesTo(second)]).toEqual([])
    await sql(`create role ${partner} in role boat_mirror_enqueue`)
    await rig.push()
    for (const id of ids) expect((await rig.change(id)).status).toBe('queued')
    await sql('select sync.hand_over($1, $1)', [partner])
    await rig.push()
    for (const id of ids) expect(await rig.change(id)).toMatchObject({ status: 'done', error: null })
  })
})

it('a change of a person who is erased meanwhile is not sent', async () => {
  const userId = rig.planner.user()
  const id = await rig.queue('user.update', { userId }, { addressCity: 'Brest' })
  await pushWhile('read', () => sql(`insert into sync.erased (stream, key) values ('users', $1)`, [userId]))
  expect(await rig.change(id)).toMatchObject({ status: 'failed', error: `Not sent: user ${userId} is erased.` })
  expect(rig.writes().filter(({ path }) => path === `/v3/users/${userId}`)).toEqual([])
})

it('a change is not sent before an earlier one of the same rental that is queued again meanwhile', async () => {
  const rentalId = rig.planner.rental()
  const links = ['first', 'second'].map((name) => `https://example.com/${name}`)
  const [first, second] = [
    await rig.queue('rental.update', { rentalId }, { orderLink: links[0] }),
    await rig.queue('rental.update', { rentalId }, { orderLink: links[1] }),
  ]
  await sql('select outbox.cancel($1)', [first])
  await pushWhile('read', () => sql('select outbox.retry($1)', [first]))
  expect(await rig.statuses([first, second])).toEqual(['done', 'done'])
  expect(writesTo(rentalId).map(({ body }) => (body as { orderLink?: string }).orderLink)).toEqual(links)
})

it('a change is sent once when its expires_at passes after it left', async () => {
  const rentalId = rig.planner.rental()
  rig.once('PUT /v3/rentals/{rentalId}', 'dropAfterEffect')
  const id = await rig.queue('rental.update', { rentalId }, { orderLink }, { expires_at: soon() })
  await rig.runOnce()
  await expireNow(id)
  await rig.push()
  expect((await rig.change(id)).status).toBe('done')
  expect(writesTo(rentalId)).toHaveLength(1)
})
