// What a worker does once an hour: whatever fails is named, and all the rest is done.

import { pino } from 'pino'
import { expect, it } from 'vitest'
import { runHousekeeping } from '../../src/jobs/maintenance.ts'
import { openMirror } from '../helpers/rows.ts'

it('does everything else, whichever part of it fails, and names that one', async () => {
  await using mirror = await openMirror()
  const warned: Record<string, unknown>[] = []
  const log = pino({ level: 'warn' }, { write: (line) => void warned.push(JSON.parse(line)) })
  const keep = async (): Promise<readonly unknown[]> => {
    warned.length = 0
    await mirror.all(`update sync.streams set rows_proven_at = null; truncate outbox.done_counts, mirror.change_log;
      insert into mirror.change_log (stream, key, operation, diff, changed_at) values ('x', '{}', 'insert', '{}', now() - interval '40 days')`)
    await runHousekeeping(mirror.db, { historyDays: 30, log })
    return warned.map(({ event, table, what }) => [event, table ?? what])
  }
  const done = async (): Promise<readonly unknown[]> =>
    mirror.all(`select (select count(*)::int from mirror.change_log) as logged,
      (select count(*)::int from sync.streams where rows_proven_at is null) as unproven,
      (select count(*)::int from outbox.done_counts) as counts`)
  const all = [{ logged: 0, unproven: 0, counts: 1 }]
  expect(await keep()).toEqual([])
  expect(await done()).toEqual(all)

  // A table of the name that the next month is to have.
  const [month] = await mirror.all<{ name: string }>(
    `select partition::text as name from mirror.log_partitions() order by ends desc limit 1`,
  )
  await mirror.all(`alter table mirror.change_log detach partition ${month?.name}`)
  expect(await keep()).toEqual([['housekeeping_failed', 'the next months of the change log']])
  expect(await done()).toEqual(all)
  await mirror.all(`drop table ${month?.name}`)

  await mirror.all(
    `create function public.refuse() returns trigger language plpgsql as $$ begin raise exception 'kept'; end $$`,
  )
  const refused = async (table: string, on: string): Promise<readonly unknown[]> => {
    await mirror.all(`create trigger refuse before ${on} on ${table} for each row execute function public.refuse()`)
    const said = await keep().finally(() => mirror.all(`drop trigger refuse on ${table}`))
    return [said, await done()]
  }
  expect(await refused('mirror.change_log', 'delete')).toEqual([
    [['history_not_pruned', 'mirror.change_log']],
    [{ ...all[0], logged: 1 }],
  ])
  expect(await refused('outbox.done_counts', 'insert')).toEqual([
    [['changes_not_counted', undefined]],
    [{ ...all[0], counts: 0 }],
  ])
})
