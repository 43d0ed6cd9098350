// A pusher and one change: refusals that concern the account, a pusher that is stopped, and `push --dry-run`.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Limiter, unlimited } from '../../src/api/admission/rate-limit.ts'
import { createRefusals } from '../../src/outbox/account.ts'
import { type Preview, previewChanges } from '../../src/outbox/preview.ts'
import { firstOf } from '../helpers/extent.ts'
import { newPerson } from './plans.ts'
import { type Rig, sharedRig } from './rig.ts'

type FaultAnswer = Exclude<Parameters<Rig['once']>[1], string>

const rig = sharedRig()
afterEach(() => rig.sandbox.clearFaults())

const put = 'PUT /v3/rentals/{rentalId}'
const update = (rentalId: number, name: string) =>
  rig.queue('rental.update', { rentalId }, { orderLink: `https://example.com/${name}` })
const putsOf = (rentalId: number) => rig.writes(`/v3/rentals/${rentalId}`).map(({ status }) => status)

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
  for (const [name, respond] of firstOf(refusals, 3))
    it(`${name} is held, and done as soon as it is taken`, async () => {
      const rentalId = rig.planner.rental()
      const id = await update(rentalId, 'held')
      rig.once(put, respond)
      await rig.runOnce()
      expect(await rig.change(id)).toMatchObject({ status: 'queued', error: expect.stringMatching(/^API_\w+: /) })
      await rig.push()
      expect(await rig.change(id)).toMatchObject({ status: 'done', attempts: 2, error: null })
      expect(putsOf(rentalId)).toEqual([respond.status, 200])
    })
})

