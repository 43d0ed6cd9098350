// A Postgres that knows nothing of its tables: autovacuum is off, or the rows were loaded a moment ago. It takes every table
// for a few rows, and a plan that is right for a few may compare each of thousands with each. Except in `npm run surroundings`, the first sync is one
// of rentals and what lies below them, which are the tables that it must analyse.

import type { PoolClient } from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import type { Queryable } from '../../src/database/sql.ts'
import { endpointFacts, trafficPoints } from '../../src/inspect/calls.ts'
import { openWork } from '../../src/inspect/estimate.ts'
import { feedHolders } from '../../src/inspect/feed.ts'
import { outboxFacts } from '../../src/inspect/outbox.ts'
import { recordHistory } from '../../src/inspect/record-queries.ts'
import { openTasks, recentRuns, runningRuns, waitingStreams } from '../../src/inspect/runs.ts'
import { freshnessFacts, streamStatus } from '../../src/inspect/streams.ts'
import { pruneHistory } from '../../src/mirror/history.ts'
import { addUpRowChanges, liveRows } from '../../src/mirror/kept-counts.ts'
import { forgetRecords, saveRecords } from '../../src/mirror/records.ts'
import type { FilledWrite, TableWrite, Tombstones } from '../../src/mirror/rows.ts'
import { analyzeGrown } from '../../src/mirror/statistics.ts'
import { applyWrites } from '../../src/mirror/writer.ts'
import { changesForPerson, listChanges } from '../../src/outbox/inspect.ts'
import { linkedValues, linkKeys } from '../../src/sync/details/links.ts'
import { countListed, dueKeys, isAnythingDue, sampledKeys } from '../../src/sync/due/due.ts'
import { finishRequests, isRequested, openStreams } from '../../src/sync/due/requests.ts'
import { countInWindow, isPageKnown } from '../../src/sync/due/windows.ts'
import { detailStates, isSeenSince } from '../../src/sync/remembered/detail-states.ts'
import { listedPayloads } from '../../src/sync/remembered/payloads.ts'
import { idleRuns, listRuns, runsOfRequest } from '../../src/sync/runs/runs.ts'
import {
  beforePages,
  byHash,
  byRange,
  compareRange,
  dividePages,
  findRanges,
  passCounts,
} from '../../src/sync/runs/sweep-ranges.ts'
import { deletedLately, heldRuns } from '../../src/sync/runs/sweeps.ts'
import { neglectedTasks, releasePlans, takeWakeable, waitingTasks } from '../../src/sync/runs/tasks.ts'
import { isFull, isQuick } from '../helpers/extent.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'
import { statementsBeyond } from '../helpers/plans.ts'
import { openMirror, quiet, rowOf, tableOf } from '../helpers/rows.ts'

const size = 20_000
const rentals = streamNamed('rentals')
const payments = streamNamed('rental_payments')
const calendars = streamNamed('resource_availability_years')

const due = {
  scope: 'schedule' as const,
  maxAgeMs: 86_400_000,
  before: null,
  from: '2026-01-01',
  to: '2027-01-01',
  leavesOut: true,
  since: null,
}

const window = { column: 'departure_datetime', from: '2026-01-01', to: '2027-01-01', timeZone: 'UTC' }

/** Numbers that are spread over all records. */
const spread = (count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => 1 + Math.floor((index * size) / count))
const readNow = (table: TableWrite): TableWrite => ({ ...table, readAt: new Date() })
const changed = (count: number): TableWrite =>
  readNow(
    tableOf(
      'rentals',
      0,
      spread(count).map((id) => rowOf('rentals', { id, user_id: 5 })),
    ),
  )
