// Access by company: roles that see only some companies. This file has the grants and the functions that find out who
// is restricted; policies on the tables, and the views, are in `schema/company-policies.ts`.

import { streams } from '../../catalog/catalog.ts'
import { columnType } from '../../catalog/columns.ts'
import type { StreamDef } from '../../catalog/types.ts'
import type { RepeatableStep } from '../../database/repeatable-step.ts'
import { fillSql, identifier, type Queryable } from '../../database/sql.ts'
import functions from './company-access.sql'

/** Of a stream whose rows name their company: a function that finds it by the key, and a view of the keys that the caller may see. */
function lookups({ name, key: [key = ''], companyColumn }: StreamDef, type: string): string {
  if (companyColumn === undefined) return ''
  const [column, company] = [identifier(key), identifier(companyColumn)]
  return `create or replace function company_access.of_${name}(record_key ${type}) returns bigint
  language plpgsql stable parallel safe security definer set search_path = pg_catalog, pg_temp
  as $$ begin return (select r.${company} from mirror.${name} r where r.${column} = record_key); end $$;

create or replace view company_access.visible_${name} as
  select r.${column} as key from mirror.${name} r where r.${company} = any ((select company_access.visible())::bigint[]);`
}

/** What policies, views and functions ask. */
export const companyAccessFunctions: RepeatableStep = {
  name: 'company-access',
  sql: fillSql(functions, {
    lookups: streams.map((stream) => lookups(stream, columnType(stream, stream.key[0] ?? ''))).join('\n'),
  }),
}

/** A role whose access is restricted. */
export type CompanyGrant = {
  readonly role: string
  readonly companies: readonly string[]
  readonly grantedAt: Date
  /** False: it is gone, and another role of its name is refused. */
  readonly exists: boolean
  /** Why it sees everything all the same; null: it does not. */
  readonly bypasses: string | null
}

/** Of a role by its name (SQL): why row level security does not hold it back, also by way of a role that it may become. */
const bypassReason = (role: string): string => `(select (array_agg(case
      when m.rolsuper then format('%I is a superuser', m.rolname)
      when m.rolbypassrls then format('%I has BYPASSRLS', m.rolname)
      else format('%I owns the tables', m.rolname) end order by m.oid <> r.oid, m.rolname))[1]
    from pg_roles r join pg_roles m on pg_has_role(r.oid, m.oid, 'member')
    where r.rolname = ${role} and (m.rolsuper or m.rolbypassrls
      or m.oid = (select relowner from pg_class where oid = 'company_access.grants'::regclass)))`

/** The restricted roles by name. */
export async function listCompanyGrants(db: Queryable): Promise<readonly CompanyGrant[]> {
  const { rows } = await db.query<CompanyGrant>(
    `select coalesce(l.rolname, p.name) as role, g.companies::text[] as companies, g.granted_at as "grantedAt",
       l.oid is not null as "exists", ${bypassReason('l.rolname')} as bypasses
     from company_access.grants g join sync.partners p on p.partner = g.role
       left join pg_roles l on l.oid = p.role and p.cluster = company_access.cluster() order by 1`,
  )
  return rows
}

/** Whether a role exists, and why it cannot be restricted; null: it can. */
export async function findRole(
  db: Queryable,
  role: string,
): Promise<{ readonly exists: boolean; readonly bypasses: string | null }> {
  const { rows } = await db.query<{ exists: boolean; bypasses: string | null }>(
    `select exists (select from pg_roles where rolname = $1) as "exists", ${bypassReason('$1')} as bypasses`,
    [role],
  )
  return rows[0] ?? { exists: false, bypasses: null }
}

/** Those of the companies that the mirror does not have. */
export async function unknownCompanies(db: Queryable, companies: readonly string[]): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select given.id from unnest($1::bigint[]) given (id) where not exists (select from mirror.companies c where c.id = given.id)`,
    [companies],
  )
  return rows.map(({ id }) => id)
}

/**
 * Changes who is restricted, in the caller's transaction, and switches row level security on or off accordingly. One change
 * at a time.
 */
export async function changingRestrictions<T>(db: Queryable, change: () => Promise<T>): Promise<T> {
  await db.query('lock table company_access.grants in share row exclusive mode')
  const result = await change()
  await db.query('select company_access.enforce()')
  return result
}

/** Restricts a role to companies, instead of those it had, or that a role of its name had which is gone, in the caller's transaction. */
export async function grantCompanies(db: Queryable, role: string, companies: readonly string[]): Promise<void> {
  await changingRestrictions(db, async () => {
    await liftRestriction(db, role)
    await db.query(
      `insert into company_access.grants (role, companies)
       select company_access.registered(r.oid), $2::bigint[] from pg_roles r where r.rolname = $1`,
      [role, companies],
    )
  })
}

/** Lifts the restriction of a role and of its name, in the caller's transaction. @returns false where there was none. */
export const revokeCompanies = (db: Queryable, role: string): Promise<boolean> =>
  changingRestrictions(db, () => liftRestriction(db, role))

async function liftRestriction(db: Queryable, role: string): Promise<boolean> {
  await db.query('select company_access.notice_roles()')
  const { rowCount } = await db.query(
    'delete from company_access.grants g using sync.partners p where p.partner = g.role and p.name = $1',
    [role],
  )
  return rowCount !== 0
}
