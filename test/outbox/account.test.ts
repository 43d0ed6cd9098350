// Refusals that concern the account, not the change: the change is held, with its reason, and goes on when they end.

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createRefusals } from '../../src/outbox/account.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { newPerson, Planner } from './plans.ts'
import { createRig, type Rig } from './rig.ts'

type FaultAnswer = Exclude<Parameters<Rig['sandbox']['fault']>[0]['respond'], string>

let testDatabase: TestDatabase
let rig: Rig
let planner: Planner
beforeAll(async () => {
  testDatabase = await createTestDatabase()
  rig = await createRig({ databaseUrl: testDatabase.url })
  planner = new Planner(rig.sandbox)
})
afterAll(async () => {
  await rig[Symbol.asyncDispose]()
  await testDatabase[Symbol.asyncDispose]()
})
afterEach(() => rig.sandbox.clearFaults())

const put = 'PUT /v3/rentals/{rentalId}'
const update = (rentalId: number, name: string) =>
  rig.queue('rental.update', { rentalId }, { orderLink: `https://example.com/${name}` })
const putsOf = (rentalId: number) =>
  rig.writes().flatMap(({ path, status }) => (path === `/v3/rentals/${rentalId}` ? [status] : []))

describe('a write that is answered', () => {
  const refusals: readonly (readonly [string, FaultAnswer])[] = [
    ['401, while a token is being replaced', { status: 401 }],
    ['403 with Retry-After', { status: 403, retryAfter: 0 }],
    ['423', { status: 423 }],
    ['425', { status: 425 }],
    ['400 with Retry-After', { status: 400, retryAfter: 0 }],
    ['409 with Retry-After', { status: 409, retryAfter: 0 }],
    ['429 with RateLimit-Reset alone', { status: 429, headers: { 'ratelimit-reset': '1' } }],
  ]
  for (const [name, respond] of refusals)
    it(`${name} is held, and done as soon as it is taken`, async () => {
      const rentalId = planner.rental()
      const id = await update(rentalId, 'held')
      rig.sandbox.fault({ op: put, times: 1, respond })
      await rig.pusher.runOnce(AbortSignal.timeout(100_000))
      expect(await rig.change(id)).toMatchObject({ status: 'queued', error: expect.stringMatching(/^API_\w+: /) })
      await rig.push()
      expect(await rig.change(id)).toMatchObject({ status: 'done', attempts: 2, error: null })
      expect(putsOf(rentalId)).toEqual([respond.status, 200])
    })
})

describe('a 403', () => {
  it('is a refusal where the API answers other requests of the same account', async () => {
    const rentalId = planner.rental()
    const ids = [await update(rentalId, 'forbidden'), await rig.queue('user.create', {}, newPerson('forbidden'))]
    rig.sandbox.fault({ op: put, respond: 'forbidden' })
    rig.sandbox.fault({ op: 'POST /v3/users', respond: 'forbidden' })
    await rig.push()
    for (const id of ids)
      expect(await rig.change(id)).toMatchObject({ status: 'failed', attempts: 1, response: { status: 403 } })
  })

  it('to the read before an update is one, too', async () => {
    const rentalId = planner.rental()
    const id = await update(rentalId, 'unreadable')
    rig.sandbox.fault({ op: 'GET /v3/rentals/{rentalId}', respond: 'forbidden' })
    await rig.push()
    expect(await rig.change(id)).toMatchObject({ status: 'failed', attempts: 1, response: { status: 403 } })
    expect(putsOf(rentalId)).toEqual([])
  })

  it('holds the change where the API refuses everything', async () => {
    const rentalId = planner.rental()
    const id = await update(rentalId, 'later')
    rig.sandbox.fault({ op: put, times: 1, respond: 'forbidden' })
    rig.sandbox.fault({ op: 'GET *', after: 1, times: 2, respond: 'forbidden' })
    await rig.pusher.runOnce(AbortSignal.timeout(100_000))
    expect(await rig.change(id)).toMatchObject({ status: 'queued', error: expect.stringContaining('API_FORBIDDEN') })
    await rig.push()
    expect(await rig.change(id)).toMatchObject({ status: 'done', error: null })
    expect(putsOf(rentalId)).toEqual([403, 200])
  })
})

describe('whoever waits for an account that is refused', () => {
  it('waits no longer than half a minute, counted from the first of refusals that nothing interrupts', () => {
    let now = 0
    const refusals = createRefusals(() => now)
    const refused = { kind: 'retry', delayMs: 1, error: 'API_UNAUTHORIZED: The API answered 401.' } as const
    const paused = { kind: 'retry', delayMs: 1, error: 'API_PAUSED: …', heldBack: true } as const
    refusals.note(refused)
    for (now = 1_000; now < 30_000; now += 1_000) refusals.note(now % 2_000 === 0 ? refused : paused)
    expect(refusals.overdue()).toBeNull()
    now = 30_000
    refusals.note(paused)
    expect(refusals.overdue()).toBeNull()
    refusals.note(refused)
    expect(refusals.overdue()).toBe(refused.error)
    refusals.note({ kind: 'failed', error: 'API_REJECTED: no', response: null })
    expect(refusals.overdue()).toBeNull()
  })
})