const emptied = (count: number): TableWrite => {
  const replace = spread(count).map((id) => ({ columns: ['rental_id'], values: [String(id)] }))
  return readNow(tableOf('rental_payments', 0, [], { replace }))
}
const gone = (stream: string, count: number): Tombstones => ({
  stream: streamNamed(stream),
  keys: spread(count).map((id) => [String(id)]),
  source: 'GET /v3/test',
  readAt: new Date(),
})
const resourcesOf = (count: number): FilledWrite => ({
  stream: rentals,
  rows: spread(count).map((id) => ({ key: [String(id)], values: { resource_id: 'r0', company_id: '1' } })),
  readAt: new Date(),
})

const rememberedAs = (id: number) => ({ stream: 'rentals', key: String(id), listHash: 'new', detailHash: 'new' })

async function turnOffAutovacuum(db: Queryable): Promise<void> {
  const { rows } = await db.query<{ table: string }>(
    `select oid::regclass::text as table from pg_class
     where relkind = 'r' and relnamespace::regnamespace::text in ('mirror', 'mirror_log', 'sync', 'outbox')`,
  )
  for (const { table } of rows) await db.query(`alter table ${table} set (autovacuum_enabled = off)`)
}

const mirror = opened(openMirror)
beforeAll(async () => {
  await turnOffAutovacuum(mirror.db.pool)
  const filler = await mirror.db.pool.connect()
  await filler.query('set statement_timeout = 0') // a busy machine takes its time
  const gone = 'case when id % 100 = 0 then now() end'
  for (const statement of [
    `insert into mirror.rentals (id, user_id, resource_id, departure_datetime, arrival_datetime, _payload, _source, _read_at, _deleted_at)
     select id, id, 'r' || id % 500, now() + (id % 700 - 350) * interval '1 day', now() + (id % 700 - 349) * interval '1 day',
       jsonb_build_object('id', id), 'GET /v3/rentals', now() - interval '1 hour', ${gone} from generate_series(1, ${size}) id`,
    `insert into mirror.resources (id, _payload, _source, _read_at)
     select 'r' || id, '{}', 'GET /v3/resources', now() - interval '1 hour' from generate_series(0, 499) id`,
    `insert into sync.records (stream, key, detail_hash, detail_read_at)
     select 'resource_availability_years', 'r' || id, 'h', now() + interval '1 hour' from generate_series(0, 499) id`,
    `insert into mirror.users (id, _payload, _source, _read_at, _deleted_at)
     select id, '{}', 'GET /v3/users', now() - interval '1 hour', ${gone} from generate_series(1, ${size}) id`,
    `insert into mirror.rental_payments (rental_id, id, price, _payload, _source, _read_at)
     select id, id, 10, '{}', 'GET /v3/rentals/{rentalId}/payments', now() - interval '1 hour' from generate_series(1, ${size}) id`,
    `insert into sync.records (stream, key, list_hash, detail_hash, detail_read_at)
     select s, id::text, 'h' || id, 'd' || id, now() from generate_series(1, ${size}) id, unnest(array['rentals', 'rental_payments']) s`,
    `insert into mirror.change_log (stream, key, operation, diff, whole)
     select 'rentals', jsonb_build_object('id', id), case when id % 100 = 0 then 'delete' else 'insert' end,
       jsonb_build_object('user_id', jsonb_build_array(null, id)), id % 100 = 0 from generate_series(1, ${size}) id`,
    `insert into sync.runs (stream, trigger) values ('rentals', 'test')`,
    `insert into sync.sweep_pages (run_id, pass, page, keys)
     select 1, 1, page, array(select (page * 100 + n)::text from generate_series(1, 100) n where n % 50 <> 7)
     from generate_series(0, ${size / 100 - 1}) page`,
    // Half of the changes are settled long ago. How claims grow is shown by outbox-statistics.test.ts.
    `insert into outbox.queue (operation, target, body, aggregate, enqueued_by, status, settled_at)
     select 'rental.update', '{}', '{}', 'rental:' || id, current_user, case when id <= ${size / 2} then 'done' else 'queued' end,
       case when id <= ${size / 2} then now() - id % 60 * interval '1 day' end from generate_series(1, ${size}) id`,
    `insert into sync.runs (stream, trigger, status, started_at, finished_at, swept_at)
     select stream, 'test', 'done', t, t, t from (select stream, now() - interval '90 days' + n * interval '6 minutes' as t
       from generate_series(1, ${size / 40}) n, unnest(array(select stream from sync.streams limit 40)) stream) r`,
    `insert into sync.tasks (run_id, stream, kind, status) select id, stream, 'sweep', 'done' from sync.runs`,
    `insert into sync.requests (trigger, finished_at) select 'test', now() - interval '2 days' from generate_series(1, ${size})`,
    `insert into sync.request_streams (request_id, stream, run_id) select id, 'rentals', 2 from sync.requests`,
    `insert into sync.row_changes (stream, difference) select 'rentals', 1 from generate_series(1, 1000)`,
    `insert into sync.traffic (endpoint, minute, calls, failures, throttled, total_ms, slowest_ms)
     select 'GET /v3/rentals', date_trunc('minute', now()) - n * interval '1 minute', 9, 0, 0, 90, 20 from generate_series(0, 10079) n`,
  ])
    await filler.query(statement)
  filler.release(true)
})

