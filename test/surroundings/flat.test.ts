// What is done for a few rows reads a few rows, however many there are: ten times the rows, and the same plans are followed.

import type { PoolClient } from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { runningRuns } from '../../src/inspect/page-queries.ts'
import { recordHistory } from '../../src/inspect/record-queries.ts'
import { applyWrites } from '../../src/mirror/writer.ts'
import { canProgress, claimChanges, nextDueAt, renewLeases, tidy } from '../../src/outbox/claim.ts'
import { detailStates, isSeenSince } from '../../src/state/due.ts'
import { forgetRecords, knownRecords, saveRecords } from '../../src/state/records.ts'
import { finishRequests, isRequested, openStreams } from '../../src/state/requests.ts'
import { addUpRowChanges, liveRows } from '../../src/state/row-counts.ts'
import { idleRuns, listRuns } from '../../src/state/runs.ts'
import { beforePages, byRange, compareRange, dividePages, findRanges } from '../../src/state/sweep-ranges.ts'
import { deletedLately } from '../../src/state/sweeps.ts'
import { isUrgentWaiting, neglectedTasks, takeWakeable } from '../../src/state/tasks.ts'
import { countInWindow, isPageKnown } from '../../src/state/windows.ts'
import { createTestPool } from '../helpers/database.ts'
import { handledBy } from '../helpers/plans.ts'
import { type Mirror, openMirror, rowOf, tableOf } from '../helpers/rows.ts'

// Hundreds of thousands of rows are filled.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })

const sizes = [20_000, 200_000] as const
const rentals = streamNamed('rentals')
const keys = Array.from({ length: 100 }, (_, index) => String(index * 150 + 1))
const sweep = { runId: '1', runStartedAt: new Date(Date.now() + 60_000) }
const day = (offset: number): string => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10)
const window = { column: 'departure_datetime', from: day(-7), to: day(7), timeZone: 'Europe/Paris' }

/** A rental each five minutes back from now; what is settled, finished and logged grows with them, what is open does not. */
const filling = (size: number): readonly string[] => [
  `insert into mirror.rentals (id, departure_datetime, _payload, _source, _read_at)
   select id, now() - id * interval '5 minutes', '{}', 'GET /v3/rentals', now() - interval '1 hour' from generate_series(1, ${size}) id`,
  `insert into sync.records (stream, key, list_hash, detail_hash, detail_read_at)
   select 'rentals', id::text, 'h', 'd', now() from generate_series(1, ${size}) id`,
  `insert into mirror.change_log (stream, key, operation, diff, whole, changed_at)
   select 'rentals', jsonb_build_object('id', id), case when id % 20 = 0 then 'delete' else 'insert' end, '{}', true,
     now() - id * interval '5 minutes' from generate_series(1, ${size}) id`,
  `insert into outbox.queue (operation, target, body, aggregate, enqueued_by, status, settled_at)
   select 'rental.update', '{}', '{}', 'rental:' || id, current_user, case when id > 100 then 'done' else 'queued' end,
     case when id > 100 then now() end from generate_series(1, ${size / 2}) id`,
  `insert into sync.runs (stream, trigger, status, started_at, finished_at, swept_at)
   select case when id = 1 then 'rentals' else 'users' end, 'test', case when id = 1 then 'running' else 'done' end,
     now() - id * interval '1 minute', now(), now() from generate_series(1, ${size / 10}) id`,
  `insert into sync.tasks (run_id, stream, kind, status)
   select id, 'users', 'plan', case when id <= 20 then 'waiting' else 'done' end from sync.runs`,
  `insert into sync.requests (trigger, finished_at) select 'test', case when id > 20 then now() end from generate_series(1, ${size / 10}) id`,
  `insert into sync.request_streams (request_id, stream, run_id) select id, 'rentals', 1 from sync.requests`,
  `insert into sync.sweep_pages (run_id, pass, page, keys)
   select 1, 1, page, array(select (page * 100 + n)::text from generate_series(1, 100) n) from generate_series(0, ${size / 100 - 1}) page`,
]

const changed = {
  ...tableOf(
    'rentals',
    0,
    keys.map((id) => rowOf('rentals', { id, user_id: 5 })),
  ),
  readAt: new Date(),
}
const gone = { stream: rentals, keys: keys.map((id) => [id]), source: 'GET /v3/test', readAt: new Date() }

