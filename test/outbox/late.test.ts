// An API that shows what was written late: absence and the record as it was prove nothing for a moment, and never become
// the base of a change or a row of the mirror.

import { afterEach, describe, expect, it } from 'vitest'
import { isQuick } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { effects, mirroredEffects } from './effects.ts'
import { openLateFront } from './late-front.ts'
import { newPayment, newPerson } from './plans.ts'
import { sharedRig } from './rig.ts'

const lateMs = 400
const showDelayMs = 1_200

const rig = sharedRig({ sandbox: { size: 120 } })
const front = opened(() => openLateFront(rig.sandbox.url, lateMs))
afterEach(() => {
  rig.sandbox.clearFaults()
  front.toWrites = false
  front.failing = false
  front.lateMs = lateMs
})

/** Pushes through the front until nothing more can settle without a decision. */
const push = () => rig.pushAs({ api: front, settings: { showDelayMs }, timeoutMs: 1_000 })
/** Queues one change for each operation. */
const queueAll = async () => {
  const plans = rig.planner.plan()
  const ids: string[] = []
  for (const { operation, target, body } of plans) ids.push(await rig.queue(operation, target, body))
  return { plans, ids }
}
const outcomes = async (ids: readonly string[]) =>
  (await Promise.all(ids.map((id) => rig.change(id)))).map(({ status, error, warning }) => ({ status, error, warning }))
const well = { status: 'done', error: null, warning: null }
const column = async (table: string, name: string, id: number): Promise<unknown> => {
  const { rows } = await rig.database.pool.query(`select ${name} as value from mirror.${table} where id = $1`, [id])
  return rows[0]?.value
}

describe('a booking whose rental and user are not to be seen for a moment', () => {
  const book = async (name: string): Promise<string[]> => {
    const user = await rig.queue('user.create', {}, newPerson(name))
    const rental = await rig.queue('rental.create', {}, rig.planner.slot())
    const rentalId = { change: Number(rental) }
    return [
      user,
      rental,
      await rig.queue('rental_user.assign', { rentalId }, { userId: { change: Number(user) } }),
      await rig.queue('rental_payment.add', { rentalId }, newPayment(name)),
      await rig.queue('rental.update', { rentalId }, { status: 'VALIDATED' }),
    ]
  }
  for (const toWrites of [false, true])
    it(`is booked whole, ${toWrites ? 'though writes of them are answered 404, too' : 'each step once'}`, async () => {
      const name = `late-${toWrites}`
      front.toWrites = toWrites
      front.stale = 0
      const ids = await book(name)
      await push()
      expect(await outcomes(ids)).toEqual(ids.map(() => well))
      expect(front.stale).toBeGreaterThan(0)
      const rentalId = Number((await rig.change(String(ids[1]))).result?.id)
      const userId = Number((await rig.change(String(ids[0]))).result?.id)
      expect(rig.truth('rentals', { id: rentalId })).toMatchObject({ status: 'VALIDATED', user: { id: userId } })
      expect(await column('rentals', 'status', rentalId)).toBe('VALIDATED')
      expect(await column('rentals', 'user_id', rentalId)).toBe(String(userId))
      expect(rig.payments(name)).toHaveLength(1)
    })
})

describe('every operation', () => {
  it('is done once, without a warning, and the mirror shows what it wrote as soon as it is done', async () => {
    front.stale = 0
    const { plans, ids } = await queueAll()
    await push()
    expect(await outcomes(ids)).toEqual(ids.map(() => well))
    expect(front.stale).toBeGreaterThan(0)
    for (const plan of plans) {
      expect([plan.operation, effects(rig.sandbox, plan)]).toEqual([plan.operation, 1])
      expect([plan.operation, await mirroredEffects(rig.database, plan)]).toEqual([plan.operation, 1])
    }
  })

  it('takes effect once though its answer is lost', async () => {
    const { plans, ids } = await queueAll()
    for (const { endpoint } of plans) rig.once(endpoint, 'dropAfterEffect')
    await push()
    expect(await rig.statuses(ids)).toEqual(ids.map(() => 'done'))
    for (const plan of plans) expect([plan.operation, effects(rig.sandbox, plan)]).toEqual([plan.operation, 1])
  })
})

/** Longer than until the first look after an error, and less than the delay. */
const longMs = 1_150

describe('an error of an API that did what was asked, shows it late, and refuses it a second time', () => {
  it('of any operation is no reason to send it again: it took effect once', async () => {
    Object.assign(front, { failing: true, lateMs: longMs })
    const { plans, ids } = await queueAll()
    rig.sandbox.resetRequests()
    await push()
    expect((await rig.statuses(ids)).map((status, index) => [plans[index]?.operation, status])).toEqual(
      plans.map(({ operation }) => [operation, 'done']),
    )
    for (const plan of plans) {
      expect([plan.operation, effects(rig.sandbox, plan)]).toEqual([plan.operation, 1])
      expect([plan.operation, await mirroredEffects(rig.database, plan)]).toEqual([plan.operation, 1])
    }
    expect(rig.writes()).toHaveLength(plans.length)
  })

  it('does not undo a cancellation by the change that follows it', async () => {
    const rentalId = rig.planner.rental()
    Object.assign(front, { failing: true, lateMs: longMs })
    const canceled = await rig.queue('rental.update', { rentalId }, { status: 'CANCELED_BY_CLIENT' })
    const next = await rig.queue('rental.update', { rentalId }, { orderLink: 'https://example.com/next' })
    await push()
    expect(await outcomes([canceled, next])).toEqual([well, well])
    expect(rig.truth('rentals', { id: rentalId })).toMatchObject({
      status: 'CANCELED_BY_CLIENT',
      orderLink: 'https://example.com/next',
    })
  })

  // The same proof with a longer wait.
  it.skipIf(isQuick)(
    'and shows it later than it usually does: the refusal of the second attempt is decided by the record',
    async () => {
      const rentalId = rig.planner.rental()
      Object.assign(front, { failing: true, lateMs: showDelayMs + 300 })
      const id = await rig.queue('rental.update', { rentalId }, { orderLink: 'https://example.com/later' })
      await push()
      expect((await rig.change(id)).status).toBe('done')
      expect(rig.truth('rentals', { id: rentalId })).toMatchObject({ orderLink: 'https://example.com/later' })
    },
  )
})

