// Changes about an erased person: none is queued, none that is open is sent, and of those that were sent the outcome
// alone is kept.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { keepsAll } from '../../src/privacy/rules.ts'
import { sharedRig } from '../outbox/rig.ts'
import { marker, tablesWith } from './markers.ts'

const rig = sharedRig({ sandbox: { size: 20 }, privacy: keepsAll })
let userIds: number[] = []
let userId = 0

beforeAll(() => {
  userIds = rig.rows('users').map((row) => Number(row.key.id))
})
beforeEach(async () => {
  // A process that meets an erasure it does not know of returns its change for a second: let it know those of earlier tests.
  await rig.context.privacy?.assertCurrent(rig.database.pool).catch(() => undefined)
  userId = userIds.pop() ?? 0
  await rig.mirror('users', { id: userId })
})

/** As an operator or a restore does it; the row in the mirror is left to the next start. */
const erase = (stream = 'users', key = String(userId)): Promise<unknown> =>
  rig.database.pool.query('insert into sync.erased (stream, key) values ($1, $2)', [stream, key])
const update = (body: object = { lastName: `${marker} wish` }, options: object = {}): Promise<string> =>
  rig.queue('user.update', { userId }, body, options)
const upstream = (set: object): unknown =>
  rig.sandbox.mutate([{ record: 'users', op: 'update', id: userId, set: { ...set } }])
const unerase = { code: '22023', message: expect.stringMatching(/ is erased, .* boat-mirror privacy unerase \d+\./) }
/** What the outbox holds of the person. */
const inOutbox = async (): Promise<number> => (await tablesWith(rig.database.pool, marker))['outbox.queue'] ?? 0

/** A change whose fields others changed meanwhile. */
async function inConflict(): Promise<string> {
  const id = await update({ email: `ours@${marker}.example` }, { base: { email: `base@${marker}.example` } })
  upstream({ email: `theirs@${marker}.example` })
  await rig.push()
  expect(await rig.change(id)).toMatchObject({ status: 'conflict' })
  return id
}

describe('a new change', () => {
  it('of the user, their documents, or that assigns the user, is refused with the way to undo the erasure', async () => {
    const rental = rig.rows('rentals')[0]?.key.id
    const made = await rig.queue(
      'user.create',
      {},
      { civility: 'MS', firstName: 'Bo', lastName: 'Le Goff', email: 'bo@b.example' },
    )
    await rig.push()
    const { result, error } = await rig.change(made)
    expect(error).toBe(null)
    await erase('users', String(result?.id))
    for (const id of [Number(result?.id), { change: Number(made) }]) {
      await expect(rig.queue('user.update', { userId: id }, { lastName: marker })).rejects.toMatchObject(unerase)
      const document = { number: marker, type: 'PASSEPORT' }
      await expect(rig.queue('user_identity.add', { userId: id }, document)).rejects.toMatchObject(unerase)
      await expect(rig.queue('rental_user.assign', { rentalId: rental }, { userId: id })).rejects.toMatchObject(unerase)
    }
    expect(await inOutbox()).toBe(0)
  })

  it('of a crew member is refused where that member is erased; others of the rental are free', async () => {
    const [one, other] = rig
      .rows('rental_crew_members')
      .map(({ key }) => ({ rentalId: Number(key.rental_id), crewMemberId: Number(key.id) }))
    await erase('rental_crew_members', JSON.stringify([String(one?.rentalId), String(one?.crewMemberId)]))
    await expect(rig.queue('rental_crew_member.update', one ?? {}, { firstName: marker })).rejects.toMatchObject({
      code: '22023',
      message: expect.stringContaining(' is erased, '),
    })
    await rig.queue('rental_crew_member.update', other ?? {}, { firstName: 'Bo' })
    await rig.queue('rental_crew_member.add', { rentalId: one?.rentalId }, { firstName: 'Bo', type: 'ADULT' })
    await rig.push()
  })
})

describe('an open change', () => {
  it('that waits is canceled and says why, with what refers to it blocked', async () => {
    const id = await update()
    await erase()
    expect(await rig.change(id)).toMatchObject({ status: 'canceled', error: `Canceled: user ${userId} is erased.` })
    expect(await inOutbox()).toBe(0)
    await expect(rig.decide('retry', id)).rejects.toThrow(`privacy unerase ${userId}`)
    // Nothing is left to send when that is undone.
    await rig.database.pool.query('delete from sync.erased where key = $1', [userId])
    await rig.decide('retry', id)
    await rig.push()
    expect(await rig.change(id)).toMatchObject({ status: 'failed', error: expect.stringContaining('Queue it again') })
  })

  it('in conflict is canceled, and resolving it is refused', async () => {
    const id = await inConflict()
    expect(await inOutbox()).toBe(1)
    await erase()
    expect(await rig.change(id)).toMatchObject({ status: 'canceled' })
    expect(await inOutbox()).toBe(0)
    await expect(rig.decide('local', id)).rejects.toThrow('canceled')
  })

  it('that was queued beside the erasure, unseen by it, leaves nothing when it ends in conflict', async () => {
    const caller = await rig.database.pool.connect()
    await caller.query('begin')
    const { rows } = await caller.query('select outbox.enqueue($1, $2, $3, $4)::text as id', [
      ...['user.update', { userId }, { email: `ours@${marker}.example` }, { base: { email: 'base@b.example' } }],
    ])
    await erase()
    await caller.query('commit')
    caller.release()
    upstream({ email: `theirs@${marker}.example` })
    await rig.push()
    expect(await rig.change(rows[0].id)).toMatchObject({ status: 'canceled' })
    expect(await inOutbox()).toBe(0)
  })

  it('whose answer was lost is verified, and keeps its outcome alone', async () => {
    rig.once('PUT /v3/users/{userId}', 'dropAfterEffect')
    rig.sandbox.fault({ op: 'GET /v3/users/{userId}', after: 1, times: 1, respond: { status: 503 } })
    const id = await update()
    await rig.runOnce()
    expect(await rig.change(id)).toMatchObject({ status: 'sending' })
    await erase()
    await rig.push()
    expect(await rig.change(id)).toMatchObject({ status: 'done', body: null })
    expect(await inOutbox()).toBe(0)
  })

  it('of unknown fate keeps its state alone; it may be said that it took effect, but not be sent again', async () => {
    const id = await update({ lastName: `${marker} a` })
    await rig.database.pool.query(
      `update outbox.queue set status = 'unknown', settled_at = now(), sent_at = now(), proof = $2, response = $2, request = $2 where id = $1`,
      [id, { body: { lastName: marker } }],
    )
    await erase()
    expect(await rig.change(id)).toMatchObject({ status: 'unknown', body: null })
    expect(await inOutbox()).toBe(0)
    await expect(rig.decide('did_not', id)).rejects.toThrow('privacy unerase')
    upstream({ lastName: `${marker} b` })
    // This process learns of the erasure first.
    await expect(rig.context.privacy?.assertCurrent(rig.database.pool)).rejects.toThrow('erased persons changed')
    await rig.decide('took_effect', id)
    expect(await rig.change(id)).toMatchObject({ status: 'done' })
    expect(await inOutbox()).toBe(0)
  })
})
