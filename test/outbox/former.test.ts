// Changes that were queued in another history of the database: what a lost future, or the database that this one is a copy of,
// may have sent is never sent again without a proof.

import { beforeAll, describe, expect, it } from 'vitest'
import { writes } from '../../src/catalog/writes.ts'
import { openDatabase } from '../../src/database/database.ts'
import { createLogger } from '../../src/log.ts'
import { findChange } from '../../src/outbox/inspect.ts'
import { createPusher } from '../../src/outbox/pusher.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'
import { newPayment, newPerson, type Planned } from './plans.ts'
import { contextFor, createRig, mirrorRecords } from './rig.ts'

const timing = { timeoutMs: 400, settings: { showDelayMs: 300 } }

const original = opened(createTestDatabase)
const rig = opened(() => createRig({ databaseUrl: original.url, sandbox: { size: 400 }, ...timing }))

beforeAll(async () => {
  for (const stream of new Set(writes.map((write) => write.stream)))
    await mirrorRecords(rig.database, stream, rig.rows(stream))
  // Complete syncs of the records that changes are about had ended before.
  await rig.database.pool.query(
    `insert into sync.runs (stream, trigger, status, finished_at)
     select stream, 'sync', 'done', clock_timestamp() from unnest(array['rentals', 'users']) s (stream)`,
  )
})

type Copy = AsyncDisposable & {
  readonly pool: TestDatabase['pool']
  readonly log: ReturnType<typeof createLogger>
  push(): Promise<void>
  status(id: string): Promise<string>
  change(id: string): Promise<NonNullable<Awaited<ReturnType<typeof findChange>>>>
  former(state: string, undetected?: boolean): Promise<number>
}

/**
 * The database as it is now. `recovered`: as an earlier state of the same database, as a recovery to this point in time would
 * leave it; else as a copy in another place.
 */
async function copyOf(from: TestDatabase, { recovered = false } = {}): Promise<Copy> {
  await from.pool.query('select outbox.notice_history()')
  const copy = await createTestDatabase({ copyOf: from })
  if (recovered)
    await copy.pool.query(`update outbox.installation set cluster = h.cluster, place = h.place from sync.history() h`)
  const database = openDatabase({ url: copy.url, applicationName: 'copy', max: 10, log: createLogger('silent') })
  const { context, close } = contextFor({ database, sandbox: rig.sandbox }, timing)
  const pusher = createPusher(context)
  const change: Copy['change'] = async (id) => {
    const found = await findChange(copy.pool, id)
    if (found === null) throw new Error(`There is no change ${id}.`)
    return found
  }
  return {
    pool: copy.pool,
    log: context.log,
    push: async () => {
      await pusher.drain(AbortSignal.timeout(100_000), { until: 'settled' })
    },
    change,
    status: async (id) => (await change(id)).status,
    former: async (state, undetected = false) => {
      const sql = 'select outbox.former_database($1, $2)::int as changes'
      return (await copy.pool.query<{ changes: number }>(sql, [state, undetected])).rows[0]?.changes ?? 0
    },
    [Symbol.asyncDispose]: async () => {
      await pusher.close()
      await close()
      await database.close()
      await copy[Symbol.asyncDispose]()
    },
  }
}

const queue = (planned: Pick<Planned, 'operation' | 'target' | 'body'>): Promise<string> =>
  rig.queue(planned.operation, planned.target, planned.body)

const areDone = async (copy: Copy, ids: readonly string[]): Promise<void> => {
  for (const id of ids) expect(await copy.change(id)).toMatchObject({ status: 'done', error: null })
}

/** Requests of a change that reached the API, however often. */
const sentOf = ({ method, path }: Planned): number =>
  rig.writes().filter((request) => request.method === method && request.path === path).length

const pay = (rentalId: number, reference: string, options: object = {}) =>
  rig.queue('rental_payment.add', { rentalId }, newPayment(reference), options)

