// The same request again is the same change: no double booking, whichever client repeats it and however many come at once.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { writes } from '../../src/catalog/writes.ts'
import { recordTag } from '../../src/serve/rights.ts'
import type { Caller } from '../../src/serve/types.ts'
import { payloadOf } from '../../src/serve/writes/records.ts'
import { runsOf } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { effects } from '../outbox/effects.ts'
import type { Planned } from '../outbox/plans.ts'
import { openWrites } from './writes-rig.ts'

const served = opened(() =>
  openWrites({
    sandbox: { size: 120 },
    env: { MIRROR_DOCUMENTS: 'on' },
    timeoutMs: 10_000,
  }),
)

const line = (reference: string) => ({ currency: 'EUR', method: { id: 1 }, price: 12.5, reference })
const pay = (rentalId: number, reference: string, headers: Record<string, string> = {}, token = 'writer') =>
  served.send({ method: 'POST', path: `/v3/rentals/${rentalId}/payments`, body: line(reference), headers, token })
const paymentsOf = (rentalId: number, reference: string): number =>
  (served.rig.sandbox.truth({ only: ['rental_payments'] }).rental_payments ?? []).filter(
    ({ key, record }) => key.rental_id === rentalId && record.reference === reference,
  ).length
/** As if so many seconds had passed since these changes settled. */
const later = (seconds: number) =>
  served.rig.database.pool.query(`update outbox.queue set settled_at = settled_at - $1 * interval '1 s'`, [seconds])

let count = 0
const mark = (): string => `same ${count++}`

