// Many partners on one outbox: whose change is next, and how many of them a role may have open.

import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { claimChanges, releaseChange } from '../../src/outbox/claim.ts'
import { markDispatched } from '../../src/outbox/dispatch.ts'
import { saveOutboxLimit } from '../../src/outbox/inspect.ts'
import { settleDone } from '../../src/outbox/settle.ts'
import { asRole } from '../helpers/roles.ts'
import { doneWith, sharedOutbox } from './open-outbox.ts'

const outbox = sharedOutbox()
const suffix = randomUUID().slice(0, 8)
const [ann, ben, cyd] = [`ann_${suffix}`, `ben_${suffix}`, `cyd_${suffix}`] as const
beforeAll(async () => {
  for (const role of [ann, ben, cyd])
    await outbox.database.pool.query(`create role ${role} login; grant boat_mirror_enqueue to ${role}`)
})
afterAll(async () => {
  for (const role of [ann, ben, cyd])
    await outbox.database.pool.query(`drop owned by ${role} cascade; drop role ${role}`)
})
beforeEach(() => outbox.empty())
afterEach(() => saveOutboxLimit(outbox.database.pool, null))

/** A role queues changes of rentals that nobody else has. */
let rental = 1
const queue = (role: string, count: number): Promise<readonly number[]> =>
  asRole(outbox.database.pool, role, async (client) => {
    const ids: number[] = []
    for (let i = 0; i < count; i++)
      ids.push(await outbox.queue('rental.update', { rentalId: rental++ }, { referenceId: 'x' }, {}, client))
    return ids
  })

const claim = async (most: number, servedLast: string): Promise<readonly string[]> =>
  (await claimChanges(outbox.database.pool, 'test', { leaseMs: 60_000, most, servedLast })).map((change) =>
    [ann, ben, cyd].includes(change.enqueuedBy as typeof ann) ? change.enqueuedBy.slice(0, 3) : change.enqueuedBy,
  )

describe('claims', () => {
  it('take turns over who queued, so that one with many does not keep others waiting', async () => {
    await queue(ann, 40)
    await queue(ben, 1)
    await queue(cyd, 6)
    expect(await claim(6, '')).toEqual(['ann', 'ben', 'cyd', 'ann', 'cyd', 'ann'])
    expect(await claim(4, ann)).toEqual(['cyd', 'ann', 'cyd', 'ann'])
    expect(await claim(8, cyd)).toEqual(['ann', 'cyd', 'ann', 'cyd', 'ann', 'ann', 'ann', 'ann'])
  })

  it('begin after the role that was served last when each takes one', async () => {
    await queue(ann, 5)
    await queue(ben, 5)
    await queue(cyd, 1)
    const served: string[] = []
    for (let last = ''; served.length < 7; ) {
      const [change] = await claimChanges(outbox.database.pool, 'test', { leaseMs: 60_000, most: 1, servedLast: last })
      last = change?.enqueuedBy ?? ''
      served.push(last.slice(0, 3))
    }
    expect(served).toEqual(['ann', 'ben', 'cyd', 'ann', 'ben', 'ann', 'ben'])
  })

  it('pass over roles with nothing due, however many they are', async () => {
    const [id] = await queue(cyd, 1)
    await queue(ann, 3)
    await queue(ben, 3)
    await outbox.database.pool.query(
      `update outbox.queue set next_attempt_at = clock_timestamp() + interval '1 hour' where enqueued_by <> $1`,
      [cyd],
    )
    const [change, ...others] = await claimChanges(outbox.database.pool, 'test', {
      leaseMs: 60_000,
      most: 1,
      servedLast: cyd,
    })
    expect(change?.id).toBe(String(id))
    expect(others).toEqual([])
    expect(await claim(4, cyd)).toEqual([])
  })

  it('give each role its oldest first, and what is given back its place again', async () => {
    const ids = await queue(ann, 3)
    const [first] = await claimChanges(outbox.database.pool, 'test', { leaseMs: 60_000, most: 1, servedLast: '' })
    expect(first?.id).toBe(String(ids[0]))
    if (first !== undefined) await releaseChange(outbox.database.pool, first)
    const again = await claimChanges(outbox.database.pool, 'test', { leaseMs: 60_000, most: 9, servedLast: ann })
    expect(again.map((change) => change.id)).toEqual(ids.map(String))
  })
})

describe('a claim of a change that refers to another', () => {
  it('brings its result, also if that was done after the claim had begun', async () => {
    const { pool } = outbox.database
    const option = await outbox.queue('rental_option.add', { rentalId: 1 }, { optionId: 5, quantity: 1 })
    const update = await outbox.queue(
      'rental_option.update',
      { rentalId: 1, optionId: { change: option } },
      { quantity: 2 },
    )
    const wanted = { leaseMs: 60_000, most: 1, servedLast: '' }
    await claimChanges(pool, 'first', wanted)
    const settling = await pool.connect()
    try {
      await settling.query('begin; lock table outbox.installation in access exclusive mode')
      const claimed = claimChanges(pool, 'second', wanted)
      await expect
        .poll(
          async () =>
            (await pool.query(`select from pg_locks where not granted and relation = 'outbox.installation'::regclass`))
              .rowCount,
        )
        .toBe(1)
      await settling.query(
        `update outbox.queue set status = 'done', result = '{"id": 7}', owner = null, lease_until = null where id = ${option}; commit`,
      )
      expect(await claimed).toMatchObject([{ id: String(update), results: new Map([[String(option), 7]]) }])
    } finally {
      settling.release()
    }
  })
})

