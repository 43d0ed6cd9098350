// Errors that nobody expected, and inputs that could cause one: a change never spins, whatever it holds.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Json, LosslessNumber, stringifyJson } from '../../src/api/wire/json.ts'
import type { BodyField } from '../../src/catalog/types.ts'
import { writes } from '../../src/catalog/writes.ts'
import type { Database } from '../../src/database/database.ts'
import { BoatMirrorError } from '../../src/errors.ts'
import type { PushContext } from '../../src/outbox/context.ts'
import type { Privacy } from '../../src/privacy/privacy.ts'
import { sharedRig } from './rig.ts'

const rig = sharedRig({ timeoutMs: 400 })

/** A database whose answer to one statement is this error. */
function failing(database: Database, statement: RegExp, error: () => Error): Database {
  const query = async (text: string, values?: unknown[]): Promise<unknown> => {
    if (statement.test(text)) throw error()
    return await database.pool.query(text, values)
  }
  const pool = new Proxy(database.pool, {
    get: (target, name) => (name === 'query' ? query : Reflect.get(target, name)),
  })
  return { ...database, pool }
}

/** One run of a pusher with these changes to its surroundings. */
const runWith = (changes: Partial<PushContext>, env: Record<string, string> = {}): Promise<void> =>
  rig.pushAs({ timeoutMs: 400, env, changes }, (pusher) => pusher.runOnce(AbortSignal.timeout(100_000)))

const slip = (): Error => new TypeError('left is undefined')
const readsEarlierChanges = /earlier_changes/
const pathOf = (rentalId: number): string => `/v3/rentals/${rentalId}`

describe('an error that nobody expected', () => {
  it('backs off, counts as an attempt, and ends as failed', async () => {
    const rentalId = rig.planner.rental()
    const id = await rig.queue('rental.update', { rentalId }, { orderLink: 'https://example.com/faulty' })
    const database = failing(rig.database, readsEarlierChanges, slip)
    await runWith({ database })
    const once = await rig.change(id)
    expect(once).toMatchObject({ status: 'queued', attempts: 1, error: 'INTERNAL: left is undefined' })
    expect(Number(once.next_attempt_at) - Date.now()).toBeGreaterThan(0)

    await rig.database.pool.query('update outbox.queue set attempts = 9, next_attempt_at = now() where id = $1', [id])
    await runWith({ database })
    expect(await rig.change(id)).toMatchObject({
      status: 'failed',
      attempts: 10,
      error: `INTERNAL: left is undefined (10 times; the log has the details). Nothing was sent. Try again with: changes retry ${id}.`,
    })
    expect(rig.writes(pathOf(rentalId))).toEqual([])
    await rig.decide('retry', id)
    await rig.push()
    expect((await rig.change(id)).status).toBe('done')
  })

  it('after the request was dispatched ends as unknown: it may have taken effect, and is not sent again', async () => {
    const rentalId = rig.planner.rental()
    const id = await rig.queue('rental.update', { rentalId }, { orderLink: 'https://example.com/dispatched' })
    const protect = (): never => {
      throw slip()
    }
    // As it makes a row of the answer.
    const privacy = { protect, isActive: false, generation: () => null, assertCurrent: async () => {} }
    const changes = { privacy: privacy as unknown as Privacy }
    await runWith(changes)
    expect(await rig.change(id)).toMatchObject({ status: 'sending', error: 'INTERNAL: left is undefined' })
    await rig.database.pool.query('update outbox.queue set looks = 9, next_attempt_at = now() where id = $1', [id])
    await runWith(changes)
    expect(await rig.change(id)).toMatchObject({
      status: 'unknown',
      error: expect.stringContaining('INTERNAL: left is'),
    })
    expect(rig.writes(pathOf(rentalId))).toHaveLength(1)
  })

  it('of our own database holds the change, however often it comes', async () => {
    const rentalId = rig.planner.rental()
    const id = await rig.queue('rental.update', { rentalId }, { orderLink: 'https://example.com/held' })
    await rig.database.pool.query('update outbox.queue set attempts = 50 where id = $1', [id])
    const away = (): Error => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    const busy = (): Error => new BoatMirrorError('DATABASE_BUSY', 'A statement was given up.')
    for (const error of [away, busy]) {
      await rig.database.pool.query('update outbox.queue set next_attempt_at = now() where id = $1', [id])
      await runWith({ database: failing(rig.database, readsEarlierChanges, error) })
      const held = await rig.change(id)
      expect(held).toMatchObject({ status: 'queued', attempts: 50 })
      expect(Number(held.next_attempt_at) - Date.now()).toBeGreaterThan(0)
    }
    await rig.push()
    expect((await rig.change(id)).status).toBe('done')
  })
})