const sweep = { runId: '1', runStartedAt: new Date(Date.now() + 60_000) }

/** Divides the pages of the sweep, 50 at a time, and handles the first four ranges. */
async function stepThrough(
  db: PoolClient,
  division: Parameters<typeof dividePages>[2],
  handle: (range: number) => Promise<unknown>,
): Promise<void> {
  for (let from: typeof beforePages | null = beforePages; from !== null; )
    from = await dividePages(db, '1', division, { from, pages: 50 })
  for (const range of [0, 1, 2, 3]) await handle(range)
}

/** What each of these handles at most: some times the rows of the tables it is about, or of what is given to it. */
const statements: readonly (readonly [string, number, (client: PoolClient) => Promise<unknown>])[] = [
  ['how many records a pass saw', 5 * size, (db) => passCounts(db, { runId: '1', pass: 1 }, null)],
  [
    'a pass in portions',
    8 * 5_000,
    (db) => stepThrough(db, byHash(1, 8), (range) => passCounts(db, { runId: '1', pass: 1 }, range)),
  ],
  // Before Postgres 18 the difference of two sets takes each row through more nodes of the plan.
  ['what a finished sweep missed', 16 * size, (db) => compareRange(db, { stream: rentals, run: sweep }, null)],
  [
    'what a sweep missed, range after range',
    16 * 5_000,
    async (db) => {
      expect(await findRanges(db, rentals, '1', 5_000)).toBe(size / 5_000)
      await stepThrough(db, await byRange(db, rentals, '1'), (range) =>
        compareRange(db, { stream: rentals, run: sweep }, range),
      )
    },
  ],
  [
    'what the sweep of a window missed',
    16 * size,
    (db) => compareRange(db, { stream: rentals, run: sweep, window }, null),
  ],
  ['whether a page is known', 5 * 100, (db) => isPageKnown(db, rentals, spread(100).map(String))],
  [
    'which of 100 rentals lie in a window',
    5 * 100,
    (db) => countInWindow(db, rentals, { window, keys: spread(100).map(String) }),
  ],
  [
    'what the limit on deletions is judged by',
    2 * 1_000,
    async (db) => {
      await liveRows(db, 'rentals')
      await deletedLately(db, 'rentals')
    },
  ],
  ['details of rentals that are due', 10 * size, (db) => dueKeys(db, rentals, due)],
  ['payments that are due', 10 * size, (db) => dueKeys(db, payments, due)],
  ['boats by which rentals are linked', 10 * size, (db) => linkKeys(db, rentals)],
  ['what links to 200 boats are filled with', 4 * 200, (db) => linkedValues(db, rentals, spread(200).map(String))],
  ['a few records of a list', 2 * size, (db) => listedPayloads(db, rentals, 'GET /v3/rentals', 6)],
  ['200 rentals at random, to compare', 10 * size, (db) => sampledKeys(db, rentals, due, 200)],
  ['rentals that their list made needless to read', 10 * size, (db) => countListed(db, rentals, due, new Date(0))],
  ['whether any payments are due', 10 * size, (db) => isAnythingDue(db, payments, due)],
  ['calendars that a rental made due', 10 * size, (db) => dueKeys(db, calendars, { ...due, scope: 'hot' })],
  [
    'what is known of 200 calendars',
    50 * 200,
    (db) =>
      detailStates(
        db,
        calendars,
        spread(200).map((id) => `r${id % 500}`),
        86_400_000,
      ),
  ],
  ['what is known of 200 details', 4 * 200, (db) => detailStates(db, rentals, spread(200).map(String), 86_400_000)],
  ['whether a record was seen', 10, (db) => isSeenSince(db, rentals, '7', { since: new Date(), byList: true })],
  ['500 records that are remembered', size, (db) => saveRecords(db, spread(500).map(rememberedAs))],
  [
    '500 records that are forgotten',
    8 * size,
    (db) => forgetRecords(db, [{ stream: rentals, keys: spread(500).map((id) => [String(id)]) }]),
  ],
  [
    'runs without a task, and with tasks to wake',
    4 * size,
    async (db) => {
      await idleRuns(db)
      await releasePlans(db, ['rentals'])
      await waitingTasks(db, 10, 1_000)
      await takeWakeable(db, 100)
      await neglectedTasks(db, 1_000, 10)
    },
  ],
  [
    'requests that are open, and one of them',
    4 * size,
    async (db) => {
      await openStreams(db)
      await isRequested(db, { stream: 'rentals', hot: false })
      await runsOfRequest(db, '7')
      await finishRequests(db)
    },
  ],
  [
    'runs that hold deletions, and the newest',
    4 * size,
    async (db) => {
      await heldRuns(db)
      await listRuns(db, { limit: 20 })
    },
  ],
  ['who holds the feed back', 4 * size, feedHolders],
  ['by how much tables grew', 4 * 1_000, addUpRowChanges],
  ['history that is old enough', 8 * size, (db) => pruneHistory(db, { historyDays: 30 })],
  ['1,000 changed rentals', 6 * size, (db) => applyWrites(db, { tables: [changed(1_000)] })],
  ['500 collections that are empty now', size, (db) => applyWrites(db, { tables: [emptied(500)] })],
  [
    '500 rentals that are gone, with their payments',
    8 * size,
    (db) => applyWrites(db, { tombstones: [gone('rentals', 500)] }),
  ],
  ['50 persons who are gone', 16 * size, (db) => applyWrites(db, { tombstones: [gone('users', 50)] })],
  ['the outbox in numbers', 4 * size, outboxFacts],
  // Read, and passed on by the view without the column that lists omit.
  ['the newest changes', 3 * size, (db) => listChanges(db, { limit: 50 })],
  ['changes that wait for a person', 2 * size, changesForPerson],
  ['how fresh each stream is', 8 * size, freshnessFacts],
  ['the last runs on the page', 4 * size, (db) => recentRuns(db, 20)],
  ['what runs now', 4 * size, runningRuns],
  ['streams that wait', 4 * size, waitingStreams],
  ['open tasks', size, openTasks],
  ['traffic of a day', 8 * size, (db) => trafficPoints(db, { hours: 24, minutes: 15 })],
  [
    'last runs, streams, endpoints and backlog',
    4 * size,
    async (db) => {
      await streamStatus(db)
      await endpointFacts(db)
      await openWork(db)
    },
  ],
  ['100 changes of the feed', 6 * size, (db) => db.query('select * from mirror.changes_since(null, 100)')],
  [
    '100 changes of the feed from former times',
    6 * size,
    async (db) => {
      await db.query('update mirror.change_log set epoch = 1 where seq <= 500')
      await db.query('select * from mirror.changes_since(null, 100)')
    },
  ],
  [
    'consumers of the feed, what comes next for one, and where it ends',
    6 * size,
    async (db) => {
      await db.query(`select mirror.reset_consumer('late'), mirror.last_cursor()`)
      await db.query(`select * from mirror.next_changes('late', 100)`)
      await db.query('select * from sync.consumers')
    },
  ],
  ['versions of a rental', size, (db) => db.query(`select * from mirror.history('rentals', '{"id": 7}')`)],
  ['changes of a rental', size, (db) => recordHistory(db, rentals, ['7'], 10)],
  ['500 resources of rentals', 4 * size, (db) => applyWrites(db, { filled: [resourcesOf(500)] })],
]

