// What becomes of changes whose answer was lost, whose time has passed, or whose record is gone.

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { cancelChange, resolveChange, retryChange } from '../../src/outbox/decisions.ts'
import { createPusher } from '../../src/outbox/pusher.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { newPerson, Planner } from './plans.ts'
import { contextFor, createRig, type Rig } from './rig.ts'

const timeoutMs = 400
const showDelayMs = 300

let testDatabase: TestDatabase
let rig: Rig
let planner: Planner

beforeAll(async () => {
  testDatabase = await createTestDatabase()
  rig = await createRig({ databaseUrl: testDatabase.url, sandbox: { size: 160 }, timeoutMs, settings: { showDelayMs } })
  planner = new Planner(rig.sandbox)
})
afterAll(async () => {
  await rig[Symbol.asyncDispose]()
  await testDatabase[Symbol.asyncDispose]()
})
afterEach(() => rig.sandbox.clearFaults())

const once = (op: string, respond: Parameters<Rig['sandbox']['fault']>[0]['respond'], times = 1): void =>
  rig.sandbox.fault({ op, times, respond })
const runOnce = () => rig.pusher.runOnce(AbortSignal.timeout(100_000))
const payment = (reference: string) => ({ currency: 'EUR', method: { id: 1 }, price: 10, reference })
const paymentsOf = (rentalId: number, reference: string) =>
  (rig.sandbox.truth({ only: ['rental_payments'] }).rental_payments ?? []).filter(
    (row) => row.key.rental_id === rentalId && row.record.reference === reference,
  )
/** What the mirror shows in one column. */
async function mirrored(table: string, column: string, key: Readonly<Record<string, unknown>>): Promise<unknown[]> {
  const conditions = Object.keys(key).map((name, index) => `and ${name} = $${index + 1}`)
  const { rows } = await rig.database.pool.query<{ value: unknown }>(
    `select ${column} as value from mirror.${table} where _deleted_at is null ${conditions.join(' ')}`,
    Object.values(key),
  )
  return rows.map(({ value }) => value)
}
const postsTo = (path: string) => rig.writes().filter((request) => request.method === 'POST' && request.path === path)

describe('an add whose answer was lost', () => {
  it('leaves again only after its time limit and the delay with which the API shows things', async () => {
    const rentalId = planner.rental()
    once('POST /v3/rentals/{rentalId}/payments', 'reset')
    const id = await rig.queue('rental_payment.add', { rentalId }, payment('again'))
    await rig.push()
    expect((await rig.change(id)).status).toBe('done')
    const [first, second, ...more] = postsTo(`/v3/rentals/${rentalId}/payments`).map(({ time }) => Date.parse(time))
    expect(more).toEqual([])
    expect(Number(second) - Number(first)).toBeGreaterThanOrEqual(timeoutMs + showDelayMs)
    expect(paymentsOf(rentalId, 'again')).toHaveLength(1)
  })

  it('is found by the last look when the API showed it late', async () => {
    const rentalId = planner.rental()
    const path = `/v3/rentals/${rentalId}/payments`
    const id = await rig.queue('rental_payment.add', { rentalId }, payment('late'))
    once('POST /v3/rentals/{rentalId}/payments', 'dropAfterEffect')
    rig.sandbox.fault({
      op: 'GET /v3/rentals/{rentalId}/payments',
      after: 1,
      times: 1,
      respond: { status: 200, body: [] },
    })
    await runOnce()
    await rig.database.pool.query(`update outbox.queue set sent_at = sent_at - interval '1 minute' where id = $1`, [id])
    await rig.push()
    expect(await rig.change(id)).toMatchObject({
      status: 'done',
      result: { id: paymentsOf(rentalId, 'late')[0]?.key.id },
    })
    expect(postsTo(path)).toHaveLength(1)
  })

  it('is unknown when several records could be it, and goes on with the one a person names', async () => {
    const rentalId = planner.rental()
    const id = await rig.queue('rental_payment.add', { rentalId }, payment('twin'))
    const edit = await rig.queue(
      'rental_payment.update',
      { rentalId, paymentId: { change: Number(id) } },
      { price: 11 },
    )
    once('POST /v3/rentals/{rentalId}/payments', 'dropAfterEffect')
    await runOnce()
    const [own] = paymentsOf(rentalId, 'twin')
    rig.sandbox.mutate([
      { record: 'rental_payments', op: 'insert', parent: rentalId, set: { ...own?.record, id: 990_001 } },
    ])
    await rig.push()
    expect(await rig.change(id)).toMatchObject({ status: 'unknown', response: { body: { candidates: [{}, {}] } } })
    expect((await rig.change(edit)).status).toBe('queued')

    await expect(resolveChange(rig.database, { what: 'took_effect', id: id }, rig.readBack)).rejects.toThrow(
      'wait for the id',
    )
    await expect(
      resolveChange(rig.database, { what: 'took_effect', id: id, resultId: '123' }, rig.readBack),
    ).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await resolveChange(rig.database, { what: 'took_effect', id: id, resultId: String(own?.key.id) }, rig.readBack)
    expect(await mirrored('rental_payments', 'price', { rental_id: rentalId, id: own?.key.id })).toEqual(['10'])
    await rig.push()
    expect([(await rig.change(id)).status, (await rig.change(edit)).status]).toEqual(['done', 'done'])
    expect(rig.truth('rental_payments', { rental_id: rentalId, id: Number(own?.key.id) })).toMatchObject({ price: 11 })
  })

  it('is never sent again when the API answered with success but did not say what it made', async () => {
    const rentalId = planner.rental()
    const id = await rig.queue('rental_payment.add', { rentalId }, payment('silent'))
    once('POST /v3/rentals/{rentalId}/payments', { status: 200, body: {} })
    await rig.push()
    expect(await rig.change(id)).toMatchObject({
      status: 'unknown',
      error: expect.stringContaining('answered with success'),
    })
    expect(postsTo(`/v3/rentals/${rentalId}/payments`)).toHaveLength(1)
    await resolveChange(rig.database, { what: 'did_not', id: id }, rig.readBack)
    await rig.push()
    expect((await rig.change(id)).status).toBe('done')
    expect(paymentsOf(rentalId, 'silent')).toHaveLength(1)
  })
})