describe('a database that went back', () => {
  it('sends none of the 22 writes again that its lost future had sent', async () => {
    const plans = rig.planner.plan()
    const ids = await Promise.all(plans.map(queue))
    await using earlier = await copyOf(original, { recovered: true })
    await rig.push()
    const before = plans.map(sentOf)
    await earlier.push()
    await areDone(earlier, ids)
    expect(plans.map(sentOf)).toEqual(before)
  })

  it('sends each of the 22 writes once that its lost future had not sent', async () => {
    const plans = rig.planner.plan()
    const ids = await Promise.all(plans.map(queue))
    await using earlier = await copyOf(original, { recovered: true })
    await rig.database.pool.query(`select outbox.cancel(id) from outbox.changes where status = 'queued'`)
    const before = plans.map(sentOf)
    await earlier.push()
    await areDone(earlier, ids)
    expect(plans.map((each, at) => sentOf(each) - (before[at] ?? 0))).toEqual(plans.map(() => 1))
  })

  it('finds a whole booking by the references of its lost future, and sends only the rest', async () => {
    const user = await rig.queue('user.create', {}, newPerson('booked'))
    const rental = await rig.queue('rental.create', {}, rig.planner.slot())
    await rig.queue(
      'rental_user.assign',
      { rentalId: { change: Number(rental) } },
      { userId: { change: Number(user) } },
    )
    const deposit = await rig.queue(
      'rental_payment.add',
      { rentalId: { change: Number(rental) } },
      newPayment('deposit'),
    )
    const last = await rig.queue('rental.update', { rentalId: { change: Number(rental) } }, { status: 'VALIDATED' })
    await using earlier = await copyOf(original, { recovered: true })
    // The lost future sent all but the last step.
    await rig.database.pool.query(`select outbox.cancel($1)`, [last])
    await rig.push()
    await earlier.push()
    expect(await earlier.status(last)).toBe('done')
    const made = (await earlier.change(rental)).result
    expect(made).toEqual((await rig.change(rental)).result)
    expect(rig.payments('deposit')).toHaveLength(1)
    expect(await earlier.status(deposit)).toBe('done')
    expect(rig.truth('rentals', { id: Number(made?.id) })).toMatchObject({ status: 'VALIDATED' })
  })

  it('leaves the decision to you where two lines could be the lost one', async () => {
    const rentalId = rig.planner.rental()
    const id = await pay(rentalId, 'twins')
    await using earlier = await copyOf(original, { recovered: true })
    await rig.push()
    await pay(rentalId, 'twins')
    await rig.push()
    await earlier.push()
    expect(await earlier.change(id)).toMatchObject({
      status: 'unknown',
      error: expect.stringContaining('2 new records'),
    })
    expect(rig.payments('twins')).toHaveLength(2)
  })

  it('does not take for the lost one a line that the mirror held then', async () => {
    const rentalId = rig.planner.rental()
    await pay(rentalId, 'monthly')
    await rig.push()
    const id = await pay(rentalId, 'monthly')
    await using earlier = await copyOf(original, { recovered: true })
    await rig.database.pool.query('select outbox.cancel($1)', [id])
    await earlier.push()
    expect(await earlier.status(id)).toBe('done')
    expect(rig.payments('monthly')).toHaveLength(2)
  })

  it('finds a lost line that a sync has mirrored meanwhile', async () => {
    const rentalId = rig.planner.rental()
    const id = await pay(rentalId, 'read before')
    await using earlier = await copyOf(original, { recovered: true })
    await rig.push()
    const line = rig.payments('read before')[0]
    await earlier.pool.query(
      `insert into mirror.rental_payments (rental_id, id, _payload, _source, _read_at) values ($1, $2, $3, 'GET /v3', clock_timestamp())`,
      [rentalId, line?.key.id, line?.record],
    )
    await earlier.pool.query(
      `insert into mirror.change_log (stream, key, operation, diff) values ('rental_payments', $1, 'insert', '{}')`,
      [{ rental_id: rentalId, id: line?.key.id }],
    )
    await earlier.push()
    expect(await earlier.change(id)).toMatchObject({ status: 'done', result: { id: line?.key.id } })
    expect(rig.payments('read before')).toHaveLength(1)
  })

  it('leaves the decision to you where a later change may have replaced what it set', async () => {
    const rentalId = rig.planner.rental()
    const links = ['one', 'two'].map((name) => `https://example.com/${name}`)
    const [first = '', second = ''] = [
      await rig.queue('rental.update', { rentalId }, { contractLink: links[0] }),
      await rig.queue('rental.update', { rentalId }, { contractLink: links[1] }),
    ]
    await using earlier = await copyOf(original, { recovered: true })
    await rig.push()
    await earlier.push()
    expect([await earlier.status(first), await earlier.status(second)]).toEqual(['unknown', 'queued'])
    await earlier.pool.query(`select outbox.resolve($1, 'took_effect')`, [first])
    await earlier.push()
    expect(await earlier.status(second)).toBe('done')
    expect(rig.truth('rentals', { id: rentalId })).toMatchObject({ contractLink: links[1] })
    const sent = rig.writes().filter(({ path, method }) => path === `/v3/rentals/${rentalId}` && method === 'PUT')
    expect(sent).toHaveLength(2)
  })

  it('never writes over what came after the lost update', async () => {
    const rentalId = rig.planner.rental()
    const id = await rig.queue(
      'rental.update',
      { rentalId },
      { orderLink: 'https://example.com/ours' },
      { on_conflict: 'local_wins' },
    )
    await using earlier = await copyOf(original, { recovered: true })
    await rig.push()
    await rig.queue('rental.update', { rentalId }, { orderLink: 'https://example.com/later' })
    await rig.push()
    await earlier.push()
    expect(await earlier.status(id)).toBe('unknown')
    expect(rig.truth('rentals', { id: rentalId })).toMatchObject({ orderLink: 'https://example.com/later' })
  })

  it('verifies a change first whose expires_at has passed meanwhile', async () => {
    const rentalId = rig.planner.rental()
    const soon = new Date(Date.now() + 3_600_000).toISOString()
    const sent = await pay(rentalId, 'in time', { expires_at: soon })
    const other = rig.planner.rental()
    const unsent = await pay(other, 'too late', { expires_at: soon })
    await using earlier = await copyOf(original, { recovered: true })
    await rig.database.pool.query('select outbox.cancel($1)', [unsent])
    await rig.push()
    await earlier.pool.query(`update outbox.queue set expires_at = clock_timestamp() where expires_at is not null`)
    await earlier.push()
    expect([await earlier.status(sent), await earlier.status(unsent)]).toEqual(['done', 'expired'])
    expect(rig.payments('too late')).toHaveLength(0)
  })

  it('verifies a change that you retry later', async () => {
    const rentalId = rig.planner.rental()
    const id = await pay(rentalId, 'canceled then')
    await rig.database.pool.query('select outbox.cancel($1)', [id])
    await using earlier = await copyOf(original, { recovered: true })
    await rig.database.pool.query('select outbox.retry($1)', [id])
    await rig.push()
    await earlier.push()
    await earlier.pool.query('select outbox.retry($1)', [id])
    await earlier.push()
    expect(await earlier.status(id)).toBe('done')
    expect(rig.payments('canceled then')).toHaveLength(1)
  })
})

