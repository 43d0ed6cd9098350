// What is deleted when it is old enough, and what stays.

import { pino } from 'pino'
import { expect, it } from 'vitest'
import { streams } from '../../src/catalog/catalog.ts'
import { pruneHistory } from '../../src/mirror/history.ts'
import { doneChanges, keepDoneCount, liveRows, proveRowCounts } from '../../src/mirror/kept-counts.ts'
import { opened } from '../helpers/opened.ts'
import { openMirror } from '../helpers/rows.ts'

const mirror = opened(openMirror)

const history = 30

async function fill(): Promise<void> {
  await mirror.db.pool.query(`
    truncate mirror.change_log, sync.runs, sync.list_pages, sync.detail_tags, sync.requests, mirror.resource_pricetable, mirror.resource_slots,
      mirror.resource_slot_options, mirror.resource_availability_years, outbox.queue cascade;
    insert into mirror.change_log (stream, key, operation, changed_at, diff)
      select 'x', '{}', 'insert', now() - make_interval(days => 40 - n), '{}' from generate_series(1, 40) n;
    insert into sync.runs (stream, trigger, status, started_at, finished_at)
      select 'rentals', 'test', case when n = 1 then 'running' else 'done' end,
        now() - make_interval(days => 50 - n), now() - make_interval(days => 50 - n) from generate_series(1, 50) n;
    update sync.streams set last_run_id = (select id from sync.runs order by id offset 4 limit 1) where stream = 'rentals';
    insert into sync.tasks (run_id, stream, kind) select id, 'rentals', 'sweep' from sync.runs;
    insert into sync.sweep_pages (run_id, pass, page, keys) select id, 1, 1, '{1}' from sync.runs;
    insert into sync.list_pages (stream, name, tag, keys, hash, next, read_at)
      select 'rentals', 'n' || n, 't', '{1}', 'h', '2', now() - make_interval(hours => n * 10) from generate_series(1, 4) n;
    insert into sync.detail_tags (stream, key, detail_hash, answers, read_at)
      select 'rental_options', n, 'h', '{}', now() - make_interval(hours => n * 10) from generate_series(1, 4) n;
    truncate sync.webhook_deliveries;
    insert into sync.webhook_deliveries (sent_at, message_id, changes, duration_ms)
      select now() - make_interval(mins => 1200 - n) - case when n <= 5 then interval '7 days' else '0' end, 'm' || n, 1, 1
      from generate_series(1, 1200) n;
    insert into sync.requests (trigger, finished_at) values ('old', now() - interval '2 days'), ('new', now()), ('open', null);
    insert into mirror.resource_pricetable (resource_id, date, duration, _payload, _source, _read_at)
      select 'a', current_date - n, 'DAYS,1', '{}', 'x', now() from generate_series(0, 40) n;
    insert into mirror.resource_slots (resource_id, id, date, _payload, _source, _read_at)
      select 'a', 's' || n, current_date - n, '{}', 'x', now() - make_interval(days => n) from generate_series(0, 40) n;
    insert into mirror.resource_slot_options (resource_id, slot_id, id, _payload, _source, _read_at)
      select 'a', 's' || n, 1, '{}', 'x', now() - make_interval(days => n) from generate_series(0, 40) n;
    insert into mirror.resource_availability_years (resource_id, year, _payload, _source, _read_at)
      values ('a', extract(year from current_date - 30), '{}', 'x', now()), ('a', 1999, '{}', 'x', now());
    insert into outbox.queue (operation, target, aggregate, enqueued_by, status, settled_at)
      select 'rental.update', '{}', 'rental:1', 'x', 'done', now() - make_interval(days => n) from generate_series(20, 40) n;
    insert into outbox.queue (operation, target, aggregate, enqueued_by) values ('rental.update', '{}', 'rental:1', 'x');
    insert into outbox.dependencies (change_id, depends_on)
      select max(id), (select min(id) from outbox.queue where settled_at < now() - interval '39 days') from outbox.queue;
  `)
}

const count = async (from: string): Promise<number> => {
  const [row] = await mirror.all<{ count: number }>(`select count(*)::int as count from ${from}`)
  return row?.count ?? -1
}

