// Whole bookings queued in one transaction, order within a record, and what becomes of what hangs on a failed step.

import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { sleep } from '../../src/clock.ts'
import { newPerson } from './plans.ts'
import { sharedRig } from './rig.ts'

const rig = sharedRig({ sandbox: { size: 120 } })

type Booking = Record<'user' | 'rental' | 'assign' | 'option' | 'crew' | 'payment' | 'confirm', string>

/** Queues a booking in one transaction. */
async function book(name: string, userBody: object = newPerson(name)): Promise<Booking> {
  const slot = rig.planner.slot()
  const option = rig.rows('resource_options').find((row) => row.key.resource_id === slot.resourceId)
  const client = await rig.database.pool.connect()
  const add = async (operation: string, target: object, body: object = {}): Promise<number> => {
    const { rows } = await client.query('select outbox.enqueue($1, $2, $3)::int as id', [
      operation,
      JSON.stringify(target),
      JSON.stringify(body),
    ])
    return rows[0].id
  }
  try {
    await client.query('begin')
    const user = await add('user.create', {}, userBody)
    const rental = await add('rental.create', {}, slot)
    const rentalId = { change: rental }
    const steps = {
      user,
      rental,
      assign: await add('rental_user.assign', { rentalId }, { userId: { change: user } }),
      option: await add('rental_option.add', { rentalId }, { optionId: option?.key.id, quantity: 1 }),
      crew: await add(
        'rental_crew_member.add',
        { rentalId },
        { firstName: 'Bo', lastName: name, email: `bo.${name}@example.com`, type: 'CHILD' },
      ),
      payment: await add(
        'rental_payment.add',
        { rentalId },
        { currency: 'EUR', method: { id: 1 }, price: 100, reference: name },
      ),
      confirm: await add('rental.update', { rentalId }, { status: 'VALIDATED' }),
    }
    await client.query('commit')
    return Object.fromEntries(Object.entries(steps).map(([step, id]) => [step, String(id)])) as Booking
  } finally {
    client.release()
  }
}

/** Statuses of the steps, in their order. */
const statusesOf = (booking: Booking): Promise<readonly string[]> => rig.statuses(Object.values(booking))
const all = (status: string): readonly string[] => Array(7).fill(status)

const refusal = { status: 400, body: { message: 'no' } }

