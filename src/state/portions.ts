// A run of the schedule looks at a part of a stream's rows, so that it takes as long however many there are: at what changed
// since the last one, and at so many rows after those of the last one, for what falls due by its age.

import { parentOf } from '../catalog/catalog.ts'
import { columnType } from '../catalog/columns.ts'
import type { StreamDef } from '../catalog/types.ts'
import { identifier, keySql, on, type Queryable } from '../database/sql.ts'
import { keyParts } from './records.ts'

/** Rows of a table by their keys, from the one after `after` up to `upTo`; null: from the first, to the last. */
export type KeyRange = { readonly after: string | null; readonly upTo: string | null }

export type Portion = {
  /** Rows that changed since then, or were compared with their list. */
  readonly since: Date
  /** And these, whatever became of them; null: none. */
  readonly range: KeyRange | null
}

/** Rows of a range. Tables of fewer are looked at as a whole. */
const rangeRows = 20_000

/** Longer than any transaction takes: what it changed shows only at its end. */
const longestTransaction = `interval '10 minutes'`

/** The rows whose details this stream reads: its own for a list, its parent's otherwise. */
export const holderOf = (stream: StreamDef): StreamDef =>
  stream.reads.kind === 'list' ? stream : (parentOf(stream) ?? stream)

/** What a run of the schedule looks at next; null: everything, since no complete run has ended well. */
export async function nextPortion(db: Queryable, stream: StreamDef, rows = rangeRows): Promise<Portion | null> {
  const holder = holderOf(stream)
  const { rows: found } = await db.query<{ since: Date | null; after: string | null }>(
    `select as_of - ${longestTransaction} as since, planned_to as after from sync.streams where stream = $1`,
    [stream.name],
  )
  const { since, after } = found[0] ?? { since: null, after: null }
  if (since === null) return null
  const parameters: unknown[] = [rows - 1]
  const { rows: last } = await db.query<{ key: string }>(
    `select ${keySql(holder, 't')} as key from mirror.${identifier(holder.name)} t
     where ${inRangeSql(holder, { after, upTo: null }, { columns: keyOf(holder, 't'), parameters })}
     order by ${keyOf(holder, 't').join(', ')} offset $1 limit 1`,
    parameters,
  )
  return { since, range: { after, upTo: last[0]?.key ?? null } }
}

/** What a hot run of a stream looks at that others' changes make due: what changed since a run that ended well; null: everything. */
export async function changedPortion(db: Queryable, stream: StreamDef): Promise<Portion | null> {
  const { rows } = await db.query<{ since: Date }>(
    `select started_at - ${longestTransaction} as since from sync.runs
     where stream = $1 and status = 'done' and record_key is null order by id desc limit 1`,
    [stream.name],
  )
  return rows[0] === undefined ? null : { since: rows[0].since, range: null }
}

/** Notes how far the schedule looked: the next portion begins there. */
export async function notePlanned(db: Queryable, stream: StreamDef, { range }: Portion): Promise<void> {
  if (range === null) return
  await on(db)
    .updateTable('sync.streams')
    .set({ planned_to: range.upTo })
    .where('stream', '=', stream.name)
    .where((eb) => eb('planned_to', 'is distinct from', range.upTo))
    .execute()
}

const keyOf = ({ key }: StreamDef, alias: string): readonly string[] =>
  key.map((name) => `${alias}.${identifier(name)}`)

/** Whether these columns, which hold a key of `stream`, lie in a range; its values are added to the parameters. */
export function inRangeSql(
  stream: StreamDef,
  { after, upTo }: KeyRange,
  { columns, parameters }: { readonly columns: readonly string[]; readonly parameters: unknown[] },
): string {
  const compared = (sign: string, key: string | null): readonly string[] => {
    if (key === null) return []
    const values = keyParts(stream, key).map((part, index) => {
      parameters.push(part)
      return `$${parameters.length}::${columnType(stream, stream.key[index] ?? '')}`
    })
    return [`(${columns.join(', ')}) ${sign} (${values.join(', ')})`]
  }
  return ['true', ...compared('>', after), ...compared('<=', upTo)].join(' and ')
}

/** A key that is remembered as text, as the columns of its table; one that they cannot hold is in no row. */
const rememberedKey = (stream: StreamDef): string =>
  stream.key
    .map((name, index) => {
      const part = stream.key.length === 1 ? 'r.key' : `r.key::jsonb ->> ${index}`
      const isNumber = columnType(stream, name) === 'bigint'
      return isNumber ? `case when ${part} ~ '^-?[0-9]{1,18}$' then (${part})::bigint end` : part
    })
    .join(', ')

/** The rows of a portion as `m`, of the table whose rows hold the details of `stream`. */
export function portionSql(stream: StreamDef, { since, range }: Portion, parameters: unknown[]): string {
  const holder = holderOf(stream)
  const table = `mirror.${identifier(holder.name)}`
  if (range !== null && range.after === null && range.upTo === null) return `${table} m`
  parameters.push(since)
  const lately = `$${parameters.length}::timestamptz`
  const streams = holder.reads.kind === 'list' ? [...new Set([holder.name, stream.name])] : [stream.name]
  const keys = [
    `select ${rememberedKey(holder)} from sync.records r
     where r.stream in (${streams.map((name) => `'${name}'`).join(', ')}) and greatest(r.changed_at, r.listed_at) >= ${lately}`,
  ]
  const changed = (name: string, columns: readonly string[]): string =>
    `select ${columns.join(', ')} from mirror.${identifier(name)} t where t._changed_at >= ${lately}`
  if (holder.reads.kind !== 'list') keys.push(changed(holder.name, keyOf(holder, 't')))
  if (stream.dueBy !== undefined) keys.push(changed(stream.dueBy.stream, [`t.${identifier(stream.dueBy.column)}`]))
  if (range !== null) {
    const columns = keyOf(holder, 't')
    keys.push(
      `select ${columns.join(', ')} from ${table} t where ${inRangeSql(holder, range, { columns, parameters })}`,
    )
  }
  const names = holder.key.map((_, index) => `k${index}`)
  const same = holder.key.map((name, index) => `t.${identifier(name)} = picked.k${index}`)
  return `(${keys.join(' union ')}) picked(${names.join(', ')})
    cross join lateral (select * from ${table} t where ${same.join(' and ')} offset 0) m`
}
