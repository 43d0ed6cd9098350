// What a worker does again and again, as statements on a mirror of any size: those that open work is made of, on tables of
// which all but a little is history.

import type { PoolClient } from 'pg'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { outboxFacts } from '../../src/inspect/outbox.ts'
import { recordHistory } from '../../src/inspect/record-queries.ts'
import { runningRuns } from '../../src/inspect/runs.ts'
import { streamStatus } from '../../src/inspect/streams.ts'
import { addUpRowChanges, liveRows } from '../../src/mirror/kept-counts.ts'
import { forgetRecords, saveRecords } from '../../src/mirror/records.ts'
import type { TableWrite } from '../../src/mirror/rows.ts'
import { applyWrites } from '../../src/mirror/writer.ts'
import { canProgress, claimChanges, nextDueAt, renewLeases, tidy } from '../../src/outbox/claim.ts'
import { linkKeys } from '../../src/sync/details/links.ts'
import { hotSince, scheduledSince } from '../../src/sync/due/candidates.ts'
import { countListed, dueKeys, isAnythingDue, sampledKeys } from '../../src/sync/due/due.ts'
import { finishRequests, isRequested, openStreams } from '../../src/sync/due/requests.ts'
import { areMoreNewer, countInWindow, isPageKnown } from '../../src/sync/due/windows.ts'
import { detailStates, isSeenSince } from '../../src/sync/remembered/detail-states.ts'
import { knownRecords } from '../../src/sync/remembered/known-records.ts'
import { aboveLostLately, heldBelow, lostLately } from '../../src/sync/remembered/losses.ts'
import { idleRuns, listRuns } from '../../src/sync/runs/runs.ts'
import { beforePages, byRange, compareRange, dividePages, findRanges } from '../../src/sync/runs/sweep-ranges.ts'
import { deletedLately, heldRuns } from '../../src/sync/runs/sweeps.ts'
import { neglectedTasks, takeWakeable, waitingTasks } from '../../src/sync/runs/tasks.ts'

const rentals = streamNamed('rentals')
const keys = Array.from({ length: 100 }, (_, index) => String(index * 150 + 1))
const sweep = { runId: '1', runStartedAt: new Date(Date.now() + 60_000) }
const day = (offset: number): string => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10)
const window = { column: 'departure_datetime', from: day(-7), to: day(7), timeZone: 'Europe/Paris' }