/** These are planned well once their tables were analysed, which a sync sees to (`analyzeGrown`). */
const needStatistics: ReadonlySet<string> = new Set([
  'records that are gone',
  'what is to be done',
  'changes of the feed, and of a record',
])

const works: readonly (readonly [string, (client: PoolClient) => Promise<unknown>])[] = [
  [
    'a step at the end of a sweep, and how many rows may go',
    async (db) => {
      await findRanges(db, rentals, '1', 5_000)
      await dividePages(db, '1', await byRange(db, rentals, '1'), { from: beforePages, pages: 50 })
      await compareRange(db, { stream: rentals, run: sweep }, 0)
      await liveRows(db, 'rentals')
      await deletedLately(db, 'rentals')
      await addUpRowChanges(db)
    },
  ],
  [
    'a hot window',
    async (db) => {
      await findRanges(db, rentals, '2', null)
      await compareRange(db, { stream: rentals, run: { ...sweep, runId: '2' }, window }, null)
      await isPageKnown(db, rentals, keys)
      await countInWindow(db, rentals, { window, keys })
    },
  ],
  [
    'a page of a list, and what is remembered of it',
    async (db) => {
      await knownRecords(db, rentals, keys, 1)
      await detailStates(db, rentals, keys, 86_400_000)
      await isSeenSince(db, rentals, '7', { since: new Date(), byList: true })
      await saveRecords(
        db,
        keys.map((key) => ({ stream: 'rentals', key, listHash: 'new' })),
      )
      await forgetRecords(db, [{ stream: streamNamed('users'), keys: [['1']] }])
    },
  ],
  ['records that changed', (db) => applyWrites(db, { tables: [changed] })],
  ['records that are gone', (db) => applyWrites(db, { tombstones: [gone] })],
  [
    'what is to be done',
    async (db) => {
      await openStreams(db)
      await isRequested(db, { stream: 'rentals', hot: false })
      await finishRequests(db)
      await idleRuns(db)
      await runningRuns(db)
      await listRuns(db, { limit: 20 })
      await takeWakeable(db, 10)
      await neglectedTasks(db, 1_000, 10)
      await isUrgentWaiting(db, 10, 1_000)
    },
  ],
  [
    'changes on their way',
    async (db) => {
      await claimChanges(db, 'test', { leaseMs: 10_000, most: 8, servedLast: '' })
      await renewLeases(db, 'test', 10_000)
      await nextDueAt(db)
      await canProgress(db)
      await tidy(db)
    },
  ],
  [
    'changes of the feed, and of a record',
    async (db) => {
      await db.query('select * from mirror.changes_since(null, 100)')
      await recordHistory(db, rentals, ['7'], 10)
    },
  ],
]

/** The statements of a work, carried out and taken back. */
async function statementsOf({ db }: Mirror, work: (client: PoolClient) => Promise<unknown>) {
  const client = await db.pool.connect()
  try {
    await client.query('begin')
    const handled = await handledBy(client, () => work(client))
    return handled.map(({ rows, sql }) => ({ rows, sql }))
  } finally {
    await client.query('rollback')
    client.release()
  }
}

let mirrors: readonly Mirror[] = []
beforeAll(async () => {
  mirrors = await Promise.all(
    sizes.map(async (size) => {
      const mirror = await openMirror()
      const filler = createTestPool(mirror.url, 1) // a busy machine takes its time
      for (const statement of filling(size)) await filler.query(statement)
      await filler.end()
      return mirror
    }),
  )
})
afterAll(async () => {
  for (const mirror of mirrors) await mirror[Symbol.asyncDispose]()
})

describe.sequential('ten times the rows', () => {
  for (const analyzed of [false, true])
    it(`${analyzed ? 'with' : 'without'} statistics: no statement handles more of them`, async () => {
      if (analyzed) for (const { db } of mirrors) await db.pool.query('analyze')
      const grown: unknown[] = []
      for (const [what, work] of works) {
        if (!analyzed && needStatistics.has(what)) continue
        const [few = [], many = []] = await Promise.all(mirrors.map((mirror) => statementsOf(mirror, work)))
        const most = Math.max(...few.map(({ rows }) => rows))
        grown.push(...many.filter(({ rows }) => rows > 1.5 * most + 100).map((each) => ({ what, most, ...each })))
      }
      expect(grown).toEqual([])
    })
})