describe('a removal whose answer was lost', () => {
  it('leaves again only when the first attempt cannot arrive any more: what was uploaded since would be lost', async () => {
    // The owner of the first belongs to another test.
    const row = rig.sandbox.truth({ only: ['user_identities'] }).user_identities?.at(-1)
    const userId = Number(row?.key.user_id)
    const slow = contextFor(rig, { timeoutMs, settings: { showDelayMs: 3_000 } })
    const pusher = createPusher(slow.context)
    try {
      once('DELETE /v3/users/{userId}/identity', { delayMs: 2_500 })
      await rig.queue('user_identity.remove', { userId })
      await rig.queue('user_identity.add', { userId }, { number: 'new', type: 'PASSEPORT' })
      await pusher.drain(AbortSignal.timeout(100_000), { until: 'settled' })
      const unanswered = () =>
        rig.writes().filter(({ path, status }) => path === `/v3/users/${userId}/identity` && status === null)
      await expect.poll(unanswered).toEqual([])
      expect(rig.truth('user_identities', { user_id: userId })).toMatchObject({ number: 'new' })
    } finally {
      await pusher.close()
      await slow.close()
    }
  })
})

describe('an update whose answer was lost', () => {
  it('leaves again only when the first attempt cannot arrive any more, so that it undoes nothing', async () => {
    const rentalId = planner.rental()
    const links = ['1', '2'].map((name) => `https://example.com/${rentalId}/${name}`)
    const slow = contextFor(rig, { timeoutMs, settings: { showDelayMs: 3_000 } })
    const pusher = createPusher(slow.context)
    try {
      // The API is at work on it long after we gave up waiting, and shows nothing of it meanwhile.
      once('PUT /v3/rentals/{rentalId}', { delayMs: 2_500 })
      for (const orderLink of links) await rig.queue('rental.update', { rentalId }, { orderLink })
      await pusher.drain(AbortSignal.timeout(100_000), { until: 'settled' })
      const unanswered = () =>
        rig.writes().filter(({ path, status }) => path === `/v3/rentals/${rentalId}` && status === null)
      await expect.poll(unanswered).toEqual([])
      expect(rig.truth('rentals', { id: rentalId })).toMatchObject({ orderLink: links[1] })
    } finally {
      await pusher.close()
      await slow.close()
    }
  })

  it('leaves again when what an error did would be shown by now, long before the time limit', async () => {
    const rentalId = planner.rental()
    const orderLink = `https://example.com/${rentalId}`
    const slow = contextFor(rig, { timeoutMs: 3_600_000, settings: { showDelayMs: 1_500 } })
    const pusher = createPusher(slow.context)
    try {
      once('PUT /v3/rentals/{rentalId}', { status: 500 })
      const id = await rig.queue('rental.update', { rentalId }, { orderLink })
      await pusher.drain(AbortSignal.timeout(100_000), { until: 'settled' })
      expect(await rig.change(id)).toMatchObject({ status: 'done', attempts: 2 })
      const puts = rig.writes().filter(({ path }) => path === `/v3/rentals/${rentalId}`)
      const [first, second] = puts.map(({ time }) => Date.parse(time))
      expect(Number(second) - Number(first)).toBeGreaterThanOrEqual(1_500)
    } finally {
      await pusher.close()
      await slow.close()
    }
  })

  it('is unknown when someone else wrote the field meanwhile, and a person decides', async () => {
    const rentalId = planner.rental()
    const id = await rig.queue('rental.update', { rentalId }, { orderLink: 'https://example.com/mine' })
    once('PUT /v3/rentals/{rentalId}', 'hang', 100)
    await runOnce()
    rig.sandbox.mutate([
      { record: 'rentals', op: 'update', id: rentalId, set: { orderLink: 'https://example.com/other' } },
    ])
    await rig.push()
    expect(await rig.change(id)).toMatchObject({ status: 'unknown', error: expect.stringContaining('orderLink') })
    await expect(cancelChange(rig.database, id)).rejects.toThrow('is unknown')
    await expect(resolveChange(rig.database, { what: 'local', id: id }, rig.readBack)).rejects.toThrow(
      'took_effect or did_not',
    )
    await resolveChange(rig.database, { what: 'took_effect', id: id }, rig.readBack)
    expect(await rig.change(id)).toMatchObject({
      status: 'done',
      warning: 'Settled by an operator. Not accepted by the API: orderLink.',
    })
    expect(await mirrored('rentals', 'order_link', { id: rentalId })).toEqual(['https://example.com/other'])
  })

  it('is settled on a person’s word although the API can’t be asked, and says that it was not', async () => {
    const rentalId = planner.rental()
    const id = await rig.queue('rental.update', { rentalId }, { orderLink: 'https://example.com/mine' })
    once('PUT /v3/rentals/{rentalId}', 'hang', 100)
    await runOnce()
    rig.sandbox.mutate([
      { record: 'rentals', op: 'update', id: rentalId, set: { orderLink: 'https://example.com/other' } },
    ])
    await rig.push()
    once('GET /v3/rentals/{rentalId}', 'forbidden')
    await resolveChange(rig.database, { what: 'took_effect', id: id }, rig.readBack)
    expect(await rig.change(id)).toMatchObject({
      status: 'done',
      warning: 'Settled by an operator. Not read back: the API did not answer.',
    })
  })
})

