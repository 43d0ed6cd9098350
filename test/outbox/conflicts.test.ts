// Read, merge, write, verify: two partners, the API's own changes, and what a person decides.

import { beforeEach, describe, expect, it, vi } from 'vitest'
import { asRole } from '../helpers/roles.ts'
import { createRig, sharedRig } from './rig.ts'

const rig = sharedRig()
let rentalId = 0

beforeEach(async () => {
  rentalId = rig.planner.rental()
  upstream({ orderLink: 'https://example.com/start', contractLink: 'https://example.com/start' })
  await rig.mirror('rentals', { id: rentalId })
  rig.sandbox.resetRequests()
})

/** Another client changes the rental at the API. */
const upstream = (set: Record<string, unknown>): unknown =>
  rig.sandbox.mutate([{ record: 'rentals', op: 'update', id: rentalId, set }])

const update = (body: object, options: object = {}): Promise<string> =>
  rig.queue('rental.update', { rentalId }, body, options)
const truth = () => rig.truth('rentals', { id: rentalId })

/** Enqueues as a role of its own. */
async function updateAs(role: string, body: object): Promise<string> {
  const { pool } = rig.database
  await pool.query(
    `do $$ begin create role ${role} in role boat_mirror_enqueue; exception when duplicate_object then null; end $$`,
  )
  const sql = `select outbox.enqueue('rental.update', $1, $2) as id`
  return await asRole(pool, role, async (client) => String((await client.query(sql, [{ rentalId }, body])).rows[0].id))
}

describe('an update whose author looked at nothing (base: null)', () => {
  it('goes over whatever others wrote, also where it repeats what the mirror shows', async () => {
    const id = await update({ orderLink: 'https://example.com/start', contractLink: 'mine' }, { base: null })
    upstream({ orderLink: 'https://example.com/theirs', contractLink: 'theirs' })
    await rig.push()
    expect((await rig.change(id)).status).toBe('done')
    expect(truth()).toMatchObject({ orderLink: 'https://example.com/start', contractLink: 'mine' })
  })

  it('is an update: nothing else takes it', async () => {
    await expect(rig.queue('rental.delete', { rentalId }, {}, { base: null })).rejects.toThrow('Only updates accept it')
  })
})

describe('different fields', () => {
  it('of two partners and of the API’s own copy all survive', async () => {
    const one = await updateAs('bm_conflict_a', { orderLink: 'https://example.com/a' })
    const two = await updateAs('bm_conflict_b', { contractLink: 'https://example.com/b' })
    upstream({ referenceId: 'theirs' })
    await rig.push()
    expect(await rig.statuses([one, two])).toEqual(['done', 'done'])
    expect(truth()).toMatchObject({
      orderLink: 'https://example.com/a',
      contractLink: 'https://example.com/b',
      referenceId: 'theirs',
    })
  })

  it('leave prices as they are when only the status is named', async () => {
    upstream({ rentalPrice: 999.99, discountPrice: 12.5, commissionPrice: 3 })
    await rig.mirror('rentals', { id: rentalId })
    const id = await update({ status: 'CANCELED_BY_CLIENT' })
    await rig.push()
    expect((await rig.change(id)).status).toBe('done')
    expect(truth()).toMatchObject({
      status: 'CANCELED_BY_CLIENT',
      rentalPrice: 999.99,
      discountPrice: 12.5,
      commissionPrice: 3,
    })
  })
})

describe('the same field', () => {
  it('changed by two partners is a conflict, and nothing is overwritten', async () => {
    await updateAs('bm_conflict_a', { orderLink: 'https://example.com/a' })
    const second = await updateAs('bm_conflict_b', { orderLink: 'https://example.com/b' })
    await rig.push()
    expect(await rig.change(second)).toMatchObject({
      status: 'conflict',
      conflict: {
        orderLink: {
          base: 'https://example.com/start',
          local: 'https://example.com/b',
          remote: 'https://example.com/a',
        },
      },
    })
    expect(truth()).toMatchObject({ orderLink: 'https://example.com/a' })
  })

  it('changed by the API to the same value is no conflict', async () => {
    const id = await update({ orderLink: 'https://example.com/same' })
    upstream({ orderLink: 'https://example.com/same' })
    await rig.push()
    expect((await rig.change(id)).status).toBe('done')
  })

  it('is measured against what the editor saw, when that is older than the mirror', async () => {
    upstream({ orderLink: 'https://example.com/newer' })
    await rig.mirror('rentals', { id: rentalId })
    const id = await update(
      { orderLink: 'https://example.com/mine' },
      { base: { orderLink: 'https://example.com/start' } },
    )
    await rig.push()
    expect((await rig.change(id)).status).toBe('conflict')
  })

  it.each([
    { policy: 'local_wins', wins: 'https://example.com/mine', warning: null },
    {
      policy: 'remote_wins',
      wins: 'https://example.com/theirs',
      warning: 'Kept the value that was changed in the API, not sent: orderLink.',
    },
  ])('goes to one side at once with on_conflict $policy', async ({ policy, wins, warning }) => {
    const id = await update(
      { orderLink: 'https://example.com/mine', contractLink: 'https://example.com/c' },
      { on_conflict: policy },
    )
    upstream({ orderLink: 'https://example.com/theirs' })
    await rig.push()
    expect(await rig.change(id)).toMatchObject({ status: 'done', warning })
    expect(truth()).toMatchObject({ orderLink: wins, contractLink: 'https://example.com/c' })
  })
})