describe('a copy in another place', () => {
  it('sends nothing that was queued before, and its own changes, until you say what became of the original', async () => {
    const [rentalId, own] = [rig.planner.rental(), rig.planner.rental()]
    const id = await pay(rentalId, 'copied')
    await using copy = await copyOf(original)
    const { rows } = await copy.pool.query<{ id: string }>(
      `select outbox.enqueue('rental_payment.add', $1, $2) as id`,
      [{ rentalId: own }, newPayment('own')],
    )
    await copy.push()
    expect([await copy.status(id), await copy.status(String(rows[0]?.id))]).toEqual(['queued', 'done'])
    await rig.push()
    expect(await copy.former('lives')).toBe(1)
    await copy.push()
    expect(await copy.change(id)).toMatchObject({ status: 'canceled', error: expect.stringContaining('lives on') })
    expect(rig.payments('copied')).toHaveLength(1)
  })

  it('verifies what was queued once the original is gone, and sends what had no effect', async () => {
    const [sent, unsent] = [rig.planner.rental(), rig.planner.rental()]
    const slot = rig.planner.slot()
    const a = await pay(sent, 'from there')
    const b = await pay(unsent, 'from here')
    const c = await rig.queue('rental.create', {}, slot)
    await using copy = await copyOf(original)
    await rig.database.pool.query('select outbox.cancel($1)', [b])
    await rig.push()
    await copy.push()
    expect(await copy.former('gone')).toBe(3)
    await copy.push()
    expect(await Promise.all([a, b, c].map((id) => copy.status(id)))).toEqual(['done', 'done', 'done'])
    expect((await copy.change(c)).result).toEqual((await rig.change(c)).result)
    expect([rig.payments('from there').length, rig.payments('from here').length]).toEqual([1, 1])
  })

  it('has an installation id of its own', async () => {
    await using copy = await copyOf(original)
    await copy.push()
    const idIn = async (pool: TestDatabase['pool']) =>
      (await pool.query('select id from outbox.installation')).rows[0]?.id
    expect(await idIn(copy.pool)).not.toBe(await idIn(rig.database.pool as unknown as TestDatabase['pool']))
  })

  it('that nothing inside can show, is one from the moment at which you say so', async () => {
    const rentalId = rig.planner.rental()
    const id = await pay(rentalId, 'branch')
    await using branch = await copyOf(original)
    await branch.pool.query(
      `update outbox.installation set epoch = h.epoch, cluster = h.cluster, place = h.place from sync.history() h`,
    )
    await branch.pool.query(`update outbox.queue set epoch = mirror.feed_epoch()`)
    const epoch = async () => (await branch.pool.query('select mirror.feed_epoch() as epoch')).rows[0]?.epoch
    const before = await epoch()
    await expect(branch.former('lives')).rejects.toMatchObject({ code: '55000' })
    expect(await branch.former('lives', true)).toBe(1)
    expect(await epoch()).not.toBe(before)
    await branch.push()
    expect(await branch.status(id)).toBe('canceled')
    await rig.push()
    expect(rig.payments('branch')).toHaveLength(1)
  })

  it('takes the decision of operators only, and no other word', async () => {
    await using copy = await copyOf(original)
    await expect(copy.former('dead')).rejects.toMatchObject({
      code: '22023',
      message: expect.stringContaining('gone or lives'),
    })
    const { rows } = await copy.pool.query(
      `select has_function_privilege(r, 'outbox.former_database(text, boolean)', 'execute') as may
       from unnest(array['boat_mirror_operator', 'boat_mirror_enqueue']) r`,
    )
    expect(rows.map(({ may }) => may)).toEqual([true, false])
  })
})
