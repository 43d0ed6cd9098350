// What partners add to our tables may stop what we write: whose object it is, and what its owner can do about it.

import pg from 'pg'
import { streams } from '../catalog/catalog.ts'
import { bookkeepingComments } from '../catalog/columns.ts'
import { identifier, type Queryable } from '../database/sql.ts'
import { BoatMirrorError } from '../errors.ts'

/** What refused a write. `everyRow`: whatever the rows hold, so a search for single rows is useless. */
export type Refusal = { readonly reason: string; readonly everyRow: boolean }

/**
 * Classes of SQLSTATE for temporary conditions, whatever raises them: connection, rollback, resources, state,
 * intervention.
 */
const momentary: ReadonlySet<string> = new Set(['08', '40', '53', '55', '57'])

const ownColumns: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  streams.map(({ name, columns }) => [
    name,
    new Set([...columns.map((column) => column.name), ...Object.keys(bookkeepingComments)]),
  ]),
)

const requiredColumn = (table: string, column: string): string =>
  `column ${column} of mirror.${table} does not belong to Boat Mirror, must not be null and has no default: run ` +
  `alter table mirror.${identifier(table)} alter column ${identifier(column)} drop not null, or set a default`

/** A function of PL/pgSQL, in any language Postgres speaks (lc_messages): names with unusual letters are in quotes. */
const functionName = /PL\/pgSQL.*?((?:[a-z_][a-z0-9_$]*|"[^"]+")(?:\.(?:[a-z_][a-z0-9_$]*|"[^"]+"))?\(.*?\))/g

/** The last function on the way to the error: that of the trigger. Our functions are in our schemas. */
function triggerFunction(where: string | undefined): string | null {
  const name = [...(where ?? '').matchAll(functionName)].at(-1)?.[1]
  return name === undefined || /^(mirror|sync|outbox|report)\./.test(name) ? null : name
}

/** Whether a partner's additions to the mirror's tables refused a write; null: they did not. */
export function refusalByPartner(error: unknown): Refusal | null {
  if (!(error instanceof pg.DatabaseError) || momentary.has((error.code ?? '').slice(0, 2))) return null
  const { code, table = '', column, constraint, message } = error
  const own = error.schema === 'mirror' ? ownColumns.get(table) : undefined
  if (code === '23502' && column !== undefined && own?.has(column) === false)
    return { reason: requiredColumn(table, column), everyRow: true }
  const raising = triggerFunction(error.where)
  if (raising !== null)
    return {
      reason: `${message}: raised by ${raising} in a trigger that does not belong to Boat Mirror. Change the trigger to accept the row, or drop it`,
      everyRow: true,
    }
  // The mirror's own tables have a primary key and no other constraint.
  if (own === undefined || constraint === undefined || constraint === `${table}_pkey`) return null
  return {
    reason: `${message}: ${constraint} on mirror.${table} does not belong to Boat Mirror. Drop it to mirror records like this`,
    everyRow: false,
  }
}

const requiredQuery = `select c.relname as table, a.attname as column from pg_attribute a
  join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = 'mirror' and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
    and a.attnotnull and not a.atthasdef and a.attidentity = '' order by 1, 2`

/**
 * Do partners' columns let rows in that know nothing of them?
 * @throws BoatMirrorError DATABASE_UNSUITABLE that names those that do not.
 */
export async function assertColumnsOptional(db: Queryable): Promise<void> {
  const { rows } = await db.query<{ table: string; column: string }>(requiredQuery)
  const required = rows.filter(({ table, column }) => ownColumns.get(table)?.has(column) === false)
  if (required.length === 0) return
  throw new BoatMirrorError(
    'DATABASE_UNSUITABLE',
    `Nothing can be inserted: ${required.map(({ table, column }) => requiredColumn(table, column)).join('; ')}.`,
  )
}
