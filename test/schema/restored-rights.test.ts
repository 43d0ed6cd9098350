// A dump that was restored without roles and privileges (`pg_restore --no-owner --no-privileges`): `migrate` gives what it gives
// in an empty database. The bundled Postgres has no pg_dump: what a dump leaves is imitated, and done where one is installed.

import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { migrate } from '../../src/schema/migrate.ts'
import { withDatabase } from '../helpers/addresses.ts'
import { findJitPostgres } from '../helpers/jit-postgres.ts'
import { type OwnPostgres, openOwnPostgres } from '../helpers/postgres-server.ts'
import { openInstalledPostgres } from '../helpers/postgres-versions.ts'

let folder: string
let server: OwnPostgres
let admin: Pool
beforeAll(async () => {
  folder = await mkdtemp(join(inject('runFolder'), 'restored-'))
  await chmod(folder, 0o755) // initdb runs as another account
  server = await openOwnPostgres(join(folder, 'data'))
  admin = new Pool({ connectionString: server.url, max: 1 })
})
afterAll(async () => {
  await admin.end()
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

const ours = `('mirror', 'sync', 'outbox', 'report', 'live', 'mirror_views', 'company_access')`
const roles = ['reader', 'partner', 'enqueue', 'operator', 'serve', 'views'].map((name) => `boat_mirror_${name}`)

/** Who may do what with each object, by what is granted and owned, and the policies. */
const rightsQuery = `with classes as (select c.*, n.nspname from pg_class c join pg_namespace n on n.oid = relnamespace
    where nspname in ${ours}),
  acls as (
    select concat('schema ', nspname) as object, coalesce(nspacl, acldefault('n', nspowner)) as acl from pg_namespace where nspname in ${ours}
    union all select concat_ws(' ', relkind, oid::regclass), coalesce(relacl, acldefault(case relkind when 'S' then 's' else 'r' end::"char", relowner))
      from classes where relkind in ('r', 'p', 'v', 'm', 'S')
    union all select concat('function ', p.oid::regprocedure), coalesce(proacl, acldefault('f', proowner)) from pg_proc p
      join pg_namespace n on n.oid = pronamespace where nspname in ${ours}
    union all select concat('column ', attrelid::regclass, '.', attname), attacl from pg_attribute join classes c on c.oid = attrelid
      where attacl is not null)
  select line from (
    select concat_ws(' ', object, case grantee when 0 then 'public' else grantee::regrole::text end, privilege_type) as line
      from acls cross join aclexplode(acl)
    union all select concat_ws(' ', 'owner of', oid::regclass, relowner::regrole, relrowsecurity) from classes where relkind <> 'i'
    union all select concat_ws(' ', 'policy', p.schemaname, p.tablename, policyname, permissive, p.roles::text, cmd, qual, with_check)
      from pg_policies p where schemaname in ${ours}) l order by line`

const rightsIn = async (pool: Pool): Promise<readonly unknown[]> =>
  (await pool.query<{ line: string }>(rightsQuery)).rows.map(({ line }) => line)

/** What a dump without owners and privileges keeps of them: nothing. */
const undress = `do $$ declare role text; begin
    foreach role in array array[${roles.map((role) => `'${role}'`).join(', ')}] loop
      if to_regrole(role) is not null then
        execute format('reassign owned by %I to current_user', role);
        execute format('drop owned by %I', role);
        execute format('drop role %I', role);
      end if;
    end loop;
  end $$;
  update pg_class set relacl = null where relnamespace in (select oid from pg_namespace where nspname in ${ours});
  update pg_proc set proacl = null where pronamespace in (select oid from pg_namespace where nspname in ${ours});
  update pg_attribute set attacl = null where attacl is not null
    and attrelid in (select c.oid from pg_class c join pg_namespace n on n.oid = relnamespace where nspname in ${ours});
  update pg_namespace set nspacl = null where nspname in ${ours}`

async function restored(name: string, setUp: string, as: (url: string) => string): Promise<void> {
  await admin.query(setUp)
  await admin.query(`create database ${name}`)
  const url = withDatabase(server.url, name)
  const pool = new Pool({ connectionString: url, max: 1 })
  try {
    await pool.query(`grant create on database ${name} to public`)
    await migrate(as(url))
    const before = await rightsIn(pool)
    await pool.query(undress)
    expect(await rightsIn(pool)).not.toEqual(before)
    expect(await migrate(as(url))).toEqual({ applied: [] })
    expect(await rightsIn(pool)).toEqual(before)
  } finally {
    await pool.end()
  }
}

// In this order: at first there is no role yet.
describe('a database that was restored without its roles', { shuffle: false }, () => {
  it('is closed to everybody again, also by a role that may create no roles', () =>
    restored(
      'plain',
      `create role plain login password 'x'`,
      (url) => Object.assign(new URL(url), { username: 'plain', password: 'x' }).href,
    ))

  it('gets its roles, grants, policies and owners back', () => restored('whole', 'select 1', (url) => url))
})

const installed = findJitPostgres()

it.runIf(installed)(
  'a database that pg_restore filled without owners and privileges gets all of them back',
  async () => {
    const { binDir } = installed ?? { binDir: '' }
    const other = await openInstalledPostgres({ binDir, major: '' }, join(folder, 'installed'), { fsync: 'off' })
    const run = (program: string, ...args: readonly string[]) => promisify(execFile)(join(binDir, program), args)
    const pool = new Pool({ connectionString: withDatabase(other.url, 'postgres'), max: 1 })
    const url = withDatabase(other.url, 'restored')
    const rights = async (): Promise<readonly unknown[]> => {
      const inside = new Pool({ connectionString: url, max: 1 })
      return await rightsIn(inside).finally(() => inside.end())
    }
    try {
      await pool.query('create database restored')
      await migrate(url)
      const before = await rights()
      const dump = join(folder, 'dump')
      await run('pg_dump', '--format=custom', `--file=${dump}`, url)
      await pool.query('drop database restored')
      for (const role of roles) await pool.query(`drop role if exists ${role}`)
      await pool.query('create database restored')
      // Policies for roles that are not there fail: it continues, and ends with 1.
      const restore = run('pg_restore', '--no-owner', '--no-privileges', `--dbname=${url}`, dump)
      await expect(restore).rejects.toMatchObject({ code: 1 })
      expect(await rights()).not.toEqual(before)
      expect(await migrate(url)).toEqual({ applied: [] })
      expect(await rights()).toEqual(before)
    } finally {
      await pool.end()
      await other.close()
    }
  },
)
