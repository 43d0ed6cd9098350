// An outbox that was analysed when all in it was settled, as it is most of the time, and is then given ten thousand changes:
// until the next analyze Postgres takes the open ones for a single row, and every index of open changes for as good as any other.

import type { PoolClient } from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Change } from '../../src/outbox/change.ts'
import {
  canProgress,
  claimChanges,
  nextDueAt,
  noticeHistory,
  releaseChange,
  renewLeases,
  tidy,
} from '../../src/outbox/claim.ts'
import { markDispatched } from '../../src/outbox/dispatch.ts'
import { changesForPerson, saveOutboxLimit } from '../../src/outbox/inspect.ts'
import type { Done } from '../../src/outbox/outcome.ts'
import { settleDone } from '../../src/outbox/settle.ts'
import { opened } from '../helpers/opened.ts'
import { statementsBeyond } from '../helpers/plans.ts'
import { type Mirror, openMirror } from '../helpers/rows.ts'

const size = 10_000
const rentals = 1_000

/** Queues changes with these ids, over all rentals in turn. */
const queue = (mirror: Mirror, from: number, to: number) =>
  mirror.all(
    `insert into outbox.queue (operation, target, body, aggregate, enqueued_by)
     select 'rental.update', jsonb_build_object('rentalId', id % ${rentals}), '{"referenceId": "x"}', 'rental:' || id % ${rentals}, current_user
     from generate_series($1::int, $2::int) id`,
    [from, to],
  )
const settleAll = `update outbox.queue set status = 'done', settled_at = now()`

async function openWithoutAutovacuum(): Promise<Mirror> {
  const mirror = await openMirror()
  await noticeHistory(mirror.db.pool)
  await mirror.all('alter table outbox.queue set (autovacuum_enabled = off)')
  await mirror.all(
    `insert into mirror.rentals (id, _payload, _source, _read_at)
     select id, '{}', 'GET /v3/rentals', now() from generate_series(1, ${rentals}) id`,
  )
  return mirror
}

async function claim(db: PoolClient): Promise<readonly Change[]> {
  const changes = await claimChanges(db, 'test', { leaseMs: 60_000, most: 16, servedLast: '' })
  expect(changes).toHaveLength(16)
  return changes
}

const inFlight = `update outbox.queue set status = 'sending', owner = 'other', lease_until = now() + interval '1 min'
  where id between 101 and 200`

async function enqueueWithLimit(db: PoolClient): Promise<void> {
  await saveOutboxLimit(db, 2 * size)
  await db.query(`select outbox.enqueue('rental.update', '{"rentalId": 7}', '{"referenceId": "y"}')`)
}

async function rentalsLocal(db: PoolClient): Promise<void> {
  const { rowCount } = await db.query("select * from mirror.rentals_local where pending_fields <> '{}'")
  expect(rowCount).toBeGreaterThan(0)
}

const sent = { params: {}, body: {}, applied: {}, evidence: {}, warnings: [] }
const done: Done = {
  kind: 'done',
  result: null,
  response: null,
  warnings: [],
  mirror: {},
  recordKey: null,
  leftBehind: null,
  madeRoot: false,
  rootId: null,
  rentalStatus: 'VALIDATED',
}

/** What each may handle at most: some times what it is about; for a check of all that is open, some times that. */
const statements: readonly (readonly [string, number, (client: PoolClient) => Promise<unknown>])[] = [
  ['16 are claimed', 2_000, claim],
  [
    '16 are claimed while 100 are on their way, marked as dispatched, and settled',
    2_000,
    async (db) => {
      await db.query(inFlight)
      const changes = await claim(db)
      await Promise.all(
        markDispatched(
          db,
          changes.map((change) => ({ change, sent })),
        ),
      )
      await settleDone(
        db,
        changes.map((change) => ({ change, done })),
      )
    },
  ],
  [
    'one is given back',
    2_000,
    async (db) => {
      const [change] = await claim(db)
      if (change === undefined) throw new Error('Nothing was claimed.')
      await releaseChange(db, change)
    },
  ],
  [
    'one more is queued',
    2_000,
    (db) => db.query(`select outbox.enqueue('rental.update', '{"rentalId": 7}', '{"referenceId": "y"}')`),
  ],
  ['one more is queued with OUTBOX_LIMIT', 2 * size, enqueueWithLimit],
  [
    'what waits for one that failed is blocked: nothing',
    2_000,
    (db) => db.query('select outbox.block_dependants(101)'),
  ],
  [
    'what waits for one that failed is blocked, and revived',
    2_000,
    async (db) => {
      await db.query(
        'insert into outbox.dependencies (change_id, depends_on) select 101 + n, 101 from generate_series(1, 3) n',
      )
      await db.query(`update outbox.queue set status = 'failed' where id = 101`)
      await db.query('select outbox.block_dependants(101)')
      const blocked = `select from outbox.queue where id between 102 and 104 and status = 'blocked'`
      expect((await db.query(blocked)).rowCount).toBe(3)
      await db.query(`update outbox.queue set status = 'queued' where id = 101`)
      await db.query('select outbox.revive_dependants(101)')
      expect((await db.query(blocked)).rowCount).toBe(0)
    },
  ],
  ['when a pusher should look again', 8 * size, nextDueAt],
  [
    'the same while 100 are on their way',
    8 * size,
    async (db) => {
      await db.query(inFlight)
      await nextDueAt(db)
    },
  ],
  ['whether any change can go on', size, canProgress],
  ['what is done before claiming', 2 * size, tidy],
  ['leases are renewed', 2_000, (db) => renewLeases(db, 'test', 10_000)],
  ['what waits for a person', 2 * size, changesForPerson],
  ['rentals with what is not settled', 16 * size, rentalsLocal],
]

const withinAMinute = `set local statement_timeout = '60s'`

describe('Postgres with statistics of an outbox in which all was settled, and 10,000 open changes', () => {
  const mirror = opened(openWithoutAutovacuum)
  beforeAll(async () => {
    await queue(mirror, 1, 100)
    await mirror.all(settleAll)
    await mirror.all('analyze outbox.queue')
    await queue(mirror, 101, 100 + size)
  })

  for (const [what, most, work] of statements)
    it(`${what}: the work does not grow with the square of what is queued`, async () => {
      expect(await statementsBeyond(most, mirror.db.pool, work, withinAMinute)).toEqual([])
    })
})

describe('an outbox of 10,000 settled changes and 50 open ones', () => {
  const mirror = opened(openWithoutAutovacuum)
  beforeAll(async () => {
    await queue(mirror, 1, size)
    await mirror.all(settleAll)
    await queue(mirror, size + 1, size + 50)
    await mirror.all('vacuum (analyze) outbox.queue')
  })

  for (const [what, work] of [
    ['OUTBOX_LIMIT', enqueueWithLimit],
    ['what is done before claiming', tidy],
    ['rentals with what is not settled', rentalsLocal],
  ] as const)
    it(`${what}: those that are settled are not read`, async () => {
      expect(await statementsBeyond(size - 1, mirror.db.pool, work, withinAMinute)).toEqual([])
    })
})