/** How many rows there are in each table. */
async function remaining(): Promise<Readonly<Record<string, number>>> {
  const tables = await mirror.all<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c where relkind in ('r', 'p') and not relispartition
       and relnamespace::regnamespace::text in ('mirror', 'sync', 'outbox')`,
  )
  const counts = tables.map(({ name }) => `select '${name}' as name, count(*)::int as rows from ${name}`)
  const rows = await mirror.all<{ name: string; rows: number }>(counts.join(' union all '))
  return Object.fromEntries(rows.map((each) => [each.name, each.rows]))
}

it('deletes what is older than HISTORY_DAYS, and the traces of finished work after a day', async () => {
  await fill()
  const deleted = await pruneHistory(mirror.db.pool, { historyDays: history })
  expect(deleted).toEqual({
    'mirror.change_log': 10,
    'sync.runs': 18, // twenty are old; one runs, one is the stream's last
    'outbox.queue': 10, // eleven are old; an open change refers to one
    'sync.webhook_deliveries': 200, // the last thousand stay
    'sync.tasks': 30,
    'sync.sweep_pages': 30,
    'sync.list_pages': 2,
    'sync.detail_tags': 2,
    'sync.requests': 1,
    'mirror.resource_pricetable': 10,
    'mirror.resource_slots': 10,
    'mirror.resource_availability_years': 1,
    'mirror.resource_slot_options': 10,
  })
  expect(await count(`mirror.change_log where changed_at < now() - interval '30 days 1 hour'`)).toBe(0)
  expect(await count(`sync.runs where status = 'running'`)).toBe(1)
  expect(await count(`sync.tasks`)).toBe(2)
  expect(await count('sync.requests')).toBe(2)
  expect(await count('sync.webhook_deliveries')).toBe(1_000)
  await mirror.all(`update sync.webhook_deliveries set sent_at = sent_at - interval '7 days' where id % 2 = 0`)
  await pruneHistory(mirror.db.pool, { historyDays: history })
  expect(await count('sync.webhook_deliveries')).toBe(500)
})

it('deletes the same in small batches, and then nothing more', async () => {
  await fill()
  await pruneHistory(mirror.db.pool, { historyDays: history, batch: 3 })
  expect(await count('mirror.change_log')).toBe(30)
  expect(await count('mirror.resource_slots')).toBe(31)
  expect(await pruneHistory(mirror.db.pool, { historyDays: history, batch: 3 })).toEqual({})
})

it('keeps of unfinished business only what the last complete sweep of a kind said', async () => {
  await fill()
  await mirror.db.pool.query(`
    truncate sync.sweep_pages, sync.held;
    delete from sync.runs where started_at < now() - interval '1 day';
    insert into sync.runs (stream, trigger, status, hot, started_at, finished_at, swept_at)
      select 'users', 'test', status, hot, now(), now(), now() from (values ('held', false), ('held', false), ('failed', false),
        ('held', true)) r(status, hot);
    insert into sync.sweep_pages (run_id, pass, page, keys) select id, 1, 1, '{1}' from sync.runs where stream = 'users';
    insert into sync.held (run_id, key) select id, '1' from sync.runs where stream = 'users' and status = 'held';
    insert into sync.runs (stream, trigger, status, started_at, finished_at)
      values ('cities', 'test', 'failed', now() - interval '2 days', now() - interval '2 days');
    insert into sync.sweep_ranges (run_id, range) select id, 0 from sync.runs where stream = 'cities';
    insert into sync.sweep_parts (run_id, range, pass, page, keys) select id, 0, 1, 1, '{1}' from sync.runs where stream = 'cities';
  `)
  const deleted = await pruneHistory(mirror.db.pool, { historyDays: history })
  expect(deleted).toMatchObject({
    'sync.sweep_pages': 1,
    'sync.held': 1,
    'sync.sweep_ranges': 1,
    'sync.sweep_parts': 1,
  })
  const kept = await mirror.all(
    `select r.status, r.hot, h.key from sync.runs r join sync.sweep_pages p on p.run_id = r.id left join sync.held h on h.run_id = r.id
     where r.stream = 'users' order by r.id`,
  )
  expect(kept).toEqual([
    { status: 'held', hot: false, key: '1' },
    { status: 'failed', hot: false, key: null },
    { status: 'held', hot: true, key: '1' },
  ])
})

it('keeps the counts of rows, and a count of each table once a day finds what went past the mirror', async () => {
  await fill()
  await mirror.db.pool.query('update sync.streams set rows_proven_at = null; delete from sync.row_changes')
  const warned: unknown[] = []
  const log = pino({ level: 'warn' }, { write: (line) => void warned.push(JSON.parse(line)) })
  await proveRowCounts(mirror.db, log)
  expect(warned).toContainEqual(
    expect.objectContaining({
      event: 'rows_recounted',
      stream: 'resource_slots',
      kept: expect.any(Number),
      counted: 41,
    }),
  )
  await pruneHistory(mirror.db.pool, { historyDays: history })
  expect(await liveRows(mirror.db.pool, 'resource_slots')).toBe(31)
  expect(await liveRows(mirror.db.pool, 'resource_slot_options')).toBe(31)
  warned.length = 0
  await mirror.db.pool.query(
    `update sync.streams set rows_proven_at = now() - interval '25 hours' where stream <> 'users'`,
  )
  await proveRowCounts(mirror.db, log)
  expect(warned).toEqual([])
  expect(await count(`sync.streams where rows_proven_at > now() - interval '1 hour'`)).toBe(streams.length)
})

it('keeps the number of changes that are done, and a count once a day corrects what went past the outbox', async () => {
  await fill()
  const { pool } = mirror.db
  await pool.query('truncate outbox.done_counts')
  const warned: unknown[] = []
  const log = pino({ level: 'warn' }, { write: (line) => void warned.push(JSON.parse(line)) })
  await keepDoneCount(mirror.db, log)
  expect(warned).toEqual([expect.objectContaining({ event: 'changes_recounted', difference: 21 })])
  expect(await doneChanges(pool)).toBe(21)
  await pruneHistory(pool, { historyDays: history })
  const left = await count(`outbox.queue where status = 'done'`)
  expect(left).toBeLessThan(21)
  expect(await doneChanges(pool)).toBe(left)
  await pool.query(`delete from outbox.queue where id = (select max(id) from outbox.queue where status = 'done')`)
  await keepDoneCount(mirror.db, log)
  expect([await doneChanges(pool), await count('outbox.done_counts'), warned.length]).toEqual([left, 1, 1])
  await pool.query(`update outbox.done_counts set proven_at = now() - interval '25 hours'`)
  await keepDoneCount(mirror.db, log)
  expect(warned[1]).toMatchObject({ event: 'changes_recounted', difference: -1 })
  expect(await doneChanges(pool)).toBe(left - 1)
})

it('prunes everything else whichever table refuses, and names that one', async () => {
  const { pool } = mirror.db
  await pool.query(`create function public.refuse() returns trigger language plpgsql as $$ begin
      if pg_trigger_depth() = 1 then raise exception 'kept'; end if; return old; end $$`) // what goes with its run may go
  await fill()
  const before = await remaining()
  await pruneHistory(pool, { historyDays: history })
  const after = await remaining()
  const pruned = Object.keys(after).filter((table) => (after[table] ?? 0) < (before[table] ?? 0))
  expect(pruned.length).toBeGreaterThan(11)
  for (const table of pruned) {
    await fill()
    await pool.query(`create trigger refuse before delete on ${table} for each row execute function public.refuse()`)
    const failed: unknown[] = []
    const onFailure = (name: string, reason: string) => void failed.push([name, reason])
    await pruneHistory(pool, { historyDays: history, onFailure })
    await pool.query(`drop trigger refuse on ${table}`)
    expect(new Set(failed.map(String)), table).toEqual(new Set([`${table},kept`]))
    const left = await remaining()
    expect(left[table], table).toBeGreaterThan(after[table] ?? 0)
    // What hangs below a slot stays as long as its slot.
    const stays = table === 'mirror.resource_slots' ? ['mirror.resource_slot_options'] : []
    for (const other of pruned)
      if (other !== table && !stays.includes(other)) expect(left[other], other).toBe(after[other])
  }
  await pool.query('drop function public.refuse')
})
