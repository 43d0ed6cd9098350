// Reads that are answered with something else than asked for: nothing is concluded from them, neither that the record is
// gone, nor that it changed, nor that an effect is missing.

import { afterEach, describe, expect, it } from 'vitest'
import { firstOf } from '../helpers/extent.ts'
import { newPayment, newPerson } from './plans.ts'
import { sharedRig } from './rig.ts'

const rig = sharedRig({ timeoutMs: 400, settings: { showDelayMs: 300 } })
afterEach(() => rig.sandbox.clearFaults())

const answer = (op: string, body: unknown, after = 0): void =>
  rig.sandbox.fault({ op, after, times: 1, respond: { status: 200, body: JSON.stringify(body) } })

describe('a record that is answered with something else', () => {
  const wrong: readonly (readonly [string, unknown])[] = [
    ['another record', { id: 999_999, orderLink: 'https://example.com/other' }],
    ['nothing', null],
    ['a number', 42],
    ['words', 'words'],
    ['a list', [[]]],
    ['an object without an id', { items: 'words' }],
    ['an empty object', {}],
  ]
  // One check of shape and key distinguishes all of them.
  for (const [name, body] of firstOf(wrong))
    it(`(${name}) is asked for again, before an update is sent`, async () => {
      const rentalId = rig.planner.rental()
      await rig.mirror('rentals', { id: rentalId })
      const orderLink = `https://example.com/${rentalId}`
      answer('GET /v3/rentals/{rentalId}', body)
      const id = await rig.queue('rental.update', { rentalId }, { orderLink })
      await rig.push()
      expect(await rig.change(id)).toMatchObject({ status: 'done', warning: null })
      expect(rig.truth('rentals', { id: rentalId })).toMatchObject({ orderLink })
    })

  it.each(firstOf([null, 42]))(
    '(%j) is not taken for gone when a removal whose answer was lost is looked into',
    async (body) => {
      const [row] = rig.rows('rental_payments')
      const [rentalId, paymentId] = [Number(row?.key.rental_id), Number(row?.key.id)]
      rig.sandbox.fault({ op: 'DELETE /v3/rentals/{rentalId}/payments/{paymentId}', times: 1, respond: 'reset' })
      answer('GET /v3/rentals/{rentalId}/payments/{paymentId}', body)
      const id = await rig.queue('rental_payment.remove', { rentalId, paymentId })
      await rig.push()
      expect((await rig.change(id)).status).toBe('done')
      expect(rig.truth('rental_payments', { rental_id: rentalId, id: paymentId })).toBeUndefined()
    },
  )
})

describe('a document, which has no id to know it by, that is answered with something else', () => {
  for (const body of firstOf([{ id: 7 }, { items: 'words', total: 'many' }, 'words']))
    it(`(${JSON.stringify(body)}) is asked for again`, async () => {
      const [row] = rig.rows('user_licenses')
      const userId = Number(row?.key.user_id)
      answer('GET /v3/users/{userId}/license', body)
      const year = Number(row?.record.year ?? 2000) - 1
      const id = await rig.queue('user_license.update', { userId }, { year })
      await rig.push()
      expect(await rig.change(id)).toMatchObject({ status: 'done', warning: null })
      expect(rig.truth('user_licenses', { user_id: userId })).toMatchObject({ year })
    })

  it('is not taken for somebody else’s when its upload was lost', async () => {
    const licensed = new Set(rig.rows('user_licenses').map((row) => row.key.user_id))
    const user = rig.rows('users').find((row) => !licensed.has(row.key.id ?? ''))
    const userId = Number(user?.key.id)
    rig.sandbox.fault({ op: 'POST /v3/users/{userId}/license', times: 1, respond: 'dropAfterEffect' })
    answer('GET /v3/users/{userId}/license', { items: 'words', total: 'many' })
    const license = { country: { code: 'FR' }, number: 'L1', type: { id: 1 }, year: 2010 }
    const id = await rig.queue('user_license.add', { userId }, license)
    await rig.push()
    expect((await rig.change(id)).status).toBe('done')
    expect(rig.truth('user_licenses', { user_id: userId })).toMatchObject({ number: 'L1' })
  })
})

describe('a list that is answered with something else', () => {
  it('does not prove that a lost addition is missing', async () => {
    const rentalId = rig.planner.rental()
    const op = 'GET /v3/rentals/{rentalId}/payments'
    rig.sandbox.fault({ op: 'POST /v3/rentals/{rentalId}/payments', times: 1, respond: 'dropAfterEffect' })
    // The first read comes before the addition; all that look for it within the time it may take are misled.
    rig.sandbox.fault({ op, after: 1, times: 2, respond: { status: 200, body: [[], 7, null, 'words'] } })
    const body = newPayment('misread')
    const id = await rig.queue('rental_payment.add', { rentalId }, body)
    await rig.push()
    expect((await rig.change(id)).status).toBe('done')
    expect(rig.payments('misread')).toHaveLength(1)
  })

  it('delays a creation, and counts as an attempt', async () => {
    answer('GET /v3/users', { items: 'words' })
    const id = await rig.queue('user.create', {}, newPerson('misread'))
    await rig.push()
    expect(await rig.change(id)).toMatchObject({ status: 'done', attempts: 2 })
  })
})
