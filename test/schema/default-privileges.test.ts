// Rights are given by name: `alter default privileges` before the first migrate gives nobody more, and nobody less.

import { expect, it } from 'vitest'
import { migrateQueue } from '../../src/jobs/backend.ts'
import { migrate } from '../../src/schema/migrate.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { quiet } from '../helpers/rows.ts'

/** What everybody and each of our roles may do, as `role privilege object`. */
async function rights({ pool }: TestDatabase): Promise<readonly string[]> {
  const { rows } = await pool.query<{ said: string }>(`
    with ours as (select oid, nspname, nspowner, nspacl from pg_namespace
      where nspname in ('sync', 'mirror', 'mirror_log', 'mirror_views', 'live', 'report', 'outbox', 'company_access', 'bullmq')),
    object (name, acl) as (
      select 'schema ' || nspname, coalesce(nspacl, acldefault('n', nspowner)) from ours
      union all
      select c.oid::regclass::text, coalesce(c.relacl, acldefault(case c.relkind when 'S' then 's'::"char" else 'r' end, c.relowner))
        from pg_class c join ours o on o.oid = c.relnamespace where c.relkind in ('r', 'p', 'v', 'm', 'S')
          and o.nspname <> 'mirror_log' -- months are made at any time, and nobody may use their schema
      union all
      select c.oid::regclass || '.' || a.attname, a.attacl
        from pg_attribute a join pg_class c on c.oid = a.attrelid join ours o on o.oid = c.relnamespace where a.attacl is not null
      union all
      select p.oid::regprocedure::text, coalesce(p.proacl, acldefault('f', p.proowner)) from pg_proc p join ours o on o.oid = p.pronamespace
    )
    select format('%s %s %s', case a.grantee when 0 then 'public' else a.grantee::regrole::text end, a.privilege_type, name) as said
    from object cross join aclexplode(acl) a where a.grantee = 0 or a.grantee::regrole::text like 'boat\\_mirror\\_%' order by 1`)
  return rows.map(({ said }) => said)
}

const defaults = [
  {
    name: 'take from everybody what Postgres gives',
    set: ['revoke execute on functions from public', 'revoke usage on types from public'],
  },
  {
    name: 'give everybody and our roles all there is',
    set: ['tables', 'sequences', 'functions', 'schemas'].map(
      (kind) => `grant all on ${kind} to public, boat_mirror_reader, boat_mirror_enqueue, boat_mirror_views`,
    ),
  },
  {
    name: 'do so in our schemas, which are there before',
    set: ['mirror', 'report', 'sync'].flatMap((schema) => [
      `in schema ${schema} grant all on tables to public`,
      `in schema ${schema} grant execute on functions to boat_mirror_serve`,
    ]),
    before: 'create schema mirror; create schema report; create schema sync;',
  },
]

for (const { name, set, before = '' } of defaults)
  it(`everybody and each role may do the same where default privileges ${name}`, async () => {
    await using plain = await createTestDatabase()
    await using database = await createTestDatabase({ migrated: false })
    await database.pool.query(before + set.map((each) => `alter default privileges ${each}`).join('; '))
    await migrate(database.url)
    await migrateQueue(database.url, quiet)
    const [wanted, found] = [await rights(plain), await rights(database)]
    expect(wanted.length).toBeGreaterThan(500)
    expect(found.filter((right) => !wanted.includes(right))).toEqual([])
    expect(wanted.filter((right) => !found.includes(right))).toEqual([])
  })
