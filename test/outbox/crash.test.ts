// A Postgres that crashes where `synchronous_commit` is off, a usual tuning: what a later proof relies on is on disk all the same,
// so that nothing is sent twice and nothing that was said is lost.

import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { openDatabase } from '../../src/database/database.ts'
import { durably } from '../../src/database/sql.ts'
import { createLogger } from '../../src/log.ts'
import { createPusher } from '../../src/outbox/pusher.ts'
import { migrate } from '../../src/schema/migrate.ts'
import { createTestPool } from '../helpers/database.ts'
import { type OwnPostgres, openOwnPostgres } from '../helpers/postgres-server.ts'
import { newPayment } from './plans.ts'
import { contextFor, createRig, type Rig } from './rig.ts'

let own: OwnPostgres
let rig: Rig
let asAdmin: pg.Pool

/** Kills every process of the server at once. What was written to the log only in memory is gone. */
async function crash(): Promise<void> {
  await own.stop('immediate')
  await own.start()
  await expect
    .poll(() =>
      asAdmin.query('select').then(
        () => true,
        () => false,
      ),
    )
    .toBe(true)
}

beforeAll(async () => {
  // Nothing but a commit that waits for it writes the log.
  own = await openOwnPostgres(join(inject('runFolder'), `crash-${randomUUID().slice(0, 8)}`), {
    wal_writer_delay: '10s',
    autovacuum: 'off',
  })
  asAdmin = createTestPool(own.url, 2)
  await migrate(own.url)
  await asAdmin.query(`do $do$ begin
    execute format('alter database %I set synchronous_commit = off', current_database());
    execute format('alter role %I set synchronous_commit = off', current_user); end $do$`)
  await asAdmin.query('checkpoint')
  rig = await createRig({ databaseUrl: own.url, timeoutMs: 1_000 })
})
afterAll(async () => {
  await rig[Symbol.asyncDispose]()
  await asAdmin.end()
  await own.close()
})
beforeEach(() => rig.sandbox.clearFaults())

const pay = (rentalId: number, reference: string) =>
  rig.queue('rental_payment.add', { rentalId }, newPayment(reference))
/** The caller's own transaction, which is on disk only if the caller says so. */
const flush = () => asAdmin.query(`begin; set local synchronous_commit = on; select pg_current_xact_id(); commit`)

describe('a crash of Postgres where synchronous_commit is off', () => {
  it('just after a payment left does not let it leave again', async () => {
    const rentalId = rig.planner.rental()
    const id = await pay(rentalId, 'before the crash')
    await flush()
    rig.once('POST /v3/rentals/{rentalId}/payments', 'hangAfterEffect')
    const log = createLogger('silent')
    const database = openDatabase({ url: own.url, applicationName: 'outbox test', max: 3, log })
    const { context, close } = contextFor({ database, sandbox: rig.sandbox }, { timeoutMs: 60_000 })
    const lost = createPusher(context)
    const working = lost.runOnce(AbortSignal.timeout(100_000)).catch(() => undefined)
    await expect.poll(() => rig.payments('before the crash').length, { interval: 5 }).toBe(1)
    await Promise.all([database.close(), crash()]) // the pusher is gone with its database
    await rig.push()
    await close()
    await working
    await lost.close()
    expect((await rig.change(id)).status).toBe('done')
    expect(rig.payments('before the crash')).toHaveLength(1)
  })

  it('just after a change was settled, or canceled by an operator, takes neither back', async () => {
    const [sent, canceled] = [await pay(rig.planner.rental(), 'settled'), await pay(rig.planner.rental(), 'canceled')]
    await asAdmin.query('select outbox.cancel($1)', [canceled])
    await crash()
    expect((await rig.change(canceled)).status).toBe('canceled')
    await rig.push()
    await crash()
    expect((await rig.change(sent)).status).toBe('done')
  })
})

describe('a transaction that must be durable', () => {
  it.each([
    ['off', 'local'],
    ['local', 'local'],
    ['remote_write', 'remote_write'],
    ['on', 'on'],
    ['remote_apply', 'remote_apply'],
  ])(
    'of a session with synchronous_commit = %s commits with %s, and leaves the session as it was',
    async (set, used) => {
      const client = await asAdmin.connect()
      try {
        await client.query(`set synchronous_commit = ${set}; begin`)
        await client.query(`select where ${durably}`)
        const shown = async () => (await client.query('show synchronous_commit')).rows[0]?.synchronous_commit
        expect(await shown()).toBe(used)
        await client.query('commit')
        expect(await shown()).toBe(set)
      } finally {
        client.release(true)
      }
    },
  )
})
