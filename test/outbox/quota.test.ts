// Changes under a quota: what cannot wait goes first, and a rental leaves only when all that is queued on it can follow.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { heldBack, type Room, requestsAChange } from '../../src/outbox/quota-room.ts'
import { newPerson } from './plans.ts'
import { sharedRig } from './rig.ts'

const claimed = fc.record({
  operation: fc.constantFrom('rental.create', 'rental.update'),
  dispatched: fc.boolean(),
  deadline: fc.constantFrom(null, null, new Date(0)),
  status: fc.constant('sending' as const),
  chain: fc.integer({ min: 0, max: 9 }),
})

describe('of what is claimed', () => {
  it('what cannot wait begins, and besides it no more than the quota covers with all that hangs on it', () => {
    fc.assert(
      fc.property(fc.array(claimed), fc.nat(200), fc.nat(10), (changes, left, pressing) => {
        const numbered = changes.map((change, index) => ({ ...change, id: String(index) }))
        const chains: Room['chains'] = new Map(numbered.map(({ id, chain }) => [id, chain]))
        const held = new Set(heldBack(numbered, { left, pressing, chains }))
        const isPressing = ({ dispatched, deadline }: (typeof numbered)[number]): boolean =>
          dispatched || deadline !== null
        const costOf = ({ operation, chain }: (typeof numbered)[number]): number =>
          requestsAChange * (1 + (operation === 'rental.create' ? chain : 0))
        expect(numbered.filter(isPressing).every(({ id }) => !held.has(id))).toBe(true)
        const kept = requestsAChange * (pressing + numbered.filter(isPressing).length)
        const begun = numbered.filter((change) => !isPressing(change) && !held.has(change.id))
        const taken = begun.reduce((sum, change) => sum + costOf(change), 0)
        if (begun.length > 0) expect(kept + taken).toBeLessThanOrEqual(left)
        // Nothing is held that would fit.
        for (const change of numbered.filter(({ id }) => held.has(id)))
          expect(kept + taken + costOf(change)).toBeGreaterThan(left)
      }),
    )
  })
})

const allowed = 1_000
const rig = sharedRig({ env: { API_QUOTA: `${allowed}/hour` } })

/** So many requests are left of the quota. */
const leave = (requests: number): Promise<unknown> =>
  rig.database.pool.query(
    `insert into sync.request_counts values (date_trunc('minute', now()), $1)
     on conflict (minute) do update set total = excluded.total`,
    [allowed - requests],
  )

it('a rental waits until the quota covers what is queued on it; meanwhile another change goes', async () => {
  const rental = await rig.queue('rental.create', {}, rig.planner.slot())
  const rentalId = { change: Number(rental) }
  const steps = [
    await rig.queue('rental_crew_member.add', { rentalId }, { firstName: 'Bo', lastName: 'Lee', type: 'CHILD' }),
    await rig.queue('rental_payment.add', { rentalId }, { currency: 'EUR', method: { id: 1 }, price: 100 }),
  ]
  const person = await rig.queue('user.create', {}, newPerson('Ann'))
  const push = () => rig.pusher.drain(AbortSignal.timeout(100_000))
  await leave(3 * requestsAChange - 1)
  await push()
  expect(await rig.change(rental)).toMatchObject({
    status: 'queued',
    attempts: 0,
    error: expect.stringMatching(/^API_QUOTA_USED: /),
  })
  expect((await rig.change(person)).status).toBe('done')
  // It is checked again in half a minute, and is not due before.
  expect(await push()).toMatchObject({ claimed: 0 })

  await leave(3 * requestsAChange)
  await rig.database.pool.query('update outbox.queue set next_attempt_at = now() where id = $1', [rental])
  await rig.push()
  for (const id of [rental, ...steps]) expect(await rig.change(id)).toMatchObject({ status: 'done', error: null })
})

it('steps of a pending rental have their requests kept for them', async () => {
  const [first, second] = [
    await rig.queue('user.create', {}, newPerson('Eve')),
    await rig.queue('rental.delete', { rentalId: rig.planner.rental() }),
  ]
  await rig.database.pool.query(
    `update outbox.queue set deadline = now() + interval '10 minutes', next_attempt_at = now() + interval '1 minute'
    where id = $1`,
    [first],
  )
  await leave(2 * requestsAChange - 1)
  await rig.pusher.drain(AbortSignal.timeout(100_000))
  expect(await rig.change(second)).toMatchObject({
    status: 'queued',
    error: expect.stringMatching(/^API_QUOTA_USED: /),
  })
  await rig.database.pool.query('update outbox.queue set next_attempt_at = now() where id = $1', [first])
  await rig.pusher.drain(AbortSignal.timeout(100_000))
  expect((await rig.change(first)).status).toBe('done')
})
