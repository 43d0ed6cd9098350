// What is known of a record or of what hangs below it decides how a read is answered: from the mirror, by asking the API, or
// not at all. A program that has just written reads what the API shows: until its change is settled, the mirror may be older.

import type { QueryResult } from 'pg'
import { companyStreamOf, streamNamed, withAncestors } from '../../catalog/catalog.ts'
import { keyText } from '../../catalog/keys.ts'
import type { StreamDef, StreamSetting } from '../../catalog/types.ts'
import type { Database } from '../../database/database.ts'
import { identifier, type Queryable, textArray } from '../../database/sql.ts'
import { type Bound, readTogether } from '../../database/together.ts'
import { gathered } from '../../memo.ts'
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

/** Asks for one row: statements with parameters, `$1` for a text, `$2::bigint` for another type. */
export type ReadStatement = {
  /** Names the prepared statements; the texts follow from it. */
  readonly name: string
  /** What is known of the reading, from `sync`; one row. */
  readonly facts: string
  /** The data to serve, from `mirror`; at most one row, whose columns have other names. */
  readonly rows: string
}

const parameter = /\$(\d+)(?:::(\w+))?/g

/** The same statement for many, whose rows carry their place as `n`, from 1 on. */
function forMany(name: string, text: string): (all: readonly (readonly string[])[]) => Bound {
  const types = new Map(Array.from(text.matchAll(parameter), ([, number, type = 'text']) => [Number(number), type]))
  const numbers = [...types.keys()]
  // Values have their types before they are compared: row level security lets no cast of a row see an index. And how many they are,
  // the planner does not see: it would plan anew for each number.
  const arrays = [...types.values()].map((type, index) => `(select $${index + 1}::${type}[])`)
  const many = `select k.n::int as n, f.* from unnest(${arrays.join(', ')})
      with ordinality k (${numbers.map((number) => `v${number}`).join(', ')}, n)
    cross join lateral (${text.replace(parameter, 'k.v$1')}) f`
  const valuesOf = (all: readonly (readonly string[])[]): string[] =>
    numbers.map((number) => textArray(all.map((values) => values[number - 1] ?? '')))
  return (all) => ({ name, text: many, values: valuesOf(all) })
}

/** The rows of a result by their places; nulls where there is none. */
function placed({ fields, rows }: QueryResult): (place: number) => object {
  const none = Object.fromEntries(fields.map(({ name }) => [name, null]))
  const known = new Map(rows.map((row) => [row.n, row]))
  return (place) => known.get(place) ?? none
}

/**
 * Makes a function that reads a row, as the caller's role: in one round trip and one read-only transaction what is known of the
 * reading, then the row. What a role asks for while it waits for another answer is read together. Columns of `rows` are null
 * where there is no row, or the caller sees none.
 */
export function rowReader<R extends object>(
  { pool }: Database,
  { name, facts, rows }: ReadStatement,
): (caller: Pick<Caller, 'role'>, values: readonly string[]) => Promise<R> {
  const factsOf = forMany(`${name}:facts`, facts)
  const rowsOf = forMany(`${name}:rows`, rows)
  const find = gathered<R>(async (keys, role) => {
    const all = keys.map((key) => JSON.parse(key) as readonly string[])
    const becoming = role === '' ? [] : [`set local role ${identifier(role)}`]
    const [known, seen] = (await readTogether(pool, [factsOf(all), ...becoming, rowsOf(all)])).map(placed)
    return new Map(keys.map((key, index) => [key, { ...known?.(index + 1), ...seen?.(index + 1) } as R]))
  })
  return async ({ role }, values) => (await find(JSON.stringify(values), role ?? '')) as R
}

/**
 * Whether the caller has changes that are not settled and may show in this record, or in this collection: those of the rental
 * or the user at the beginning of the key. A caller that may not write has none. Asked before the row is read: what settles
 * after that is not in it.
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