describe('a 403', () => {
  it('is a refusal where the API answers other requests of the same account', async () => {
    const rentalId = rig.planner.rental()
    const ids = [await update(rentalId, 'forbidden'), await rig.queue('user.create', {}, newPerson('forbidden'))]
    rig.sandbox.fault({ op: put, respond: 'forbidden' })
    rig.sandbox.fault({ op: 'POST /v3/users', respond: 'forbidden' })
    await rig.push()
    for (const id of ids)
      expect(await rig.change(id)).toMatchObject({ status: 'failed', attempts: 1, response: { status: 403 } })
  })

  it('to the read before an update is one, too', async () => {
    const rentalId = rig.planner.rental()
    const id = await update(rentalId, 'unreadable')
    rig.sandbox.fault({ op: 'GET /v3/rentals/{rentalId}', respond: 'forbidden' })
    await rig.push()
    expect(await rig.change(id)).toMatchObject({ status: 'failed', attempts: 1, response: { status: 403 } })
    expect(putsOf(rentalId)).toEqual([])
  })

  it('holds the change where the API refuses everything', async () => {
    const rentalId = rig.planner.rental()
    const id = await update(rentalId, 'later')
    rig.once(put, 'forbidden')
    rig.sandbox.fault({ op: 'GET *', after: 1, times: 2, respond: 'forbidden' })
    await rig.runOnce()
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

describe('a pusher that is stopped', () => {
  /** Works on what is queued; stopped once `isTime`, it comes to its end. */
  const stopWhen = (isTime: () => boolean, limiter = unlimited): Promise<void> =>
    rig.pushAs({ limiter, concurrency: 1, settings: { leaseMs: 60_000 } }, async (pusher) => {
      const stopping = new AbortController()
      const working = pusher.runOnce(stopping.signal)
      await vi.waitUntil(isTime, { timeout: 10_000, interval: 10 })
      stopping.abort()
      await working
    })
  const writesTo = (path: string): readonly string[] => rig.writes(path).map(({ method }) => method)

  it('a change that is being prepared is queued as if nobody had taken it up, long before its claim runs out', async () => {
    const rentalId = rig.planner.rental()
    const id = await rig.queue('rental.update', { rentalId }, { orderLink: 'https://crm.example.com/1' })
    let waiting = false
    const untilStopped: Limiter['acquire'] = (_priority, signal) => {
      waiting = true
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    }
    await stopWhen(() => waiting, { acquire: untilStopped })
    expect(await rig.change(id)).toMatchObject({ status: 'queued', attempts: 0 })
    expect(writesTo(`/v3/rentals/${rentalId}`)).toEqual([])
    await rig.push()
    expect(await rig.change(id)).toMatchObject({ status: 'done', attempts: 1 })
    expect(writesTo(`/v3/rentals/${rentalId}`)).toEqual(['PUT'])
  })

  it('a change whose request is under way is not cut off, and its answer counts', async () => {
    const rentalId = rig.planner.rental()
    const path = `/v3/rentals/${rentalId}`
    rig.once('PUT /v3/rentals/{rentalId}', { delayMs: 500 })
    const id = await rig.queue('rental.update', { rentalId }, { orderLink: 'https://crm.example.com/2' })
    await stopWhen(() => writesTo(path).length > 0)
    expect(await rig.change(id)).toMatchObject({ status: 'done', attempts: 1 })
    expect(writesTo(path)).toEqual(['PUT'])
  })
})

describe('a preview', () => {
  let rentalId = 0
  beforeEach(async () => {
    rentalId = rig.planner.rental()
    upstream({ orderLink: 'https://example.com/start' })
    await rig.mirror('rentals', { id: rentalId })
    rig.sandbox.resetRequests()
  })
  afterEach(() => rig.database.pool.query('truncate outbox.queue, outbox.dependencies'))

  /** Another client changes the rental at the API. */
  const upstream = (set: Record<string, unknown>): unknown =>
    rig.sandbox.mutate([{ record: 'rentals', op: 'update', id: rentalId, set }])

  const path = '/v3/rentals/{rentalId}'

  /** Previews the only change; it must be left as it was. */
  async function previewOf(id: string): Promise<Preview> {
    const before = await rig.change(id)
    const [preview, ...others] = await previewChanges(rig.context, 10, AbortSignal.timeout(100_000))
    expect(others).toEqual([])
    expect([rig.writes(), await rig.change(id)]).toEqual([[], before])
    return preview as Preview
  }

  it('of an update shows the fields that would change, before and after, and all that would be sent', async () => {
    const orderLink = 'https://example.com/ours'
    const id = await rig.queue('rental.update', { rentalId }, { orderLink })
    const preview = await previewOf(id)
    expect(preview).toMatchObject({ method: 'PUT', path: `/v3/rentals/${rentalId}`, note: null, readable: true })
    expect(preview.fields).toEqual([{ field: 'orderLink', from: 'https://example.com/start', to: orderLink }])
    expect(preview.body).toMatchObject({ orderLink })
    expect(Object.keys(preview.body ?? {}).length).toBeGreaterThan(1)
  })

  it('of a conflict names the fields that somebody else changed as well', async () => {
    const ours = { orderLink: 'https://example.com/ours', contractLink: 'https://example.com/contract' }
    const id = await rig.queue('rental.update', { rentalId }, ours)
    upstream({ orderLink: 'https://example.com/theirs' })
    const note = 'Conflict: orderLink changed in the API and in this change.'
    expect(await previewOf(id)).toEqual({
      ...{ id, operation: 'rental.update', method: 'PUT', path },
      ...{ body: null, fields: [], note, readable: true },
    })
  })

  it('of what is there already shows no field, and what is sent to make sure of it', async () => {
    const orderLink = 'https://example.com/ours'
    const id = await rig.queue('rental.update', { rentalId }, { orderLink })
    upstream({ orderLink })
    expect(await previewOf(id)).toMatchObject({ body: { orderLink }, fields: [], note: null, readable: true })
  })

  it('of a form that was saved without a change says that there is nothing to send, and what is kept', async () => {
    const id = await rig.queue('rental.update', { rentalId }, { orderLink: 'https://example.com/start' })
    upstream({ orderLink: 'https://example.com/theirs' })
    const note = 'Nothing to send. Kept the value that was changed in the API, not sent: orderLink.'
    expect(await previewOf(id)).toMatchObject({ body: null, fields: [], note, readable: true })
  })

  it('of what yields to somebody else says what is kept', async () => {
    const body = { orderLink: 'https://example.com/ours' }
    const id = await rig.queue('rental.update', { rentalId }, body, { on_conflict: 'remote_wins' })
    upstream({ orderLink: 'https://example.com/theirs' })
    const note = 'Nothing to send. Kept the value that was changed in the API, not sent: orderLink.'
    expect(await previewOf(id)).toMatchObject({ body: null, fields: [], note, readable: true })
  })

  it('of a record that is gone says so', async () => {
    const id = await rig.queue('rental.update', { rentalId }, { orderLink: 'https://example.com/ours' })
    rig.sandbox.mutate([{ record: 'rentals', op: 'delete', id: rentalId }])
    expect(await previewOf(id)).toMatchObject({ body: null, fields: [], note: expect.stringContaining('gone') })
  })

  it('of a removal has no body', async () => {
    const id = await rig.queue('rental.delete', { rentalId })
    const removal = { method: 'DELETE', path: `/v3/rentals/${rentalId}`, body: null, fields: [], note: null }
    expect(await previewOf(id)).toMatchObject(removal)
  })
})