/** A rental each five minutes back from now; what is settled, finished and logged grows with them, what is open does not. */
export const filling = (size: number): readonly string[] => [
  `insert into mirror.rentals (id, departure_datetime, resource_id, _payload, _source, _read_at, _changed_at)
   select id, now() - id * interval '5 minutes', 'boat ' || id % 100 + 1, '{}', 'GET /v3/rentals', now() - interval '1 hour',
     now() - case when id <= 100 then interval '1 minute' else interval '1 hour' end from generate_series(1, ${size}) id`,
  `insert into sync.records (stream, key, list_hash, detail_hash, detail_read_at, changed_at)
   select stream, id::text, 'h', 'd', now(), now() - case when id <= 100 then interval '1 minute' else interval '1 hour' end
   from unnest(array['rentals', 'rental_payments']) stream, generate_series(1, ${size}) id`,
  `insert into mirror.resources (id, _payload, _source, _read_at)
   select 'boat ' || n, '{}', 'GET /v3/resources', now() from generate_series(1, 100) n`,
  `update sync.streams set as_of = now() - interval '2 minutes', hot_as_of = now()`,
  `update sync.streams set rows = ${size} where stream = 'rentals'`,
  `insert into sync.runs (stream, trigger, status, started_at) values ('resource_availability_years', 'schedule', 'done', now())`,
  `update sync.streams set last_run_id = (select max(id) from sync.runs)`,
  `update sync.reads set since = now() - interval '1 day'`,
  `insert into mirror.change_log (stream, key, operation, diff, whole, changed_at)
   select 'rentals', jsonb_build_object('id', id), case when id % 20 = 0 then 'delete' else 'insert' end, '{}', true,
     now() - id * interval '5 minutes' from generate_series(1, ${size}) id`,
  `insert into mirror.rental_payments (rental_id, id, _payload, _source, _read_at, _deleted_at)
   select id, id, '{}', 'GET /v3/test', now(), now() from generate_series(1, ${size}) id`,
  `insert into mirror.change_log (stream, key, operation, diff, whole, changed_at)
   select 'rental_payments', jsonb_build_object('rental_id', id, 'id', id), 'delete', '{}', true,
     now() - id * interval '1 hour' from generate_series(1, ${size}) id`,
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

const changed: TableWrite = {
  stream: rentals,
  source: 'GET /v3/rentals',
  readAt: new Date(),
  mode: 'record',
  rows: keys.map((id) => ({
    key: [id],
    values: rentals.columns.map(({ name }) => (name === 'id' ? id : name === 'user_id' ? '5' : null)),
    payload: JSON.stringify({ id: Number(id) }),
  })),
}
const gone = { stream: rentals, keys: keys.map((id) => [id]), source: 'GET /v3/test', readAt: new Date() }

const due = {
  ...{ scope: 'schedule' as const, maxAgeMs: 86_400_000, before: null, leavesOut: true },
  ...{ from: day(0), to: day(30) },
}

/** These are planned well once their tables were analysed, which a sync sees to (`analyzeGrown`). */
export const needStatistics: ReadonlySet<string> = new Set([
  'records that are gone',
  'what is to be done',
  'changes of the feed, and of a record',
  'which details are due',
  'what the status says of changes and streams',
])

export const works: readonly (readonly [string, (client: PoolClient) => Promise<unknown>])[] = [
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
    'how many rows below records were lost',
    async (db) => {
      const payments = streamNamed('rental_payments')
      await lostLately(db, payments, day(0))
      await heldBelow(db, payments, keys)
      await aboveLostLately(db, payments)
    },
  ],
  [
    'a hot window',
    async (db) => {
      await findRanges(db, rentals, '2', null)
      await compareRange(db, { stream: rentals, run: { ...sweep, runId: '2' }, window }, null)
      await isPageKnown(db, rentals, keys)
      await countInWindow(db, rentals, { window, keys })
      await areMoreNewer(db, rentals, { column: 'creation_datetime', than: new Date(), count: 20 })
    },
  ],
  [
    'which details are due',
    async (db) => {
      for (const stream of [rentals, streamNamed('rental_payments'), streamNamed('resource_slots')]) {
        const since = await scheduledSince(db, stream)
        if (since === null) throw new Error('A complete run ended well today.')
        await dueKeys(db, stream, { ...due, since })
        await isAnythingDue(db, stream, { ...due, since })
      }
      const calendars = streamNamed('resource_availability_years')
      await dueKeys(db, calendars, { ...due, scope: 'hot', since: await hotSince(db, calendars) })
      await countListed(db, rentals, { ...due, since: null }, new Date(Date.now() - 60_000))
      await sampledKeys(db, rentals, { ...due, since: null }, 200)
      await linkKeys(db, rentals)
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
      await waitingTasks(db, 10, 1_000)
    },
  ],
  [
    'changes on their way',
    async (db) => {
      await tidy(db)
      await claimChanges(db, 'test', { leaseMs: 10_000, most: 8, servedLast: '' })
      await renewLeases(db, 'test', 10_000)
      await nextDueAt(db)
      await canProgress(db)
    },
  ],
  [
    'what the status says of changes and streams',
    async (db) => {
      await outboxFacts(db)
      await streamStatus(db)
      await heldRuns(db)
    },
  ],
  [
    'changes of the feed, and of a record',
    async (db) => {
      const { rows } = await db.query<{ cursor: string }>('select cursor from mirror.changes_since(null, 100)')
      await db.query('select * from mirror.changes_since($1, 100)', [rows.at(-1)?.cursor])
      await db.query(`select * from mirror.next_changes('flat', 1000)`)
      await recordHistory(db, rentals, ['7'], 10)
    },
  ],
]
