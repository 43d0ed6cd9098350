// Access by company: roles that see some companies alone. Here stand the grants and the functions that tell who is restricted;
// policies on the tables, and the views, stand in `schema/company-policies.ts`.

import { streams, withAncestors } from '../catalog/catalog.ts'
import { columnType } from '../catalog/columns.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { RepeatableStep } from '../database/repeatable-step.ts'
import { fillSql, identifier, type Queryable } from '../database/sql.ts'
import functions from './company-access.sql'

/** A function that finds the company of a record by its key, cheap enough not to turn a planner away from scanning. */
function lookupFunction(stream: StreamDef, companyColumn: string): string {
  const [key = ''] = stream.key
  const row = `(select r.${identifier(companyColumn)} from mirror.${identifier(stream.name)} r where r.${identifier(key)} = record_key)`
  return `create or replace function company_access.of_${stream.name}(record_key ${columnType(stream, key)}) returns bigint
  language plpgsql stable parallel safe security definer cost 10 set search_path = pg_catalog, pg_temp
  as $$ begin return ${row}; end $$;`
}

/** What policies, views and functions ask. */
export const companyAccessFunctions: RepeatableStep = {
  name: 'company-access',
  sql: fillSql(functions, {
    lookups: streams
      .flatMap((stream) => (stream.companyColumn === undefined ? [] : [lookupFunction(stream, stream.companyColumn)]))
      .join('\n'),
  }),
}

/**
 * SQL of the company that a record leads to.
 * @param key SQL of its first key column, which names what it hangs below
 * @returns null: records of this stream lead to none
 */
export function companyOfKey(stream: StreamDef, key: string): string | null {
  const [top] = withAncestors(stream)
  return top?.companyColumn === undefined ? null : `company_access.of_${top.name}(${key})`
}

/** A role whose access is restricted. */
export type CompanyGrant = {
  readonly role: string
  readonly companies: readonly string[]
  readonly grantedAt: Date
  /** False: it is restricted by name alone. */
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
    `select g.role, g.companies::text[] as companies, g.granted_at as "grantedAt", r.oid is not null as "exists",
       ${bypassReason('g.role')} as bypasses
     from company_access.grants g left join pg_roles r on r.rolname = g.role order by g.role`,
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

const lockGrants = 'lock table company_access.grants in share row exclusive mode'
const enforce = 'select company_access.enforce()'

/** Restricts a role to companies, instead of those it had, in the caller's transaction. */
export async function grantCompanies(db: Queryable, role: string, companies: readonly string[]): Promise<void> {
  await db.query(lockGrants)
  await db.query(
    `insert into company_access.grants (role, companies) values ($1, $2)
     on conflict (role) do update set companies = excluded.companies, granted_at = excluded.granted_at`,
    [role, companies],
  )
  await db.query(enforce)
}

/** Lifts the restriction of a role, in the caller's transaction. @returns false where there was none. */
export async function revokeCompanies(db: Queryable, role: string): Promise<boolean> {
  await db.query(lockGrants)
  const { rowCount } = await db.query('delete from company_access.grants where role = $1', [role])
  await db.query(enforce)
  return rowCount === 1
}
