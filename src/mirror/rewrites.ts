// What `privacy apply` rewrites of schema mirror: the rows of each stream, then the change log, month by month. The log comes
// last, since what a row becomes is logged, and only values that are protected.

import { isObject, type Json, type JsonObject, parseJson, stringifyJson, textOf } from '../api/wire/json.ts'
import { findStream, streams } from '../catalog/catalog.ts'
import { columnType } from '../catalog/columns.ts'
import type { Column, StreamDef } from '../catalog/types.ts'
import { literal, type Queryable } from '../database/sql.ts'
import type { Privacy } from '../privacy/privacy.ts'
import { protectNamed, type Rewrite, rowsRewrite, type Texts } from '../privacy/rewrites.ts'
import { keyObject } from './diff-sql.ts'

/** Columns that can hold a value of a person. Others cannot change: they hold known fields, and no objects. */
const mayHoldPerson = ({ personal, type, path }: Column): boolean =>
  path !== null && (personal === true || type === 'jsonb')

const jsonOf = ({ type }: Column, text: string): Json => (type === 'jsonb' ? parseJson(text).value : text)
const textIn = ({ type }: Column, value: Json): string | null =>
  value === null ? null : type === 'jsonb' ? stringifyJson(value) : (textOf(value) ?? null)

/** The name under which a row carries what is logged of it. */
const entry = '_entry'

/**
 * The rows of a stream. For each changed row the feed gets one update with the new value of each column, or of the
 * payload, as both old and new: the former value is not shown.
 */
function rowsOf(privacy: Privacy, stream: StreamDef): Rewrite {
  const { name, key } = stream
  const columns = stream.columns.filter((column) => mayHoldPerson(column) && !key.includes(column.name))
  return rowsRewrite({
    table: `mirror.${name}`,
    key: key.map((column) => ({ name: column, type: columnType(stream, column) })),
    columns: [...columns, { name: '_payload', type: 'jsonb' }],
    besides: [entry],
    change: (row) => {
      const payload = parseJson(row._payload ?? 'null').value
      const kept = privacy.protect(stream, payload)
      const diff: JsonObject = {}
      const values: Record<string, string | null> = {}
      for (const column of columns) {
        const text = row[column.name] ?? null
        if (text === null) continue
        const before = jsonOf(column, text)
        const value = privacy.protectColumn(stream, column, before)
        if (value === before) continue
        values[column.name] = textIn(column, value)
        diff[column.name] = [value, value]
      }
      if (kept === payload && Object.keys(diff).length === 0) return null
      if (Object.keys(diff).length === 0) diff._payload = [kept, kept]
      return { ...row, ...values, _payload: stringifyJson(kept), [entry]: stringifyJson(diff) }
    },
    set: '_changed_at = clock_timestamp()',
    also: (update) => `with rewritten as (
        ${update}
        returning ${keyObject(key, 't')} as key, g.${entry}::jsonb as diff, t._deleted_at is null as alive)
      insert into mirror.change_log (epoch, stream, key, operation, diff)
      select (select mirror.feed_epoch()), ${literal(name)}, key, 'update', diff from rewritten where alive`,
  })
}

const bothSides = (pair: Json, side: (value: Json) => Json): Json => (Array.isArray(pair) ? pair.map(side) : side(pair))

/** The diff of an entry without clear values; the diff itself where it holds none. */
function protectDiff(privacy: Privacy, name: string, diff: JsonObject): JsonObject {
  const stream = findStream(name)
  const ofColumn = (member: string, value: Json): Json => {
    const column = stream?.columns.find((each) => each.name === member)
    if (stream === undefined || column === undefined) return protectNamed(privacy, name, value)
    return mayHoldPerson(column) ? privacy.protectColumn(stream, column, value) : value
  }
  const members = Object.entries(diff).map(([member, value]): [string, Json] => {
    if (member === '_payload') return [member, bothSides(value, (side) => protectNamed(privacy, name, side))]
    if (member === '_before' && isObject(value))
      return [member, Object.fromEntries(Object.entries(value).map(([each, held]) => [each, ofColumn(each, held)]))]
    return [member, member.startsWith('_') ? value : bothSides(value, (side) => ofColumn(member, side))]
  })
  return Object.fromEntries(members)
}

const logRewrite = (privacy: Privacy, table: string): Rewrite =>
  rowsRewrite({
    table,
    key: [{ name: 'seq', type: 'bigint' }],
    sees: ['stream'],
    columns: [{ name: 'diff', type: 'jsonb' }],
    change: (row: Texts) => {
      const before = parseJson(row.diff ?? '{}').value
      if (!isObject(before)) return null
      const diff = stringifyJson(protectDiff(privacy, row.stream ?? '', before))
      return diff === stringifyJson(before) ? null : { ...row, diff }
    },
  })

/** All of schema mirror, in order. */
export async function mirrorRewrites(db: Queryable, privacy: Privacy): Promise<readonly Rewrite[]> {
  if (!privacy.isActive) return []
  const { rows } = await db.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
       join pg_namespace n on n.oid = c.relnamespace
     where i.inhparent = 'mirror.change_log'::regclass order by 1`,
  )
  return [...streams.map((stream) => rowsOf(privacy, stream)), ...rows.map(({ name }) => logRewrite(privacy, name))]
}
