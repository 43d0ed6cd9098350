// What is known of a record or of what hangs below it decides how a read is answered: from the mirror, by asking the API, or
// not at all. A program that has just written reads what the API shows: until its change is settled, the mirror may be older.

import { companyStreamOf, streamNamed, withAncestors } from '../../catalog/catalog.ts'
import { keyText } from '../../catalog/keys.ts'
import type { StreamDef, StreamSetting } from '../../catalog/types.ts'
import type { Database } from '../../database/database.ts'
import { identifier, type Queryable } from '../../database/sql.ts'
import { readTogether } from '../../database/together.ts'
import { inStates } from '../../outbox/states.ts'
import { settings as settingNames } from '../../settings.ts'
import { problem, Refusal } from '../problem.ts'
import { refusalFor } from '../rights.ts'
import type { Caller } from '../types.ts'

/** The record does not exist. `asOf`: when that was proven. */
export const notFound = (what: string, asOf: Date | null): Refusal =>
  new Refusal(problem(404, `${what} does not exist.`, {}, asOf === null ? {} : { 'x-as-of': asOf.toISOString() }))

/** Refuses who may not read a stream at all. @throws Refusal 403 */
export function assertMayRead(caller: Caller, stream: StreamDef): void {
  const why = refusalFor(caller, stream)
  if (why !== null) throw new Refusal(problem(403, why))
}

/**
 * Refuses where a caller with limits sees no row: whether others have it, is not said. @throws Refusal 403
 */
export function assertSees(caller: Caller, stream: StreamDef, what: string): void {
  if (caller.companies === null || companyStreamOf(stream) === undefined) return
  throw new Refusal(problem(403, `${what} is not among the records of this token's companies.`))
}

/** Refuses a stream that the settings switch off. @throws Refusal 501 */
export function assertOn(stream: StreamDef, settings: Readonly<Record<StreamSetting, boolean | number>>): void {
  const off = (stream.onlyWith ?? []).find((name) => !(Number(settings[name]) > 0))
  if (off === undefined) return
  const { name } = settingNames[off]
  throw new Refusal(problem(501, `${stream.name} is not mirrored: ${name} switches it off.`, { setting: name }))
}

/** A record by its key, for messages. */
export const named = ({ name }: StreamDef, key: readonly string[]): string => `${name} ${key.join(' ')}`

/** Is it about a person of whom only the key is kept? */
export async function isErasedPerson(db: Queryable, stream: StreamDef, key: readonly string[]): Promise<boolean> {
  const about = stream.document === true ? 'users' : stream.name
  const found = await db.query('select from sync.erased where stream = $1 and key = $2', [about, keyText(key)])
  return found.rowCount === 1
}

/** A statement with its parameters, `$1` and so on. */
export type Part = { readonly text: string; readonly values: readonly (string | null)[] }

export type ReadStatement = {
  /** Names the prepared statement; the texts follow from it. Null: its best plan depends on the values. */
  readonly name: string | null
  /** What is known of the reading, from `sync`; one row. */
  readonly facts: Part
  /** The data to serve, from `mirror`; at most one row, whose columns have other names. */
  readonly rows: Part
}

/**
 * Runs both in one round trip and one read-only transaction: first what is known of the reading, then the rows, as the caller's role.
 * Columns of `rows` are null where there is no row, or the caller sees none.
 */
export async function readRow<R extends object>(
  database: Database,
  { role }: Pick<Caller, 'role'>,
  statement: ReadStatement,
): Promise<R> {
  const { name, facts, rows } = statement
  const results = await readTogether(database.pool, [
    { ...facts, name: name === null ? null : `${name}:facts` },
    ...(role === null ? [] : [`set local role ${identifier(role)}`]),
    { ...rows, name: name === null ? null : `${name}:rows` },
  ])
  const columns = results.flatMap(({ fields, rows: [row] }) =>
    fields.map(({ name: column }): [string, unknown] => [column, row?.[column] ?? null]),
  )
  return Object.fromEntries(columns) as R
}

/**
 * Whether the caller has changes that are not settled and may show in this record, or in this collection: those of the rental
 * or the user at the beginning of the key. A caller that may not write has none.
 * @param key the key of the record, or of the record above the collection
 */
export async function isUnsettled(
  db: Queryable,
  { token, write }: Pick<Caller, 'token' | 'write'>,
  stream: Pick<StreamDef, 'name'>,
  key: readonly string[],
): Promise<boolean> {
  const aggregate = withAncestors(streamNamed(stream.name))[0]?.aggregate
  if (!write || token === null || aggregate === undefined) return false
  const { rows } = await db.query<{ found: boolean }>(
    `select exists (select from outbox.requests r join outbox.queue q on q.id = r.change_id
       where r.token = $1 and q.aggregate = $2 and ${inStates('q.status', 'unsettled')}) as found`,
    [token.id, `${aggregate}:${key[0]}`],
  )
  return rows[0]?.found === true
}