describe('a reference with leading zeros, where API_REFERENCE_AS_NUMBER says that the API takes numbers', () => {
  it('is not sent: the change fails and names field, value and what to do', async () => {
    const id = await rig.queue('rental.create', {}, { ...rig.planner.slot(), referenceId: '0042' })
    const sentBefore = rig.writes('/v3/rentals').length
    await runWith({}, { API_REFERENCE_AS_NUMBER: 'on' })
    const { status, error, attempts } = await rig.change(id)
    expect({ status, attempts }).toEqual({ status: 'failed', attempts: 1 })
    for (const part of ['referenceId is "0042"', 'as 42', `changes retry ${id}`]) expect(error).toContain(part)
    expect(rig.writes('/v3/rentals')).toHaveLength(sentBefore)
    await rig.decide('retry', id)
    await rig.push()
    expect((await rig.change(id)).status).toBe('done')
  })
})

describe('whatever outbox.enqueue takes', () => {
  const odd = fc.constantFrom(
    '',
    '0',
    '0042',
    '-0',
    '1e5',
    ' 42 ',
    '\u00e9\u0301',
    '{"change": 1}',
    '2026-02-30T25:00',
    'x'.repeat(300),
  )
  const text = fc.oneof(
    odd,
    fc.string({ unit: 'binary' }).map((given) => given.replaceAll('\u0000', '')),
  )
  const number = fc.oneof(
    fc
      .constantFrom('0', '-1', '1e400', '1e-400', '0.005', '123456789012345678901234567890')
      .map((digits) => new LosslessNumber(digits)),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  )
  const integer = fc.oneof(fc.constantFrom(0, -1, 1, 2 ** 53), fc.nat())
  const anyOf = (field: BodyField): fc.Arbitrary<Json> => {
    if (field.values !== undefined) return fc.constantFrom(...field.values)
    switch (field.type) {
      case 'number':
        return number
      case 'integer':
        return integer
      case 'boolean':
        return fc.boolean()
      case 'date':
        return fc.constantFrom('2000-02-29', '0001-01-01', '9999-12-31')
      case 'email':
        return fc.constantFrom('a@b', 'Ann.Lee@Example.COM', '"a b"@example.com')
      case 'uri':
        return fc.constantFrom('a:b', 'https://example.com/\u00e9?a=%zz')
      case 'object':
        return fc.record(Object.fromEntries((field.members ?? []).map((member) => [member.name, anyOf(member)])))
      default:
        return text
    }
  }
  /** A change of one of these records or of none. Every field may be there; one that must be is. */
  const change = (ids: readonly number[]) =>
    fc.constantFrom(...writes).chain((write) => {
      const targets = Object.keys(write.target).map((name) => [name, fc.oneof(fc.constantFrom(...ids), integer)])
      const optional = write.body.map((field) => {
        const value = field.required ? anyOf(field) : fc.option(anyOf(field), { nil: undefined })
        return [field.name, value] as const
      })
      return fc.record({
        operation: fc.constant(write.operation),
        target: fc.record(Object.fromEntries(targets) as Record<string, fc.Arbitrary<Json>>),
        body: fc.record(Object.fromEntries(optional)),
      })
    })

  it('ends in a state within a bounded number of attempts', async () => {
    const changes = fc.sample(change([rig.planner.rental(), rig.planner.user(), 1]), { numRuns: 150, seed: 29 })
    const ids: string[] = []
    for (const { operation, target, body } of changes) {
      const values = [operation, target, body].map((part) =>
        typeof part === 'string' ? part : stringifyJson(part as Json),
      )
      const queued = rig.database.pool.query<{ id: string }>('select outbox.enqueue($1, $2, $3) as id', values)
      const id = await queued.then(
        ({ rows }) => rows[0]?.id,
        () => undefined,
      ) // refused at once: it has no state to end in
      if (id !== undefined) ids.push(id)
    }
    expect(ids.length).toBeGreaterThan(60)
    await rig.pushAs({ timeoutMs: 2_000, env: { API_REFERENCE_AS_NUMBER: 'on' } })
    const { rows } = await rig.database.pool.query(
      `select operation, status, error, attempts, body::text from outbox.queue where id = any($1) and (status in ('sending', 'unknown') or status = 'queued' and attempts > 0 or error like 'INTERNAL%')`,
      [ids],
    )
    expect(rows).toEqual([])
  })
})
