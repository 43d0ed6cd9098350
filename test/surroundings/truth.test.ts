// What a sync must show: every table equal to the truth, nothing written when nothing changed, changes found. The default world is
// read with `npm run surroundings`; with `npm run test:all` a smaller one, in which every read is called all the same.

import { describe, expect, it } from 'vitest'
import { readEndpoints } from '../../src/catalog/catalog.ts'
import { createPusher } from '../../src/outbox/pusher.ts'
import type { Run } from '../../src/sync/runs/runs.ts'
import { isFull } from '../helpers/extent.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'
import { ranges } from './ranges.ts'

const unfinished = (runs: readonly Run[]): readonly string[] =>
  runs.filter((run) => run.status !== 'done').map((run) => `${run.stream}: ${run.status} ${run.error}`)

/** Rows inserted, updated and deleted in each table of the mirror, from Postgres's own statistics. */
async function rowsWritten(mirror: TestMirror): Promise<Readonly<Record<string, number>>> {
  // A session hands in its statistics at the latest when it ends.
  await mirror.restart()
  const { rows } = await mirror.app.database.pool.query<{ relname: string; written: number }>(
    `select relname, (n_tup_ins + n_tup_upd + n_tup_del)::int as written from pg_stat_user_tables where schemaname = 'mirror'`,
  )
  return Object.fromEntries(rows.map(({ relname, written }) => [relname, written]))
}

const detailReads = (mirror: TestMirror): readonly string[] =>
  Object.keys(mirror.sandbox.stats().templates).filter((template) =>
    /\{(rentalId|userId|companyId|harbourId|cityId|countryCode|optionId|typeId)\}/.test(template),
  )

/**
 * The default world, or a smaller one with all its reads, and the most requests of a first sync and of one that changes nothing.
 * Of the default world everything would be 3,653 requests, of which a first sync makes at most seven tenths: the smaller one has
 * too few records for samples to show which reads repeat others.
 */
const world = isFull ? { size: 200, first: 0.7 * 3_653, unchanged: 445 } : { size: 20, first: 640, unchanged: 130 }