describe('a user without name or e-mail whose creation was lost', () => {
  it('is unknown, for nothing would find them, and is never sent again; a person names them', async () => {
    const addressCity = 'Nowhere-sur-Mer'
    const id = await rig.queue('user.create', {}, { addressCity })
    const sentBefore = postsTo('/v3/users').length
    once('POST /v3/users', 'dropAfterEffect')
    await rig.push()
    const error = expect.stringContaining('The change has neither e-mail nor name, so the user cannot be found.')
    expect(await rig.change(id)).toMatchObject({ status: 'unknown', error })
    expect(postsTo('/v3/users')).toHaveLength(sentBefore + 1)

    for (const wrong of ['990100', 'no id'])
      await expect(
        resolveChange(rig.database, { what: 'took_effect', id: id, resultId: wrong }, rig.readBack),
      ).rejects.toMatchObject({
        code: 'NOT_FOUND',
      })
    expect((await rig.change(id)).status).toBe('unknown')
    rig.sandbox.mutate([{ record: 'users', op: 'insert', id: 990_100, set: { addressCity } }])
    await resolveChange(rig.database, { what: 'took_effect', id: id, resultId: '990100' }, rig.readBack)
    expect(await rig.change(id)).toMatchObject({ status: 'done', result: { id: 990_100 } })
    expect(await mirrored('users', 'address_city', { id: 990_100 })).toEqual([addressCity])
  })
})