/** What Postgres may come to believe without statistics, and with ones from before the rows came. */
const beliefs = [
  ['as it plans without statistics', ''],
  [
    'believing that a few rows are compared with a few',
    'set local enable_hashjoin = off; set local enable_mergejoin = off;',
  ],
] as const

describe('Postgres without statistics', () => {
  it('no table was ever analysed', async () => {
    const analyzed = await mirror.all(
      `select relname from pg_class c join pg_namespace n on n.oid = relnamespace
       where nspname in ('mirror', 'mirror_log', 'sync') and relkind = 'r' and pg_relation_size(c.oid) > 65536 and reltuples >= 0`,
    )
    expect(analyzed).toEqual([])
  })

  // Pruning a whole history takes longer than all others together.
  for (const [belief, settings] of isFull ? beliefs : beliefs.slice(0, 1))
    for (const [what, most, work] of statements)
      it.skipIf(isQuick && what === 'history that is old enough')(
        `${belief}: ${what}: the work grows with the rows, not with their square`,
        async () => {
          const limited = `${settings} set local statement_timeout = '60s'`
          expect(await statementsBeyond(most, mirror.db.pool, work, limited)).toEqual([])
        },
      )

  it.runIf(isFull)('a first sync equals the truth, and analyses what it filled', async () => {
    await using whole = await openTestMirror({ size: 300 })
    const streams = isFull ? [] : ['rentals', 'rental_options', 'rental_payments']
    const { pool } = whole.app.database
    await turnOffAutovacuum(pool)
    await whole.sync({ streams })
    const differences = await whole.differences()
    expect(
      differences.filter((each) => streams.length === 0 || streams.some((stream) => each.startsWith(`${stream} `))),
    ).toEqual([])
    // What another task of the first analysed before its rows were committed is seen by the next.
    await whole.sync({ streams })
    const { rows } = await pool.query(
      `select relname, reltuples > 0 as analyzed from pg_class where oid = any('{mirror.rentals,sync.records}'::regclass[]) order by 1`,
    )
    expect(rows).toEqual([
      { relname: 'records', analyzed: true },
      { relname: 'rentals', analyzed: true },
    ])
  })

  it('whose counts were forgotten, as a crash does: a table that grew is analysed by its pages', async () => {
    await using grown = await openMirror()
    const { pool } = grown.db
    await turnOffAutovacuum(pool)
    const remember = (from: number, to: number) =>
      pool.query(`insert into sync.records (stream, key) select 'rentals', id from generate_series(${from}, ${to}) id`)
    await remember(1, 2_000)
    expect(await analyzeGrown(pool, quiet)).toEqual(['sync.records'])
    await remember(2_001, 3_000)
    await pool.query('select pg_stat_reset()')
    expect(await analyzeGrown(pool, quiet)).toEqual([])
    await remember(3_001, 9_000)
    await pool.query('select pg_stat_reset()')
    expect(await analyzeGrown(pool, quiet)).toEqual(['sync.records'])
    expect(await analyzeGrown(pool, quiet)).toEqual([])
  })
})
