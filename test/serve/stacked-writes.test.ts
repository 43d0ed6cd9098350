// What a Boat Mirror writes to another one takes effect once at the API, though what it reads there may be old.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sleep } from '../../src/clock.ts'
import { newPerson, Planner } from '../outbox/plans.ts'
import { type LossyFront, openLossyFront } from './lossy-front.ts'
import { openStack, type Stack } from './stack.ts'
import { openWholeMirror, type WholeMirror } from './whole-mirror.ts'

let stack: Stack
let lower: WholeMirror
let upper: WholeMirror
let front: LossyFront
let planner: Planner
beforeAll(async () => {
  stack = await openStack({ size: 200 })
  lower = await openWholeMirror({ ...stack.options.lower, apiUrl: stack.sandbox.url, port: 0, timeoutMs: 3_000 })
  front = await openLossyFront(lower.url)
  upper = await openWholeMirror({ ...stack.options.upper, apiUrl: front.url, port: null, timeoutMs: 6_000 })
  planner = new Planner(stack.sandbox)
  // What the lists below are filtered by, and one collection, which is read again only when it is asked for.
  const streams = ['rentals', 'users', 'rental_resources', 'rental_payments']
  await stack.sync('lower', { streams, poke: lower.poke })
})
afterAll(async () => {
  await upper?.[Symbol.asyncDispose]()
  await front?.[Symbol.asyncDispose]()
  await lower?.[Symbol.asyncDispose]()
  await stack?.[Symbol.asyncDispose]()
})

const truth = (table: string) => stack.sandbox.truth({ only: [table] })[table] ?? []
const rental = (id: number) => truth('rentals').find(({ key }) => key.id === id)?.record
const paymentsOf = (rentalId: number, reference: string): number =>
  truth('rental_payments').filter(({ key, record }) => key.rental_id === rentalId && record.reference === reference)
    .length
const linkOf = (name: string): string => `https://example.com/${name}`
const line = (reference: string) => ({ currency: 'EUR', method: { id: 1 }, price: 12.5, reference })
/** The mirror below reads it from the API, and stores it. */
const readBelow = async (path: string): Promise<void> => {
  const { status } = await fetch(`${lower.url}${path}`, { headers: { 'cache-control': 'no-cache' } })
  expect(status).toBe(200)
}

describe('two changes that are alike', () => {
  it('are two: both payments are made', async () => {
    const rentalId = planner.rental()
    const ids = [
      await stack.queue('rental_payment.add', { rentalId }, line('twice')),
      await stack.queue('rental_payment.add', { rentalId }, line('twice')),
    ]
    expect(await stack.fates(ids)).toEqual(['done', 'done'])
    expect(paymentsOf(rentalId, 'twice')).toBe(2)
  })

  it('are two, though only others changed the record in between', async () => {
    const rentalId = planner.rental()
    const set = async (orderLink: string): Promise<readonly string[]> =>
      await stack.fates([await stack.queue('rental.update', { rentalId }, { orderLink }, { base: null })])
    expect(await set(linkOf('mine'))).toEqual(['done'])
    stack.sandbox.mutate([{ record: 'rentals', op: 'update', id: rentalId, set: { orderLink: linkOf('others') } }])
    expect(await set(linkOf('mine'))).toEqual(['done'])
    expect(rental(rentalId)).toMatchObject({ orderLink: linkOf('mine') })
  })
})

describe('a mirror below that is older than the API', () => {
  it('keeps what others changed: an update is built on what the API shows', async () => {
    const rentalId = planner.rental()
    stack.sandbox.mutate([{ record: 'rentals', op: 'update', id: rentalId, set: { orderLink: linkOf('others') } }])
    const id = await stack.queue('rental.update', { rentalId }, { contractLink: linkOf('mine') })
    expect(await stack.fates([id])).toEqual(['done'])
    expect(rental(rentalId)).toMatchObject({ orderLink: linkOf('others'), contractLink: linkOf('mine') })
  })

  it('takes no payment of others for the one whose request was lost', async () => {
    const [rentalId, reference] = [planner.rental(), 'of others']
    const [made] = stack.sandbox.mutate([
      { record: 'rental_payments', op: 'insert', parent: rentalId, set: line(reference) },
    ])
    front.lose('POST', `/v3/rentals/${rentalId}/payments`, 'before')
    const lost = front.lost()
    const id = await stack.queue('rental_payment.add', { rentalId }, line(reference))
    while (front.lost() === lost) await sleep(10)
    await readBelow(`/v3/rentals/${rentalId}/payments/${made?.id}`)
    expect(await stack.fates([id])).toEqual(['done'])
    expect(paymentsOf(rentalId, reference)).toBe(2)
  })

  it('leaves no new user undecided whose request was lost', async () => {
    front.lose('POST', '/v3/users', 'before')
    const id = await stack.queue('user.create', {}, newPerson('lost'))
    expect(await stack.fates([id])).toEqual(['done'])
    expect(truth('users').filter(({ record }) => record.lastName === 'lost')).toHaveLength(1)
  })
})
