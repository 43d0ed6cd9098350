// outbox.enqueue from transactions that keep the snapshot they began with: what it decides holds under what is committed, or it
// fails with 40001, after which callers of these levels repeat the transaction.

import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Change } from '../../src/outbox/change.ts'
import { claimChanges, renewLeases, tidy } from '../../src/outbox/claim.ts'
import { enqueue } from '../../src/outbox/enqueue.ts'
import { saveOutboxLimit } from '../../src/outbox/inspect.ts'
import type { Outcome } from '../../src/outbox/outcome.ts'
import { createTestPool } from '../helpers/database.ts'
import { doneWith, type Outbox, rental, settle, sharedOutbox, user } from './open-outbox.ts'
import { createRig } from './rig.ts'

const outbox = sharedOutbox()
const queue: Outbox['queue'] = (...call) => outbox.queue(...call)
beforeEach(() => outbox.empty())
afterEach(() => saveOutboxLimit(outbox.database.pool, null))

/** A caller's own connection. What hangs is taken for stuck after a minute. */
async function connect(url = outbox.database.url): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client({ connectionString: url, statement_timeout: 60_000 })
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}

const snapshot = async (client: pg.Client, level: string): Promise<void> => {
  await client.query(`begin isolation level ${level}`)
  await client.query('select count(*) from outbox.queue')
}

const outdated = {
  code: '40001',
  message: expect.stringMatching(/^[a-z_.]+: the outbox has changed since .*\. Repeat the transaction\.$/),
}

/** Claims what is due, and marks it as sent. */
async function claim(): Promise<readonly Change[]> {
  const { pool } = outbox.database
  const changes = await claimChanges(pool, 'worker', { leaseMs: 60_000, most: 8, servedLast: '' })
  await pool.query(`update outbox.queue set sent_at = clock_timestamp() where status = 'sending'`)
  return changes
}

/** Claims and settles what is due. */
async function work(outcomeOf: (change: Change) => Outcome): Promise<void> {
  for (const change of await claim()) await settle(outbox.opened, change, outcomeOf(change))
}

const failed: Outcome = { kind: 'failed', error: 'no', response: null }
const rows = async (columns: string): Promise<readonly pg.QueryResultRow[]> =>
  (await outbox.database.pool.query(`select ${columns} from outbox.queue order by id`)).rows

const levels = ['repeatable read', 'serializable'] as const

it('keeps the order of a new rental’s updates, and loses none, while a worker is busy with one of them', async () => {
  await using rig = await createRig({ databaseUrl: outbox.database.url, sandbox: { size: 120 }, timeoutMs: 10_000 })
  await using caller = await connect()
  const booking = Number(await rig.queue('rental.create', {}, rig.planner.slot()))
  await snapshot(caller, 'repeatable read')
  await rig.push()
  const { id } = (await rig.change(String(booking))).result as { id: number }
  rig.sandbox.fault({ op: 'PUT /v3/rentals/{rentalId}', times: 1, respond: { delayMs: 1_500 } })
  const first = await rig.queue('rental.update', { rentalId: id }, { orderLink: 'https://example.com/1' })
  const pushing = rig.push()
  await expect.poll(async () => (await rig.change(first)).sent_at).not.toBeNull()
  const update = () => queue('rental.update', { rentalId: { change: booking } }, { referenceId: 'r-2' }, {}, caller)
  // As callers of this level do.
  const second = await update().catch(async (error) => {
    expect(error).toMatchObject(outdated)
    await caller.query('rollback; begin isolation level repeatable read')
    return await update()
  })
  await caller.query('commit')
  await pushing
  await rig.push()
  const record = { status: 'done', aggregate: `rental:${id}` }
  expect([await rig.change(first), await rig.change(String(second))]).toMatchObject([record, record])
  expect(rig.truth('rentals', { id })).toMatchObject({ orderLink: 'https://example.com/1', referenceId: 'r-2' })
})