describe('a booking queued in one transaction', () => {
  it('runs by itself, results flowing into later targets and bodies', async () => {
    rig.sandbox.resetRequests()
    const booking = await book('chain')
    await rig.push()
    expect(await statusesOf(booking)).toEqual(all('done'))

    const userId = Number((await rig.change(booking.user)).result?.id)
    const rentalId = Number((await rig.change(booking.rental)).result?.id)
    expect(rig.writes().map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /v3/users',
      'POST /v3/rentals',
      `POST /v3/rentals/${rentalId}/user`,
      `POST /v3/rentals/${rentalId}/options`,
      `POST /v3/rentals/${rentalId}/crewMembers`,
      `POST /v3/rentals/${rentalId}/payments`,
      `PUT /v3/rentals/${rentalId}`,
    ])
    expect(rig.truth('rentals', { id: rentalId })).toMatchObject({ status: 'VALIDATED', user: { id: userId } })
    const { rows } = await rig.database.pool.query(
      `select status, user_id::int, resource_id is not null as resource from mirror.rentals where id = $1`,
      [rentalId],
    )
    expect(rows).toEqual([{ status: 'VALIDATED', user_id: userId, resource: true }])
  })

  it('moves to the record that came to be', async () => {
    const booking = await book('moved')
    await rig.push()
    const rentalId = (await rig.change(booking.rental)).result?.id
    const userId = (await rig.change(booking.user)).result?.id
    const aggregates = await Promise.all(Object.values(booking).map(async (id) => (await rig.change(id)).aggregate))
    expect(aggregates).toEqual([`user:${userId}`, ...Array(6).fill(`rental:${rentalId}`)])
  })

  it('keeps the prices although the confirmation names the status alone', async () => {
    const slot = rig.planner.slot()
    const created = await rig.queue('rental.create', {}, { ...slot, rentalPrice: 777.5, discountPrice: 50 })
    await rig.queue('rental.update', { rentalId: { change: Number(created) } }, { status: 'VALIDATED' })
    await rig.push()
    const id = Number((await rig.change(created)).result?.id)
    expect(rig.truth('rentals', { id })).toMatchObject({ status: 'VALIDATED', rentalPrice: 777.5, discountPrice: 50 })
  })

  it('is not created upstream while its user can’t be, and runs once that step succeeds', async () => {
    rig.once('POST /v3/users', refusal)
    const booking = await book('revived')
    rig.sandbox.resetRequests()
    await rig.push()
    expect(await statusesOf(booking)).toEqual(all('blocked').with(0, 'failed'))
    expect(await rig.change(booking.assign)).toMatchObject({
      error: `Waits for change ${booking.user} (user.create), which is failed.`,
    })
    expect(rig.writes()).toHaveLength(1)

    await expect(rig.decide('retry', booking.assign)).rejects.toThrow('is blocked')
    await rig.decide('retry', booking.user)
    await rig.push()
    expect(await statusesOf(booking)).toEqual(all('done'))
  })

  it('blocks only what refers to a failed step, directly or through others', async () => {
    rig.once('POST /v3/rentals/{rentalId}/options', refusal)
    const booking = await book('partly')
    const quantity = await rig.queue(
      'rental_option.update',
      { rentalId: { change: Number(booking.rental) }, optionId: { change: Number(booking.option) } },
      { quantity: 2 },
    )
    await rig.push()
    expect(await statusesOf(booking)).toEqual(all('done').with(3, 'failed'))
    expect((await rig.change(quantity)).status).toBe('blocked')
    await rig.decide('cancel', booking.option)
    expect((await rig.change(quantity)).status).toBe('blocked')
  })

  it('no longer waits for the user when the assignment is canceled', async () => {
    rig.once('POST /v3/users', refusal)
    const booking = await book('alone')
    await rig.push()
    await rig.decide('cancel', booking.assign)
    await rig.push()
    const { user, assign, rental, confirm } = booking
    expect(await rig.statuses([user, assign, rental, confirm])).toEqual(['failed', 'canceled', 'done', 'done'])
  })
})

describe('changes of one record', () => {
  it('leave in the order of their ids, however many pushers there are', async () => {
    const ids = Array.from({ length: 8 }, () => rig.planner.rental())
    rig.sandbox.resetRequests()
    for (let round = 0; round < 5; round++)
      for (const rentalId of ids)
        await rig.queue('rental.update', { rentalId }, { orderLink: `https://example.com/${round}` })
    await Promise.all([rig.push(), rig.pushAs({}), rig.pushAs({})])
    for (const rentalId of ids) {
      const links = rig.writes(`/v3/rentals/${rentalId}`).map(({ body }) => (body as { orderLink: string }).orderLink)
      expect(links).toEqual([0, 1, 2, 3, 4].map((round) => `https://example.com/${round}`))
    }
  })

  it('of other records do not wait while an answer is slow', async () => {
    const [slow, quick] = [rig.planner.rental(), rig.planner.rental()]
    const op = 'PUT /v3/rentals/{rentalId}'
    rig.sandbox.fault({ op, match: { rentalId: slow }, times: 1, respond: { delayMs: 1_500 } })
    const listener = new pg.Client(rig.databaseUrl)
    await listener.connect()
    const settled: (string | undefined)[] = []
    listener.on('notification', ({ payload }) => settled.push(payload))
    await listener.query('listen boat_mirror_settled')

    const first = await rig.queue('rental.update', { rentalId: slow }, { orderLink: 'https://example.com/slow' })
    const working = rig.pusher.runOnce(AbortSignal.timeout(100_000))
    while ((await rig.change(first)).sent_at === null) await sleep(10)
    const second = await rig.queue('rental.update', { rentalId: quick }, { orderLink: 'https://example.com/quick' })
    await working
    await listener.query('select 1')
    await listener.end()
    expect(settled).toEqual([second, first])
  })
})