describe('an editor whose own change is not in the mirror, because the record cannot be mirrored now', () => {
  const one = 'https://example.com/one'

  beforeEach(async () => {
    upstream({ departureDatetime: 'some day' })
    const first = await update({ orderLink: one })
    await rig.push()
    expect(await rig.change(first)).toMatchObject({ status: 'done', warning: expect.stringContaining('mirrored') })
    const { rows } = await rig.database.pool.query('select order_link from mirror.rentals where id = $1', [rentalId])
    expect(rows).toEqual([{ order_link: 'https://example.com/start' }])
  })

  it.each(['fail', 'remote_wins'])('meets no conflict with it (on_conflict: %s)', async (policy) => {
    const second = await update({ orderLink: 'https://example.com/two' }, { on_conflict: policy })
    await rig.push()
    expect(await rig.change(second)).toMatchObject({ status: 'done', warning: expect.not.stringContaining('Kept') })
    expect(truth()).toMatchObject({ orderLink: 'https://example.com/two' })
  })

  it('keeps it when it repeats what the mirror shows', async () => {
    const second = await update({ orderLink: 'https://example.com/start', contractLink: 'https://example.com/two' })
    await rig.push()
    expect((await rig.change(second)).status).toBe('done')
    expect(truth()).toMatchObject({ orderLink: one, contractLink: 'https://example.com/two' })
  })

  it('meets one where it gives the base itself', async () => {
    const base = { orderLink: 'https://example.com/start' }
    const second = await update({ orderLink: 'https://example.com/two' }, { base })
    await rig.push()
    expect((await rig.change(second)).status).toBe('conflict')
  })

  it('meets one with what others wrote since', async () => {
    upstream({ orderLink: 'https://example.com/theirs' })
    const second = await update({ orderLink: 'https://example.com/two' })
    await rig.push()
    expect(await rig.change(second)).toMatchObject({
      status: 'conflict',
      conflict: { orderLink: { base: 'https://example.com/start', remote: 'https://example.com/theirs' } },
    })
  })

  it('meets one with a partner’s', async () => {
    const second = await updateAs('bm_conflict_a', { orderLink: 'https://example.com/two' })
    await rig.push()
    expect(await rig.change(second)).toMatchObject({ status: 'conflict', conflict: { orderLink: { remote: one } } })
  })

  it('meets one with what the mirror has read since', async () => {
    upstream({ departureDatetime: '2026-05-01T10:00:00Z', orderLink: 'https://example.com/theirs' })
    await rig.mirror('rentals', { id: rentalId })
    const second = await update({ orderLink: 'https://example.com/two' })
    upstream({ orderLink: one })
    await rig.push()
    expect(await rig.change(second)).toMatchObject({
      status: 'conflict',
      conflict: { orderLink: { base: 'https://example.com/theirs', remote: one } },
    })
  })
})

describe('a conflict', () => {
  it('resolved with local goes over what was seen, whatever earlier changes of one’s own had left', async () => {
    const first = await update({ orderLink: 'https://example.com/first' })
    const id = await update({ orderLink: 'https://example.com/second' })
    rig.sandbox.fault({ op: 'PUT *', after: 1, times: 1, respond: { status: 400, body: { message: 'no' } } })
    await rig.push()
    expect(await rig.statuses([first, id])).toEqual(['done', 'failed'])
    upstream({ orderLink: 'https://example.com/theirs' })
    await rig.decide('retry', id)
    await rig.push()
    expect((await rig.change(id)).status).toBe('conflict')
    await rig.decide('local', id)
    await rig.push()
    expect((await rig.change(id)).status).toBe('done')
    expect(truth()).toMatchObject({ orderLink: 'https://example.com/second' })
  })

  it('resolved with remote sends the other fields only', async () => {
    const id = await update({ orderLink: 'https://example.com/mine', contractLink: 'https://example.com/c' })
    upstream({ orderLink: 'https://example.com/theirs' })
    await rig.push()
    await rig.decide('remote', id)
    await rig.push()
    expect((await rig.change(id)).status).toBe('done')
    expect(truth()).toMatchObject({ orderLink: 'https://example.com/theirs', contractLink: 'https://example.com/c' })
  })
})