describe('changes of one record that follow each other', () => {
  it('build on what the one before wrote, not on what is shown of it', async () => {
    const rentalId = rig.planner.rental()
    await rig.mirror('rentals', { id: rentalId })
    const [orderLink, contractLink] = ['https://example.com/order', 'https://example.com/contract']
    const ids = [
      await rig.queue('rental.update', { rentalId }, { orderLink }),
      await rig.queue('rental.update', { rentalId }, { contractLink }),
      await rig.queue('rental.update', { rentalId }, { orderLink: `${orderLink}/2` }),
    ]
    await push()
    expect(await outcomes(ids)).toEqual(ids.map(() => well))
    expect(rig.truth('rentals', { id: rentalId })).toMatchObject({ orderLink: `${orderLink}/2`, contractLink })
    expect(await column('rentals', 'order_link', rentalId)).toBe(`${orderLink}/2`)
    expect(rig.writes(`/v3/rentals/${rentalId}`).map(({ body }) => (body as { orderLink: string }).orderLink)).toEqual([
      orderLink,
      orderLink,
      `${orderLink}/2`,
    ])
  })

  it('find what they made: a payment that was just added is changed and removed', async () => {
    const rentalId = rig.planner.rental()
    const add = await rig.queue('rental_payment.add', { rentalId }, newPayment('brief'))
    const paymentId = { change: Number(add) }
    const ids = [
      add,
      await rig.queue('rental_payment.update', { rentalId, paymentId }, { price: 11 }),
      await rig.queue('rental_payment.remove', { rentalId, paymentId }),
    ]
    await push()
    expect(await outcomes(ids)).toEqual(ids.map(() => well))
    const key = { rental_id: rentalId, id: Number((await rig.change(add)).result?.id) }
    expect(rig.truth('rental_payments', key)).toBeUndefined()
  })

  it('that add the same twice, the second answer lost, are told apart', async () => {
    const rentalId = rig.planner.rental()
    const payment = newPayment('twice')
    const ids = [await rig.queue('rental_payment.add', { rentalId }, payment)]
    rig.sandbox.fault({ op: 'POST /v3/rentals/{rentalId}/payments', after: 1, times: 1, respond: 'dropAfterEffect' })
    ids.push(await rig.queue('rental_payment.add', { rentalId }, payment))
    await push()
    expect(await rig.statuses(ids)).toEqual(['done', 'done'])
    const made = (await Promise.all(ids.map((id) => rig.change(id)))).map(({ result }) => result?.id)
    expect(new Set(made).size).toBe(2)
    expect(rig.payments('twice')).toHaveLength(2)
  })
})

// Not with `npm test`: they wait for the delay of the API. test/outbox/open-attempts.test.ts sets the clock during a creation.
describe.skipIf(isQuick)('a clock of the database that is set between two changes of a record', () => {
  const shift = (interval: string): Promise<unknown> =>
    rig.database.pool.query(`update outbox.queue set settled_at = settled_at + $1::interval where status = 'done'`, [
      interval,
    ])
  const pushTwice = async (interval: string, between: (rentalId: number) => void) => {
    const rentalId = rig.planner.rental()
    await rig.pushAs({ api: front, settings: { showDelayMs: 5_000 } }, async (pusher) => {
      const push = () => pusher.drain(AbortSignal.timeout(100_000), { until: 'settled' })
      const first = await rig.queue('rental.update', { rentalId }, { orderLink: 'https://example.com/first' })
      await push()
      front.lateMs = 3_000
      between(rentalId)
      await shift(interval)
      const second = await rig.queue('rental.update', { rentalId }, { contractLink: 'https://example.com/second' })
      await push()
      expect(await outcomes([first, second])).toEqual([well, well])
    })
    return rig.truth('rentals', { id: rentalId })
  }

  it('ahead: what was just written is still not taken for changed by others', async () => {
    const links = { orderLink: 'https://example.com/first', contractLink: 'https://example.com/second' }
    expect(await pushTwice('-1 hour', () => undefined)).toMatchObject(links)
  })

  it('back: nothing waits until it has caught up', async () => {
    const set = { orderLink: 'https://example.com/others' }
    const others = (id: number) => void rig.sandbox.mutate([{ record: 'rentals', op: 'update', id, set }])
    const links = { ...set, contractLink: 'https://example.com/second' }
    expect(await pushTwice('1 hour', others)).toMatchObject(links)
  })
})

describe('a collection that answers 404', () => {
  const add = (rentalId: number) => rig.queue('rental_payment.add', { rentalId }, newPayment('first'))

  it('is empty where its rental is there', async () => {
    const rentalId = rig.planner.rental()
    rig.sandbox.fault({ op: 'GET /v3/rentals/{rentalId}/payments', respond: { status: 404 } })
    const id = await add(rentalId)
    await rig.push()
    expect(await outcomes([id])).toEqual([well])
  })

  it('is gone with its rental', async () => {
    const id = await add(1)
    await rig.push()
    expect(await outcomes([id])).toMatchObject([
      { status: 'failed', error: expect.stringContaining('is gone from the API') },
    ])
  })
})