describe.each(levels)('in %s, a change', (level) => {
  it('that refers to one that has moved since the snapshot is to be repeated, and is then of its record', async () => {
    const booking = await queue('rental.create', {}, rental)
    await using caller = await connect()
    await caller.query(`set default_transaction_isolation = '${level}'`)
    await caller.query('begin; select from outbox.queue')
    await work((change) => doneWith(change, 70))
    await queue('rental.update', { rentalId: 70 }, { orderLink: 'a' })
    const update = () => queue('rental.update', { rentalId: { change: booking } }, { orderLink: 'b' }, {}, caller)
    await expect(update()).rejects.toMatchObject(outdated)
    await caller.query('rollback; begin')
    await update()
    await caller.query('commit')
    expect(await rows('aggregate')).toEqual(Array(3).fill({ aggregate: 'rental:70' }))
  })

  it('fails again as long as its transaction goes on behind a savepoint', async () => {
    const booking = await queue('rental.create', {}, rental)
    await using caller = await connect()
    await snapshot(caller, level)
    await work((change) => doneWith(change, 70))
    for (let time = 1; time <= 3; time++) {
      await caller.query('savepoint attempt')
      const update = queue('rental.update', { rentalId: { change: booking } }, { orderLink: 'a' }, {}, caller)
      await expect(update).rejects.toMatchObject(outdated)
      await caller.query('rollback to savepoint attempt')
    }
    await caller.query('commit')
    expect(await rows('id::int')).toEqual([{ id: booking }])
  })

  it('leaves the heartbeats of a worker alone until its transaction ends', async () => {
    const booking = await queue('rental.create', {}, rental)
    await claim()
    await using caller = await connect()
    await snapshot(caller, level)
    await queue('rental.update', { rentalId: { change: booking } }, { orderLink: 'a' }, {}, caller)
    await outbox.opened.transaction(async (worker) => {
      await worker.query(`set local lock_timeout = '5s'`)
      expect(await renewLeases(worker, 'worker', 60_000)).toEqual([String(booking)])
    })
    const again = queue('rental.update', { rentalId: { change: booking } }, { orderLink: 'b' }, {}, caller)
    await expect(again).rejects.toMatchObject(outdated)
    await caller.query('rollback')
  })

  it('does not wait for what died since the snapshot', async () => {
    const person = await queue('user.create', {}, user)
    await using caller = await connect()
    await snapshot(caller, level)
    await work(() => failed)
    const assign = () => queue('rental_user.assign', { rentalId: 42 }, { userId: { change: person } }, {}, caller)
    await expect(assign()).rejects.toMatchObject(outdated)
    await caller.query(`rollback; begin isolation level ${level}`)
    await assign()
    await caller.query('commit')
    expect(await rows('status')).toEqual([{ status: 'failed' }, { status: 'blocked' }])
  })

  it('takes no deadline that was lifted since the snapshot', async () => {
    await queue('rental.create', {}, rental)
    await work((change) => doneWith(change, 70, 'PENDING'))
    await queue('rental.update', { rentalId: 70 }, { status: 'VALIDATED' })
    await using caller = await connect()
    await snapshot(caller, level)
    await work((change) => doneWith(change, 70, 'VALIDATED'))
    const pay = () => queue('rental_payment.add', { rentalId: 70 }, { currency: 'EUR', price: 5 }, {}, caller)
    await expect(pay()).rejects.toMatchObject(outdated)
    await caller.query(`rollback; begin isolation level ${level}`)
    await pay()
    await caller.query('commit')
    expect(await rows('deadline')).toEqual(Array(3).fill({ deadline: null }))
  })

  it('counts what its role queued or retried since the snapshot', async () => {
    await saveOutboxLimit(outbox.database.pool, 2)
    const update = (rentalId: number, runner?: pg.Client) =>
      queue('rental.update', { rentalId }, { orderLink: 'a' }, {}, runner)
    const again = await update(1)
    await work(() => failed)
    await using caller = await connect()
    await snapshot(caller, level)
    await update(2)
    await expect(update(3, caller)).rejects.toMatchObject(outdated)
    await caller.query('rollback')
    await snapshot(caller, level)
    await outbox.database.pool.query('select outbox.retry($1)', [again])
    await expect(update(3, caller)).rejects.toMatchObject(outdated)
    await caller.query('rollback')
    await expect(update(3, caller)).rejects.toMatchObject({ code: '53400' })
    await work(() => failed)
    await snapshot(caller, level)
    await update(4)
    await expect(caller.query('select outbox.retry($1)', [again])).rejects.toMatchObject(outdated)
  })

  it('is the change of the same reference, or to be repeated', async () => {
    const update = (runner?: pg.Client) =>
      queue('rental.update', { rentalId: 1 }, { orderLink: 'a' }, { reference: 'r' }, runner)
    await using caller = await connect()
    await snapshot(caller, level)
    const first = await update()
    await expect(update(caller)).rejects.toMatchObject({ code: '40001' })
    await caller.query('rollback')
    await snapshot(caller, level)
    expect(await update(caller)).toBe(first)
    await outbox.database.pool.query('delete from outbox.queue')
    await expect(update(caller)).rejects.toMatchObject(outdated)
  })

  it('keeps SQLSTATE 40001 in the library, where the caller’s own repetition looks for it', async () => {
    const booking = await queue('rental.create', {}, rental)
    const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: createTestPool(outbox.database.url, 2) }) })
    try {
      const running = db
        .transaction()
        .setIsolationLevel(level)
        .execute(async (trx) => {
          await trx.selectNoFrom((from) => from.lit(1).as('one')).execute()
          await work((change) => doneWith(change, 70))
          const body = { orderLink: 'a' }
          await enqueue(trx, { operation: 'rental.update', target: { rentalId: { change: booking } }, body })
        })
      await expect(running).rejects.toMatchObject(outdated)
    } finally {
      await db.destroy()
    }
  })
})