describe('a second user on a rental', () => {
  it('is a conflict that names both, and can’t be forced', async () => {
    const rentals = rig.rows('rentals')
    const taken = rentals
      .flatMap(({ key, record }) => (record.user ? [{ id: key.id, user: (record.user as { id: number }).id }] : []))
      .at(-1) // the planner of other tests takes the first
    const other = rig.rows('users').find((row) => row.key.id !== taken?.user)
    const id = await rig.queue('rental_user.assign', { rentalId: taken?.id }, { userId: other?.key.id })
    await rig.push()
    expect(await rig.change(id)).toMatchObject({
      status: 'conflict',
      conflict: { userId: { local: other?.key.id, remote: taken?.user } },
    })
    await expect(rig.decide('local', id)).rejects.toThrow('cannot replace the existing value')
    await rig.decide('remote', id)
    expect(await rig.change(id)).toMatchObject({ status: 'done', warning: expect.stringContaining('userId') })
    const { rows } = await rig.database.pool.query('select user_id::int from mirror.rentals where id = $1', [taken?.id])
    expect(rows).toEqual([{ user_id: taken?.user }])
  })
})

describe('an API that takes the status only', () => {
  it('leaves a warning that names the fields it ignored', async () => {
    await using strict = await createRig({ databaseUrl: rig.databaseUrl, sandbox: { onlyStatusChanges: true } })
    await strict.mirror('rentals', { id: rentalId })
    const id = await strict.queue(
      'rental.update',
      { rentalId },
      { status: 'CANCELED_BAD_WEATHER', orderLink: 'https://example.com/ignored' },
    )
    await strict.push()
    expect(await strict.change(id)).toMatchObject({ status: 'done', warning: 'Not accepted by the API: orderLink.' })
  })
})

describe('a present value that the API refuses', () => {
  it('is left out when the change does not touch its field', async () => {
    rig.sandbox.fault({
      op: 'PUT /v3/rentals/{rentalId}',
      times: 1,
      respond: { status: 400, body: { errors: [{ field: 'contractLink', message: 'is no link' }] } },
    })
    const id = await update({ orderLink: 'https://example.com/o' })
    await rig.push()
    expect((await rig.change(id)).status).toBe('done')
    const bodies = rig.writes().map((request) => request.body as Record<string, unknown>)
    expect(bodies.map((body) => Object.hasOwn(body, 'contractLink'))).toEqual([true, false])
  })
})

describe('mirror.rentals_local', () => {
  const local = async () =>
    (
      await rig.database.pool.query(
        'select order_link, status, pending_fields, pending_changes, pending_delete from mirror.rentals_local where id = $1',
        [rentalId],
      )
    ).rows[0]

  it('lays pending changes over the mirror, also over a newer read, and names the fields', async () => {
    const first = await update({ orderLink: 'https://example.com/1' })
    const second = await update({ orderLink: 'https://example.com/2', status: 'CANCELED_PAYMENT' })
    await rig.mirror('rentals', { id: rentalId })
    const row = await local()
    expect({ ...row, pending_fields: [...row.pending_fields].sort() }).toEqual({
      order_link: 'https://example.com/2',
      status: 'CANCELED_PAYMENT',
      pending_fields: ['order_link', 'status'],
      pending_changes: [first, second],
      pending_delete: false,
    })
    await rig.push()
    expect(await local()).toMatchObject({
      order_link: 'https://example.com/2',
      pending_fields: [],
      pending_changes: [],
    })
  })

  it('flags a rental whose deletion waits', async () => {
    await rig.queue('rental.delete', { rentalId })
    expect(await local()).toMatchObject({ pending_delete: true })
    await rig.push()
  })
})

describe('a change that is queued while an earlier one of its record is being settled', () => {
  it('meets no conflict with it, although what it saw is older', async () => {
    const first = await update({ orderLink: 'https://example.com/first' })
    // Settling records that the rental must be read again: a lock on that row delays its commit.
    const holder = await rig.database.pool.connect()
    let second: string
    try {
      await holder.query('begin')
      await holder.query(
        `insert into sync.records (stream, key) values ('rentals', $1)
         on conflict (stream, key) do update set changed_at = clock_timestamp()`,
        [String(rentalId)],
      )
      const pushing = rig.push()
      await vi.waitUntil(() => rig.writes().length === 1 && isWaiting(), { timeout: 10_000, interval: 20 })
      second = await update({ orderLink: 'https://example.com/second' })
      await holder.query('commit')
      await pushing
    } finally {
      holder.release()
    }
    await rig.push()
    expect(await rig.statuses([first, second])).toEqual(['done', 'done'])
    expect(truth()).toMatchObject({ orderLink: 'https://example.com/second' })
  })
})

/** Whether a transaction of this database waits for another. */
async function isWaiting(): Promise<boolean> {
  const { rows } = await rig.database.pool.query(
    `select from pg_locks l join pg_stat_activity a using (pid) where not l.granted and a.datname = current_database()`,
  )
  return rows.length > 0
}