describe('a claim that a crash has lost', () => {
  it('does not pass for the next one', async () => {
    const [id] = await queue(ann, 1)
    const { pool } = outbox.database
    const before = (await pool.query('select fence from outbox.queue where id = $1', [id])).rows[0]
    const wanted = { leaseMs: 60_000, most: 1, servedLast: '' }
    const [lost] = await claimChanges(pool, 'first', wanted)
    await pool.query(
      `update outbox.queue set status = 'queued', owner = null, lease_until = null, attempts = 0, fence = $2 where id = $1`,
      [id, before?.fence],
    )
    const [next] = await claimChanges(pool, 'second', wanted)
    expect(next?.id).toBe(lost?.id)
    if (lost === undefined || next === undefined) throw new Error('Nothing was claimed.')
    const sent = { params: {}, body: {}, applied: {}, evidence: {}, warnings: [] }
    await expect(markDispatched(pool, [{ change: lost, sent }])[0]).rejects.toMatchObject({ code: 'LEASE_LOST' })
    await expect(markDispatched(pool, [{ change: next, sent }])[0]).resolves.toBeInstanceOf(Date)
  })
})

describe('a claim, a dispatch and a settlement', () => {
  it.each([
    [0, 0],
    [4, 4],
    [3_000, 3_000],
    [3_000, 0],
  ])('read no more of the outbox when it has grown since of %d changes %d were left', async (queued, left) => {
    const client = await outbox.database.pool.connect()
    const readBy = async <T>(work: () => Promise<T>): Promise<{ readonly found: T; readonly read: number }> => {
      const read = async (): Promise<number> => {
        const { rows } = await client.query<{ read: number }>(
          `select (seq_tup_read + idx_tup_fetch)::int as read from pg_stat_xact_user_tables where relid = 'outbox.queue'::regclass`,
        )
        return rows[0]?.read ?? Number.NaN
      }
      const before = await read()
      const found = await work()
      return { found, read: (await read()) - before }
    }
    const pushed = async (count: number): Promise<readonly number[]> => {
      await client.query('begin')
      const wanted = { leaseMs: 60_000, most: 4, servedLast: '' }
      const claim = await readBy(() => claimChanges(client, 'test', wanted))
      const changes = claim.found
      expect(changes).toHaveLength(count)
      const sent = { params: {}, body: {}, applied: {}, evidence: {}, warnings: [] }
      const dispatch = await readBy(() =>
        Promise.all(
          markDispatched(
            client,
            changes.map((change) => ({ change, sent })),
          ),
        ),
      )
      const done = changes.map((change) => ({ change, done: doneWith(change, Number(change.target.rentalId)) }))
      const settlement = await readBy(() => settleDone(client, done))
      await client.query('rollback')
      return [claim, dispatch, settlement].map(({ read }) => read)
    }
    try {
      await queue(ann, queued)
      await client.query('delete from outbox.queue where id > $1', [left])
      await client.query('vacuum analyze outbox.queue') // of so few, every index costs the same
      await pushed(Math.min(left, 4))
      await queue(ann, 1_000)
      for (const read of await pushed(4)) expect(read).toBeLessThanOrEqual(200)
    } finally {
      client.release()
    }
  })
})

describe('OUTBOX_LIMIT', () => {
  const refusal = (role: string, open: number, limit: number): string =>
    `rental.update: role ${role} has ${open} open changes, and OUTBOX_LIMIT allows ${limit}.`

  it('refuses a change beyond it by the count, and all of its transaction', async () => {
    await saveOutboxLimit(outbox.database.pool, 3)
    await queue(ann, 2)
    const error = await queue(ann, 2).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: '53400', message: expect.stringContaining(refusal(ann, 3, 3)) })
    const { rows } = await outbox.database.pool.query('select count(*)::int as n from outbox.queue')
    expect(rows).toEqual([{ n: 2 }])
  })

  it('counts what is not settled, each role for itself', async () => {
    await saveOutboxLimit(outbox.database.pool, 2)
    const [done, stuck] = await queue(ann, 2)
    await outbox.database.pool.query(`update outbox.queue set status = 'conflict' where id = $1`, [stuck])
    await queue(ben, 2)
    await expect(queue(ann, 1)).rejects.toThrow(refusal(ann, 2, 2))
    await outbox.database.pool.query(`update outbox.queue set status = 'done', settled_at = now() where id = $1`, [
      done,
    ])
    await queue(ann, 1)
  })

  it('holds for two sessions at once', async () => {
    await saveOutboxLimit(outbox.database.pool, 5)
    const results = await Promise.allSettled([queue(ann, 3), queue(ann, 3), queue(ann, 3)])
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  it('gives the same change for the same reference, though no other would be taken', async () => {
    await saveOutboxLimit(outbox.database.pool, 1)
    const again = (): Promise<number> =>
      asRole(outbox.database.pool, ann, (client) =>
        outbox.queue('rental.update', { rentalId: 1 }, { referenceId: 'x' }, { reference: 'r-1' }, client),
      )
    expect(await again()).toBe(await again())
  })
})