it('in read committed, every part of a call sees what was committed while it waited for its turn', async () => {
  await outbox.database.pool.query(
    `insert into mirror.rentals (id, _payload, _source, _read_at) values (70, '{"orderLink": "mirrored"}', 'test', now())`,
  )
  const booking = await queue('rental.create', {}, rental)
  const payment = await queue('rental_payment.add', { rentalId: { change: booking } }, { currency: 'EUR', price: 5 })
  const [creation] = await claim()
  await using caller = await connect()
  await using blocker = await connect()
  await blocker.query('begin')
  await blocker.query(`select outbox.lock_aggregate('change:${booking}')`)
  const settling = settle(outbox.opened, creation as Change, doneWith(creation as Change, 70))
  const isWaiting = async (count: number): Promise<void> => {
    const waiting = `select from pg_locks where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`
    await expect.poll(async () => (await outbox.database.pool.query(waiting)).rowCount).toBe(count)
  }
  await isWaiting(1)
  // The caller stands behind the worker: the creation is done, and has moved, between its first look and its turn.
  const update = queue('rental.update', { rentalId: { change: booking } }, { orderLink: 'mine' }, {}, caller)
  await isWaiting(2)
  const target = { rentalId: 70, paymentId: { change: payment } }
  await blocker.query('commit')
  await settling
  const id = await update
  const { rows: queued } = await outbox.database.pool.query('select aggregate, base from outbox.queue where id = $1', [
    id,
  ])
  expect(queued).toEqual([{ aggregate: 'rental:70', base: { orderLink: 'mirrored' } }])
  await queue('rental_payment.update', target, { price: 6 }, {}, caller)
})

it('is not claimed below a record that came to be, until it has moved to it', async () => {
  const booking = await queue('rental.create', {}, rental)
  await work((change) => doneWith(change, 70))
  await queue('rental.update', { rentalId: 70 }, { orderLink: 'a' })
  const late = await queue('rental.update', { rentalId: { change: booking } }, { orderLink: 'b' })
  await outbox.database.pool.query(`update outbox.queue set aggregate = $1 where id = $2`, [`change:${booking}`, late])
  const [first, ...others] = await claim()
  expect([first?.aggregate, others]).toEqual(['rental:70', []])
  await tidy(outbox.database.pool)
  expect(await claim()).toEqual([])
  await settle(outbox.opened, first as Change, doneWith(first as Change, 70))
  expect((await claim()).map(({ id }) => id)).toEqual([String(late)])
})
