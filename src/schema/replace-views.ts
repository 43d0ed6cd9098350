// Replaces views in place, so that objects built on them stay. Only a view that lost a column, or whose column has
// another type, is dropped and created again, with its grants; objects of others that depend on it stop the migrate.

import type { PoolClient } from 'pg'
import { selectOf, type ViewDef } from '../database/repeatable-step.ts'
import { identifier, literal } from '../database/sql.ts'
import { sqlStateOf } from '../database/sql-states.ts'
import { BoatMirrorError } from '../errors.ts'

const invalidTableDefinition = '42P16'
const dependentObjectsStillExist = '2BP01'

const addressOf = ({ schema, name }: ViewDef): string => `${identifier(schema)}.${identifier(name)}`

/** Replaces all of them, in the caller's transaction. Each comes after those it depends on. */
export async function replaceViews(client: PoolClient, views: readonly ViewDef[]): Promise<void> {
  const grants: string[] = []
  for (const view of views) {
    const statement = await createStatement(client, view)
    await client.query('savepoint before_view')
    try {
      await client.query(statement)
    } catch (error) {
      if (sqlStateOf(error) !== invalidTableDefinition) throw error
      await client.query('rollback to savepoint before_view')
      grants.push(...(await dropWithOurs(client, view, views)))
      await client.query(await createStatement(client, view))
    }
    await client.query(`release savepoint before_view; ${comments(view)}`)
  }
  for (const grant of grants) await client.query(grant)
}

async function createStatement(client: PoolClient, view: ViewDef): Promise<string> {
  const { rows } = await client.query<{ name: string }>(
    `select a.attname as name from pg_attribute a join pg_class c on c.oid = a.attrelid
     join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1 and c.relname = $2 and a.attnum > 0 order by a.attnum`,
    [view.schema, view.name],
  )
  const present = rows.map(({ name }) => name).filter((name) => name in view.columns)
  const added = Object.keys(view.columns).filter((name) => !present.includes(name))
  const options = view.securityBarrier ? ' with (security_barrier = true)' : ''
  return `create or replace view ${addressOf(view)}${options} as ${view.with ?? ''} ${selectOf(view, [...present, ...added])}`
}

const comments = (view: ViewDef): string =>
  [
    `comment on view ${addressOf(view)} is ${literal(view.comment)};`,
    ...Object.entries(view.columns).map(([name, [, text]]) =>
      text === undefined ? '' : `comment on column ${addressOf(view)}.${identifier(name)} is ${literal(text)};`,
    ),
  ].join('\n')

/** The view and everything that depends on it, independent objects last; `grants` restores the rights of each. */
const standingQuery = `with recursive standing (oid, depth) as (
    select $1::regclass::oid, 0
    union
    select r.ev_class, s.depth + 1 from standing s
      join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = s.oid and d.classid = 'pg_rewrite'::regclass
      join pg_rewrite r on r.oid = d.objid and r.ev_class <> s.oid
  )
  select n.nspname as schema, c.relname as name, array(
      select format('grant %s on %I.%I to %s%s', g.privilege_type, n.nspname, c.relname,
        case g.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(g.grantee)) end,
        case when g.is_grantable then ' with grant option' else '' end)
      from aclexplode(c.relacl) g where g.grantee <> c.relowner) as grants
  from (select oid, max(depth) as depth from standing group by oid) s
  join pg_class c on c.oid = s.oid join pg_namespace n on n.oid = c.relnamespace order by s.depth desc`

type Standing = { readonly schema: string; readonly name: string; readonly grants: readonly string[] }

/** Drops a view and those of ours that depend on it. @returns the statements that restore their grants. */
async function dropWithOurs(client: PoolClient, view: ViewDef, views: readonly ViewDef[]): Promise<readonly string[]> {
  const { rows } = await client.query<Standing>(standingQuery, [addressOf(view)])
  const grants: string[] = []
  for (const standing of rows) {
    const ours = views.find(({ schema, name }) => schema === standing.schema && name === standing.name)
    if (ours === undefined) continue // refused with its dependants
    await drop(client, ours)
    grants.push(...standing.grants)
  }
  return grants
}

async function drop(client: PoolClient, view: ViewDef): Promise<void> {
  try {
    for (const each of view.functions ?? []) await client.query(`drop function if exists ${each}`)
    await client.query(`drop view ${addressOf(view)}`)
  } catch (error) {
    if (sqlStateOf(error) !== dependentObjectsStillExist) throw error
    const { detail = '' } = error as { detail?: string }
    throw new BoatMirrorError(
      'DATABASE_SCHEMA',
      `${view.schema}.${view.name} must be made anew, and not only ours stands on it: ${detail.replaceAll('\n', '; ')}. Nothing was changed.`,
      {
        cause: error,
        remedy:
          'Keep the definitions of what is named (pg_get_viewdef), drop it, run `boat-mirror migrate`, and create it again.',
      },
    )
  }
}
