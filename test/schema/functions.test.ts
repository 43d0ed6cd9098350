// The functions of our schemas: made from `.sql` files, and without faults that plpgsql_check can find.

import { expect, it } from 'vitest'
import { fillSql } from '../../src/database/sql.ts'
import { createTestDatabase } from '../helpers/database.ts'

it('placeholders of a .sql file are filled, all of them and nothing else', () => {
  expect(fillSql('a in ({{some}}) or b in ({{some}}, {{more}})', { some: '1, 2', more: '$&' })).toBe(
    'a in (1, 2) or b in (1, 2, $&)',
  )
  expect(() => fillSql('a in ({{some}})', {})).toThrow('{{some}}')
  expect(() => fillSql('a in ({{some}})', { some: '1', sme: '2' })).toThrow('sme')
})

it('plpgsql_check finds nothing wrong with them', async ({ skip }) => {
  await using database = await createTestDatabase()
  const { rows } = await database.pool.query(`select from pg_available_extensions where name = 'plpgsql_check'`)
  if (rows.length === 0) skip('This Postgres has no plpgsql_check.')
  await database.pool.query('create extension plpgsql_check')
  const found = await database.pool.query(
    `select p.oid::regprocedure::text as function, c.lineno as line, c.message, c.detail
     from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
     left join (select distinct tgfoid, tgrelid, tgoldtable from pg_trigger where not tgisinternal) t on t.tgfoid = p.oid
     cross join lateral plpgsql_check_function_tb(p.oid, coalesce(t.tgrelid, 0), fatal_errors => false, oldtable => t.tgoldtable) c
     where n.nspname in ('mirror', 'mirror_log', 'sync', 'outbox', 'report') and l.lanname = 'plpgsql'
       and (p.prorettype <> 'trigger'::regtype or t.tgrelid is not null)
     order by 1, 2`,
  )
  expect(found.rows).toEqual([])
})

/** Where a function is given a name, its texts are compared in the collation of names, in which no column of texts has an index. */
it('compare a text with a column in the collation of the column, also where a name is given beside it', async () => {
  await using database = await createTestDatabase()
  const { rows } = await database.pool.query<{ function: string; source: string; texts: string[] }>(
    `select p.oid::regprocedure::text as function, p.prosrc as source, array(select p.proargnames[a.place] from
       unnest(p.proargtypes::oid[]) with ordinality a (type, place) where a.type = 'text'::regtype) as texts
     from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname in ('company_access', 'mirror', 'mirror_log', 'sync', 'outbox', 'report')
       and 'name'::regtype = any (p.proargtypes::oid[]) and 'text'::regtype = any (p.proargtypes::oid[])`,
  )
  expect(rows.length).toBeGreaterThan(3)
  const compared = rows.flatMap(({ function: name, source, texts }) =>
    texts
      .filter((text) => new RegExp(`\\w\\.\\w+ = (\\w+\\.)?${text}\\b(?! collate "default")`).test(source))
      .map((text) => `${name}: ${text}`),
  )
  expect(compared).toEqual([])
})

it('find the changes of a record, and the companies of a role, by an index', async () => {
  await using database = await createTestDatabase()
  const client = await database.pool.connect()
  try {
    await client.query('begin isolation level repeatable read; discard plans; set local enable_seqscan = off')
    await client.query(`insert into sync.partners (partner, name, role, cluster)
      values ('some', 'pg_monitor', 'pg_monitor'::regrole, company_access.cluster())`)
    await client.query(`insert into company_access.grants (role, companies) values ('some', '{1}')`)
    const asked = [
      `outbox.earlier_changes('rental:1', 1, 'me', now(), '1', 'rentals', pg_current_snapshot(), 1000, null)`,
      `outbox.assert_current('rental.create', '{}', 'rental:1')`,
      `outbox.is_of('rental:1', 'me', '{1}')`,
      `company_access.of_role('pg_monitor'::regrole)`,
    ]
    for (const each of asked) {
      await client.query(`select ${each}`)
      const { rows } = await client.query(
        `select sum(pg_stat_get_xact_numscans(each))::int as read
         from unnest('{outbox.queue,sync.access_tokens,company_access.grants}'::regclass[]) each`,
      )
      expect([each, rows[0].read]).toEqual([each, 0])
    }
  } finally {
    await client.query('rollback')
    client.release()
  }
})
