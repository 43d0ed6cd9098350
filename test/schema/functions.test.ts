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