describe('identical requests', () => {
  it('that come at once make one effect, with a key and without, and are answered alike', async () => {
    const requests = fc.record({
      requests: fc.integer({ min: 2, max: 6 }),
      keyed: fc.boolean(),
      booking: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(requests, async ({ requests: times, keyed, booking }) => {
        const reference = mark()
        const headers: Record<string, string> = keyed ? { 'idempotency-key': reference } : {}
        const rentalId = served.planner.rental()
        const body = { ...served.planner.slot(), referenceId: reference }
        const send = () =>
          booking
            ? served.send({ method: 'POST', path: '/v3/rentals', body, headers })
            : pay(rentalId, reference, headers)
        const answers = await Promise.all(Array.from({ length: times }, send))
        expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
        expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
        const rentals = served.rig.sandbox.truth({ only: ['rentals'] }).rentals ?? []
        const made = booking
          ? rentals.filter(({ record }) => record.referenceId === reference).length
          : paymentsOf(rentalId, reference)
        expect(made).toBe(1)
      }),
      { numRuns: runsOf(8) },
    )
  })

  it('of two tokens are two changes', async () => {
    const [rentalId, reference] = [served.planner.rental(), mark()]
    await Promise.all([pay(rentalId, reference), pay(rentalId, reference, {}, 'other')])
    expect(paymentsOf(rentalId, reference)).toBe(2)
  })

  it('without a key are the same for ten minutes after the change settled', async () => {
    const [rentalId, reference] = [served.planner.rental(), mark()]
    const first = await pay(rentalId, reference)
    await later(595)
    expect((await pay(rentalId, reference)).text).toBe(first.text)
    await later(10)
    const second = await pay(rentalId, reference)
    expect([paymentsOf(rentalId, reference), second.text === first.text]).toEqual([2, false])
  })

  it('with a key are the same for good, and another key is another change', async () => {
    const [rentalId, reference] = [served.planner.rental(), mark()]
    const first = await pay(rentalId, reference, { 'idempotency-key': reference })
    await later(1_000_000)
    expect((await pay(rentalId, reference, { 'idempotency-key': reference })).text).toBe(first.text)
    await pay(rentalId, reference, { 'idempotency-key': `${reference} b` })
    expect(paymentsOf(rentalId, reference)).toBe(2)
    const { rows } = await served.rig.database.pool.query('select 1 from outbox.queue where reference = $1', [
      `1/${reference}`,
    ])
    expect(rows).toHaveLength(1)
  })

  it('are the same, too, where only the first had a key', async () => {
    const [rentalId, reference] = [served.planner.rental(), mark()]
    await pay(rentalId, reference, { 'idempotency-key': reference })
    await pay(rentalId, reference)
    expect(paymentsOf(rentalId, reference)).toBe(1)
  })

  it('with one array are the same, element by element', async () => {
    for (const headers of [{}, { 'idempotency-key': mark() }] as Record<string, string>[]) {
      const { rentalId, optionId } = served.planner.freeOption()
      // The second is no option of this boat, so that each element ends in its own way.
      const body = [
        { optionId, quantity: 1 },
        { optionId: 1, quantity: 1 },
      ]
      const send = () => served.send({ method: 'POST', path: `/v3/rentals/${rentalId}/options`, body, headers })
      const [first, second] = [await send(), await send()]
      expect(second.text).toBe(first.text)
      const { rows } = await served.rig.database.pool.query('select 1 from outbox.queue where aggregate = $1', [
        `rental:${rentalId}`,
      ])
      expect(rows).toHaveLength(2)
    }
  })
})

describe('a request that comes again with its key', () => {
  /** The tag of a record as the mirror shows it; null: it has none. */
  const tagOf = async ({ stream: name, target }: Planned): Promise<string | null> => {
    const { stream, key } = { stream: streamNamed(name), key: Object.values(target).map(String) }
    const payload = key.length < stream.key.length ? null : await payloadOf(served.rig.database.pool, stream, key)
    return payload === null ? null : `"${recordTag(served.callers.writer as Caller, { stream, key }, payload)}"`
  }

  it('is answered as before, for each of the 22 writes and whatever condition it carries', async () => {
    const conditions = ['none', 'any', 'own', 'listed', 'weak', 'no other', 'not any'] as const
    const headersFor = (condition: (typeof conditions)[number], tag: string): Record<string, string> => {
      const headers = { any: '*', own: tag, listed: `"x", ${tag}`, weak: `W/${tag}` } as Record<string, string>
      if (condition === 'no other') return { 'if-none-match': '"x"' }
      if (condition === 'not any') return { 'if-none-match': '*' }
      return headers[condition] === undefined ? {} : { 'if-match': headers[condition] }
    }
    const draw = fc.array(fc.tuple(fc.constantFrom(...conditions), fc.option(fc.constantFrom(...conditions))), {
      ...{ minLength: writes.length, maxLength: writes.length },
    })
    let taken = 0
    await fc.assert(
      fc.asyncProperty(draw, async (drawn) => {
        const plan = served.planner.plan()
        expect(new Set(plan.map(({ operation }) => operation)).size).toBe(writes.length)
        const repeated = async (planned: Planned, index: number): Promise<void> => {
          const { operation, method, path, body, stream, target, effect } = planned
          if (method !== 'POST') await served.rig.mirror(stream, planned.key)
          const [first, second] = drawn[index] ?? ['none', null]
          const key = { 'idempotency-key': mark() }
          const conditioned = async (condition: (typeof conditions)[number]) =>
            headersFor(condition, (await tagOf(planned)) ?? '"none"')
          const send = (headers: Record<string, string>) =>
            served.send({ method, path, ...(method !== 'DELETE' && { body }), headers: { ...key, ...headers } })
          const before = await conditioned(first)
          const one = await send(before)
          // One that was not taken is no change: what it is answered the next time depends on its condition alone.
          const isTaken = ![400, 412].includes(one.status)
          // Some programs repeat the request as it was, others read the record again first.
          const two = await send(isTaken && second !== null ? await conditioned(second) : before)
          const told = `${operation} ${JSON.stringify(target)} ${first}, then ${second ?? 'the same'}`
          expect([two.status, two.text], told).toEqual([one.status, one.text])
          expect(isTaken, `${told}: ${one.text}`).toBe(
            method === 'POST' ? first === 'none' : !['weak', 'not any'].includes(first),
          )
          if (isTaken) {
            taken++
            expect(effects(served.rig.sandbox, planned), told).toBe(1)
          } else if (effect !== null && method === 'POST') expect(effects(served.rig.sandbox, planned), told).toBe(0)
        }
        await Promise.all(plan.map(repeated))
      }),
      { numRuns: 3, endOnFailure: true }, // each run takes records of its own
    )
    expect(taken).toBeGreaterThan(writes.length)
  })
})

describe('a key that names one request', () => {
  it('is refused for another body, target or operation', async () => {
    const [rentalId, reference] = [served.planner.rental(), mark()]
    const headers = { 'idempotency-key': reference }
    await pay(rentalId, reference, headers)
    const others = [
      await pay(rentalId, `${reference} changed`, headers),
      await pay(served.planner.rental(), reference, headers),
      await served.send({ method: 'PUT', path: `/v3/rentals/${rentalId}`, body: { orderLink: 'x' }, headers }),
    ]
    expect(others.map(({ status }) => status)).toEqual([422, 422, 422])
    expect(others[0]?.json).toMatchObject({ detail: expect.stringContaining('Idempotency-Key') })
  })

  it('is another one for another token', async () => {
    const [rentalId, reference] = [served.planner.rental(), mark()]
    const headers = { 'idempotency-key': reference }
    const answers = await Promise.all([pay(rentalId, reference, headers), pay(rentalId, reference, headers, 'other')])
    expect([answers.map(({ status }) => status), paymentsOf(rentalId, reference)]).toEqual([[200, 200], 2])
  })
})

describe('the same request after the record was written again', () => {
  it('replaces it anew: what it answered before does not hold any more', async () => {
    const rentalId = served.planner.rental()
    const put = (orderLink: string) =>
      served.send({ method: 'PUT', path: `/v3/rentals/${rentalId}`, body: { orderLink } })
    for (const orderLink of ['https://example.com/a', 'https://example.com/b', 'https://example.com/a']) {
      expect((await put(orderLink)).json).toMatchObject({ orderLink })
      expect(served.rig.truth('rentals', { id: rentalId })).toMatchObject({ orderLink })
    }
  })

  it('adds it anew once it was removed, and removes it anew', async () => {
    const owner = served.rig.sandbox.truth({ only: ['user_identities'] }).user_identities?.[0]?.key.user_id
    const path = `/v3/users/${owner}/identity`
    const remove = () => served.send({ method: 'DELETE', path })
    const add = () => served.send({ method: 'POST', path, body: { number: '1', type: 'PASSEPORT' } })
    const statuses = [await remove(), await add(), await remove(), await add()].map(({ status }) => status)
    expect(statuses).toEqual([204, 200, 204, 200])
    expect(served.rig.truth('user_identities', { user_id: Number(owner) })).toMatchObject({ number: '1' })
  })

  it('books no second time because the first booking was changed meanwhile', async () => {
    const body = { ...served.planner.slot(), referenceId: mark() }
    const book = () => served.send({ method: 'POST', path: '/v3/rentals', body })
    const { id } = (await book()).json as { id: number }
    await served.send({ method: 'PUT', path: `/v3/rentals/${id}`, body: { orderLink: 'https://example.com/x' } })
    expect((await book()).json).toMatchObject({ id })
  })
})