describe(`a complete sync of a world of ${world.size} rentals`, () => {
  it('calls every read with success, makes every table equal to the truth, and then writes nothing more', async () => {
    await using mirror = await openTestMirror({ size: world.size })
    expect(unfinished(await mirror.sync())).toEqual([])
    expect(await mirror.differences()).toEqual([])
    // Which records are drawn moves the sum by some requests.
    expect(mirror.sandbox.requests().length).toBeLessThanOrEqual(world.first)
    const called = Object.keys(mirror.sandbox.stats().templates)
    expect(readEndpoints.filter((endpoint) => !called.includes(endpoint))).toEqual([])

    const before = await rowsWritten(mirror)
    mirror.sandbox.resetRequests()
    expect(unfinished(await mirror.sync())).toEqual([])
    expect(await rowsWritten(mirror)).toEqual(before)
    // What others change without a trace is read at every sync; of details that belong to their record alone only samples are.
    const sampled = ['GET /v3/rentals/{rentalId}', 'GET /v3/rentals/{rentalId}/user', 'GET /v3/users/{userId}']
    if (isFull) expect(detailReads(mirror).toSorted()).toEqual(sampled)
    else expect(detailReads(mirror).filter((read) => !sampled.includes(read))).toEqual([])
    expect(mirror.sandbox.requests().length).toBeLessThanOrEqual(world.unchanged)
    expect(await mirror.differences()).toEqual([])
  })

  it.runIf(isFull)('finds inserts, updates and deletes at the first following sync', async () => {
    await using mirror = await openTestMirror({ size: isFull ? 60 : 30 }, ranges)
    await mirror.sync()
    for (const seed of isFull ? [1, 2] : [1]) {
      expect(mirror.sandbox.mutateRandomly(60, seed).length).toBeGreaterThan(30)
      expect(unfinished(await mirror.sync())).toEqual([])
      expect(await mirror.differences()).toEqual([])
    }
    // The change log shows the same: replayed, it ends in the live rows.
    const { rows } = await mirror.app.database.pool.query<{ stream: string }>(
      `select stream from (select distinct on (stream, key) stream, key, operation from mirror.change_log order by stream, key, seq desc) last
       where stream = 'rentals' and (operation = 'delete') is distinct from not exists (
         select 1 from mirror.rentals r where r.id = (last.key ->> 'id')::bigint and r._deleted_at is null)`,
    )
    expect(rows).toEqual([])
  })

  it('finds that somebody took back a change of ours, though the answer equals the one before it', async () => {
    await using mirror = await openTestMirror({ size: 20 })
    const streams = ['rentals', 'rental_payments']
    await mirror.sync({ streams })
    const { pool } = mirror.app.database
    const { rows } = await pool.query<{ rental_id: string; id: string; reference: string | null }>(
      'select rental_id, id, reference from mirror.rental_payments where _deleted_at is null limit 1',
    )
    const [payment] = rows
    if (payment === undefined) throw new Error('The world has no payment.')
    await pool.query(`select outbox.enqueue('rental_payment.update', $1, '{"reference": "ours"}')`, [
      JSON.stringify({ rentalId: Number(payment.rental_id), paymentId: Number(payment.id) }),
    ])
    const pusher = createPusher(mirror.app.pushContext)
    await pusher.drain(AbortSignal.timeout(100_000), { until: 'settled' })
    const shown = async (): Promise<unknown> =>
      (await pool.query('select reference from mirror.rental_payments where id = $1', [payment.id])).rows[0]
    expect(await shown()).toEqual({ reference: 'ours' })

    const { rental_id: parent, id, reference } = payment
    mirror.sandbox.mutate([{ record: 'rental_payments', op: 'update', parent, id, set: { reference } }])
    // A moment after the change it could be a read that came too early: nothing is remembered of it, and it is read again.
    await mirror.sync({ streams })
    await pool.query(`update outbox.queue set settled_at = settled_at - interval '5 seconds'`)
    await mirror.sync({ streams })
    expect(await shown()).toEqual({ reference })
  })

  it('finds changes that leave no trace in any list with --full', async () => {
    await using mirror = await openTestMirror({ size: 10, touch: false, summary: true })
    const streams = ['rentals', 'rental_payments']
    const differences = async (): Promise<readonly string[]> =>
      (await mirror.differences()).filter((each) => streams.some((stream) => each.startsWith(`${stream} `)))
    await mirror.sync({ streams })
    const { rows } = await mirror.app.database.pool.query<{ rental_id: string; id: string }>(
      'select rental_id, id from mirror.rental_payments where _deleted_at is null limit 1',
    )
    const payment = rows[0]
    if (payment === undefined) throw new Error('The world has no payment.')
    mirror.sandbox.mutate([
      {
        record: 'rental_payments',
        op: 'update',
        parent: payment.rental_id,
        id: payment.id,
        set: { reference: 'untraceable' },
        touch: false,
      },
    ])
    await mirror.sync({ streams })
    expect(await differences()).toEqual([
      `rental_payments {"id": ${payment.id}, "rental_id": ${payment.rental_id}}: _payload, reference`,
    ])
    await mirror.sync({ streams, full: true })
    expect(await differences()).toEqual([])
  })

  it.runIf(isFull)('heals rows of collections that somebody spoilt in the database, with --full', async () => {
    await using mirror = await openTestMirror({ size: 20 })
    const streams = ['rentals', 'rental_payments', 'rental_crew_members']
    await mirror.sync({ streams })
    const { pool } = mirror.app.database
    const spoilt = await pool.query('update mirror.rental_payments set reference = $1', ['spoilt'])
    expect(spoilt.rowCount).toBeGreaterThan(0)
    await mirror.sync({ streams, full: true })
    const { rowCount } = await pool.query('select from mirror.rental_payments where reference = $1', ['spoilt'])
    expect(rowCount).toBe(0)
  })
})