describe('a rental whose creation was lost', () => {
  it('is found by the reference of ours, and created once', async () => {
    const id = await rig.queue('rental.create', {}, planner.slot())
    once('POST /v3/rentals', 'dropAfterEffect')
    await rig.push()
    const change = await rig.change(id)
    expect(change).toMatchObject({ status: 'done', result: { id: expect.any(Number) } })
    const [sent] = rig.writes().slice(-1)
    const { referenceId: reference } = (sent?.body as Record<string, unknown>) ?? {}
    expect(reference).toMatch(new RegExp(`^bm-[0-9a-f]{10}-${id}$`))
    expect(rig.truth('rentals', { id: Number(change.result?.id) })).toMatchObject({ referenceId: reference })
  })

  it('is found by a reference that is a number, where API_REFERENCE_AS_NUMBER says that the API takes no other', async () => {
    const { context, close } = contextFor(rig, { timeoutMs, env: { API_REFERENCE_AS_NUMBER: 'on' } })
    const numbered = createPusher(context)
    const ids = [
      await rig.queue('rental.create', {}, planner.slot()),
      await rig.queue('rental.create', {}, { ...planner.slot(), referenceId: '471100' }),
    ]
    rig.sandbox.resetRequests()
    once('POST /v3/rentals', 'dropAfterEffect', 2)
    await numbered.drain(AbortSignal.timeout(100_000), { until: 'settled' })
    await close()
    expect((await Promise.all(ids.map((id) => rig.change(id)))).map(({ status }) => status)).toEqual(['done', 'done'])
    const sent = rig.writes().map(({ body }) => (body as { referenceId: unknown }).referenceId)
    expect(sent).toHaveLength(2)
    expect(sent).toContain(471100)
    expect(sent.map((reference) => typeof reference)).toEqual(['number', 'number'])
  })

  it('is settled although a change of the rental, which a sync has shown meanwhile, is on its way', async () => {
    const id = await rig.queue('rental.create', {}, planner.slot())
    once('POST /v3/rentals', 'dropAfterEffect')
    await runOnce()
    const reference = (await rig.change(id)).request?.body as { referenceId: string }
    const row = rig.sandbox
      .truth({ only: ['rentals'] })
      .rentals?.find(({ record }) => record.referenceId === reference.referenceId)
    const other = await rig.queue(
      'rental.update',
      { rentalId: row?.key.id },
      { orderLink: 'https://example.com/early' },
    )
    const hold = `update outbox.queue set status = $2, owner = 'another', lease_until = $3 where id = $1`
    await rig.database.pool.query(hold, [other, 'sending', new Date(Date.now() + 60_000)])
    while ((await rig.change(id)).status === 'sending') await runOnce()
    expect(await rig.change(id)).toMatchObject({ status: 'done', aggregate: `rental:${row?.key.id}` })
    await rig.database.pool.query(hold, [other, 'queued', null])
    await rig.push()
    expect((await rig.change(other)).status).toBe('done')
  })

  it('has expired when it is not there after 15 minutes: it may have been', async () => {
    const id = await rig.queue('rental.create', {}, planner.slot())
    const step = await rig.queue('rental.update', { rentalId: { change: Number(id) } }, { status: 'VALIDATED' })
    once('POST /v3/rentals', 'hang', 100)
    await runOnce()
    await rig.database.pool.query(`update outbox.queue set sent_at = sent_at - interval '15 minutes' where id = $1`, [
      id,
    ])
    await rig.push()
    expect([(await rig.change(id)).status, (await rig.change(step)).status]).toEqual(['expired', 'blocked'])
  })
})

