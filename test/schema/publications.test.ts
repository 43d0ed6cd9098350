// `create publication … for all tables`, as change data capture asks for it: Postgres then refuses to update or delete a row of a
// table that has neither a key nor a replica identity.

import { expect, it } from 'vitest'
import { runHousekeeping } from '../../src/jobs/maintenance.ts'
import { openMirror, quiet } from '../helpers/rows.ts'

it('lets every table of ours be updated and deleted, those of the queue and of the log included', async () => {
  await using mirror = await openMirror()
  await mirror.all('select mirror.make_log_month()')
  const keyless = await mirror.all(`select c.oid::regclass::text as name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind = 'r' and c.relpersistence <> 't' and n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema'
      and c.relreplident <> 'f' and not exists (select from pg_index i where i.indrelid = c.oid
        and case c.relreplident when 'i' then i.indisreplident else i.indisprimary end)`)
  expect(keyless).toEqual([])
  const schemas = await mirror.all<{ name: string }>(`select distinct schemaname as name from pg_tables order by 1`)
  expect(schemas.map(({ name }) => name)).toEqual(expect.arrayContaining(['bullmq', 'mirror', 'outbox', 'sync']))

  await mirror.all(
    'create publication cdc for all tables; create publication roots for all tables with (publish_via_partition_root)',
  )
  const said: string[] = []
  const log = Object.assign(Object.create(quiet), { warn: (what: object) => void said.push(JSON.stringify(what)) })
  await mirror.all(`insert into outbox.done_counts (count) values (1), (2);
    insert into mirror.change_log (stream, key, operation, diff, changed_at) values ('x', '{}', 'insert', '{}', now() - interval '40 days')`)
  await runHousekeeping(mirror.db, { historyDays: 30, log })
  expect(said.filter((line) => !line.includes('done_count'))).toEqual([])
  expect(await mirror.all('select count(*)::int as n from outbox.done_counts')).toEqual([{ n: 1 }])
  expect(await mirror.all('select from mirror.change_log')).toEqual([])
})