describe('a deadline', () => {
  it('ends the steps of a pending rental that expired upstream, as expired', async () => {
    const id = await rig.queue('rental.create', {}, planner.slot())
    await rig.push()
    const rentalId = Number((await rig.change(id)).result?.id)
    rig.sandbox.mutate([{ record: 'rentals', op: 'delete', id: rentalId }])
    const step = await rig.queue('rental.update', { rentalId }, { status: 'VALIDATED' })
    await rig.push()
    expect(await rig.change(step)).toMatchObject({
      status: 'expired',
      error: expect.stringContaining('pending rental expired'),
    })
  })

  it('of the partner’s own is kept: nothing is sent after expires_at', async () => {
    const rentalId = planner.rental()
    const id = await rig.queue(
      'rental.update',
      { rentalId },
      { orderLink: 'x' },
      { expires_at: '2020-01-01T00:00:00Z' },
    )
    rig.sandbox.resetRequests()
    await rig.push()
    expect(await rig.change(id)).toMatchObject({ status: 'expired', attempts: 0 })
    expect(rig.writes()).toEqual([])
    await retryChange(rig.database, id)
    await rig.push()
    expect((await rig.change(id)).status).toBe('done')
  })
})

describe('a record that is gone', () => {
  it('fails an update and an add, and is what a delete wished for', async () => {
    const ids = [
      await rig.queue('rental.update', { rentalId: 1 }, { orderLink: 'x' }),
      await rig.queue('rental_payment.add', { rentalId: 1 }, payment('x')),
      await rig.queue('rental.delete', { rentalId: 1 }),
    ]
    await rig.push()
    expect(await Promise.all(ids.map(async (id) => (await rig.change(id)).status))).toEqual([
      'failed',
      'failed',
      'done',
    ])
  })
})

describe('a 409', () => {
  it('is success when what is there is what was wished', async () => {
    const userId = planner.user()
    const row = rig.sandbox.truth({ only: ['rentals'] }).rentals?.find(({ record }) => !record.user)
    const id = await rig.queue('rental_user.assign', { rentalId: row?.key.id }, { userId })
    await rig.push()
    const again = await rig.queue('rental_user.assign', { rentalId: row?.key.id }, { userId })
    await rig.push()
    expect([(await rig.change(id)).status, (await rig.change(again)).status]).toEqual(['done', 'done'])
  })

  it('is a conflict when another document is there', async () => {
    const owner = rig.sandbox.truth({ only: ['user_identities'] }).user_identities?.[0]
    const id = await rig.queue(
      'user_identity.add',
      { userId: owner?.key.user_id },
      { number: 'other', type: 'PASSEPORT' },
    )
    await rig.push()
    expect(await rig.change(id)).toMatchObject({
      status: 'conflict',
      conflict: { number: { local: 'other', remote: owner?.record.number } },
    })
  })

  it('is a refusal of a user whose e-mail is taken: it is not ours', async () => {
    const taken = rig.sandbox.truth({ only: ['users'] }).users?.[0]?.record.email
    const id = await rig.queue('user.create', {}, { ...newPerson('taken'), email: taken })
    await rig.push()
    expect(await rig.change(id)).toMatchObject({ status: 'failed', response: { status: 409 } })
  })
})

describe('a person who is gone', () => {
  it('leaves the outcome of their changes, and nothing of their content', async () => {
    const made = await rig.queue('user.create', {}, newPerson('forgotten'))
    const edited = await rig.queue(
      'user.update',
      { userId: { change: Number(made) } },
      { addressCity: 'Forgotten city' },
    )
    const gone = await rig.queue('user.delete', { userId: { change: Number(made) } })
    await rig.push()
    const { rows } = await rig.database.pool.query(
      'select status, q::text as everything from outbox.queue q where id = any($1)',
      [[made, edited, gone]],
    )
    expect(rows.map((row) => row.status)).toEqual(['done', 'done', 'done'])
    for (const { everything } of rows) expect(everything).not.toMatch(/forgotten/i)
  })
})

describe('a person decides', () => {
  it('to cancel and to retry, in states where that means something', async () => {
    const rentalId = planner.rental()
    const id = await rig.queue('rental.update', { rentalId }, { orderLink: 'https://example.com/canceled' })
    await cancelChange(rig.database, id)
    await rig.push()
    expect(await rig.change(id)).toMatchObject({ status: 'canceled', attempts: 0 })
    await retryChange(rig.database, id)
    await rig.push()
    await expect(retryChange(rig.database, id)).rejects.toThrow('is done; only')
    await expect(cancelChange(rig.database, id)).rejects.toThrow('is done; only')
    await expect(retryChange(rig.database, '999999')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})
