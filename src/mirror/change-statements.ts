// The statements that make tombstones and that fill columns from another stream's read. Pure.

import type { StreamDef } from '../catalog/types.ts'
import { columnList, keyObject, rowOf, sameKey, updateDiff } from './diff-sql.ts'
import { identifier } from './repeatable/step.ts'
import type { Scope } from './rows.ts'
import { stagedColumn, stageTable } from './staging.ts'

const typeOf = (stream: StreamDef, column: string): string =>
  stream.columns.find(({ name }) => name === column)?.type ?? 'text'

/** Parallel arrays of text as rows of typed columns: `unnest($n::text[], …) as given(…)`. */
function givenRows(stream: StreamDef, columns: readonly string[], firstParameter: number): string {
  const arrays = columns.map((_, index) => `$${firstParameter + index}::text[]`)
  const names = columns.map((_, index) => `v${index}`)
  const typed = columns.map((column, index) => `v${index}::${typeOf(stream, column)} as ${identifier(column)}`)
  return `select ${typed.join(', ')} from unnest(${arrays.join(', ')}) as given(${names.join(', ')})`
}

/** What a tombstone of a person or a document keeps: its key. */
function scrubbed(stream: StreamDef): string {
  if (stream.person !== true && stream.document !== true) return ''
  const personal = stream.columns.filter((column) => column.personal === true)
  const payload = stream.person === true ? keyObject(stream.key, 't') : `'{}'::jsonb`
  return [...personal.map(({ name }) => `, ${identifier(name)} = null`), `, _payload = ${payload}`].join('')
}

/**
 * Turns the live rows that `condition` selects (alias `t`, further from-items in `sources`) into tombstones, unless they
 * were read after $1 (the reading time); $2 is the source. Locks them in key order.
 * Returns their keys as text, one column `k0`, `k1` … per key column.
 */
function tombstoneSql(stream: StreamDef, given: string, condition: string): string {
  const { key, name } = stream
  const table = `mirror.${identifier(name)}`
  return `with given as (${given}), gone as materialized (
      select ${columnList(key, 't')} from ${table} t
      where t._deleted_at is null and t._read_at <= $1 and ${condition}
      order by ${columnList(key, 't')} for no key update of t
    ), marked as (
      update ${table} t set _deleted_at = clock_timestamp(), _changed_at = clock_timestamp(), _source = $2, _read_at = $1${scrubbed(stream)}
      from gone g where ${sameKey(key, 't', 'g')} returning ${columnList(key, 't')}, t._deleted_at
    ), logged as (
      insert into mirror.change_log (epoch, stream, key, operation, diff)
      select (select mirror.feed_epoch()), '${name}', ${keyObject(key, 'm')}, 'delete',
        jsonb_build_object('_deleted_at', jsonb_build_array(null, m._deleted_at))
      from marked m
    )
    select ${key.map((column, index) => `m.${identifier(column)}::text as k${index}`).join(', ')} from marked m`
}

/** Tombstones by key. Parameters: reading time, source, then one text array per key column. */
export function tombstoneByKey(stream: StreamDef): string {
  const matches = `(${columnList(stream.key, 't')}) in (select ${columnList(stream.key)} from given)`
  return tombstoneSql(stream, givenRows(stream, stream.key, 3), matches)
}

/**
 * Tombstones whose absence was confirmed again remember the later read, or a read from in between would revive them.
 * No change of the record, so nothing is logged. Parameters: reading time, then one text array per key column.
 */
export const confirmTombstones = (stream: StreamDef): string =>
  `with given as (${givenRows(stream, stream.key, 2)})
    update mirror.${identifier(stream.name)} t set _read_at = $1 where t._deleted_at is not null and t._read_at < $1
      and (${columnList(stream.key, 't')}) in (select ${columnList(stream.key)} from given)`

/**
 * Tombstones of what hangs below gone records of `ancestor`, whose key leads this stream's key.
 * Parameters: reading time, source, then one text array per key column of the ancestor.
 */
export function tombstoneBelow(stream: StreamDef, ancestor: StreamDef): string {
  const leading = stream.key.slice(0, ancestor.key.length)
  return tombstoneSql(
    stream,
    givenRows(stream, leading, 3),
    `(${columnList(leading, 't')}) in (select ${columnList(leading)} from given)`,
  )
}

/** The keys of all live rows in some scopes, and the condition that such a row was not brought by the answer. */
function scopeSql(
  stream: StreamDef,
  shape: Pick<Scope, 'columns' | 'from'>,
  batchParameter: number,
): { readonly given: string; readonly condition: string } {
  const range = shape.from === undefined ? [] : [shape.from.column, shape.from.column]
  const columns = [...shape.columns, ...range]
  const typed = columns.map((column, index) => `v${index}::${typeOf(stream, column)} as v${index}`)
  const arrays = columns.map((_, index) => `$${batchParameter + 2 + index}::text[]`)
  const names = columns.map((_, index) => `v${index}`)
  const matches = [
    't._deleted_at is null',
    ...shape.columns.map((column, index) => `t.${identifier(column)} = g.v${index}`),
  ]
  if (shape.from !== undefined) {
    const low = shape.columns.length
    matches.push(`t.${identifier(shape.from.column)} between g.v${low} and g.v${low + 1}`)
  }
  // A scope without columns is the whole table.
  const scopes =
    arrays.length === 0
      ? 'values (0)'
      : `select ${typed.join(', ')} from unnest(${arrays.join(', ')}) as given(${names.join(', ')})`
  const brought = stream.key.map((column) => {
    const index = stream.columns.findIndex(({ name }) => name === column)
    return `s.${stagedColumn(index)}::${typeOf(stream, column)}`
  })
  const key = columnList(stream.key, 't')
  // `offset 0` keeps the inner query a lookup by index for each scope; a semi-join with a range reads the whole table.
  return {
    given: `select distinct ${columnList(stream.key, 'k')} from (${scopes}) g cross join lateral
      (select ${key} from mirror.${identifier(stream.name)} t where ${matches.join(' and ')} offset 0) k`,
    condition: `(${key}) in (select ${columnList(stream.key)} from given)
      and (${key}) not in (select ${brought.join(', ')} from ${stageTable} s
        where s.batch = $${batchParameter} and s.stream = $${batchParameter + 1} and not s.stub)`,
  }
}

/**
 * Tombstones of what a complete answer did not bring: live rows in one of the scopes that are not staged.
 * Parameters: reading time, source, batch, stream, then the scopes' (`scopeParameters`).
 */
export function tombstoneInScope(stream: StreamDef, shape: Pick<Scope, 'columns' | 'from'>): string {
  const { given, condition } = scopeSql(stream, shape, 3)
  return tombstoneSql(stream, given, condition)
}

/**
 * The rows that `tombstoneInScope` would bury; changes nothing. Returns key (text[]).
 * Parameters: reading time, batch, stream, then the scopes' (`scopeParameters`).
 */
export function tombstoneCandidates(stream: StreamDef, shape: Pick<Scope, 'columns' | 'from'>): string {
  const { given, condition } = scopeSql(stream, shape, 2)
  const key = stream.key.map((column) => `t.${identifier(column)}::text`)
  return `with given as (${given}) select array[${key.join(', ')}] as key from mirror.${identifier(stream.name)} t
    where t._deleted_at is null and t._read_at <= $1 and ${condition} order by ${columnList(stream.key, 't')}`
}

/**
 * Fills columns of live rows with what another stream's read brought; rows that have the values already are left alone.
 * Parameters: one text array per key column, then one per filled column. Returns one row per updated row.
 */
export function fillStatement(stream: StreamDef, filled: readonly string[]): string {
  const { key, name } = stream
  const table = `mirror.${identifier(name)}`
  const assignments = filled.map((column) => `${identifier(column)} = g.${identifier(column)}`)
  return `with given as (${givenRows(stream, [...key, ...filled], 1)}), locked as materialized (
      select ${columnList([...key, ...filled], 't')} from ${table} t join given g on ${sameKey(key, 't', 'g')}
      where t._deleted_at is null and ${rowOf(filled, 't')} is distinct from ${rowOf(filled, 'g')}
      order by ${columnList(key, 't')} for no key update of t
    ), updated as (
      update ${table} t set ${assignments.join(', ')}, _changed_at = clock_timestamp()
      from given g join locked l on ${sameKey(key, 'l', 'g')} where ${sameKey(key, 't', 'g')}
      returning ${columnList(key, 't')}
    )
    insert into mirror.change_log (epoch, stream, key, operation, diff)
    select (select mirror.feed_epoch()), '${name}', ${keyObject(key, 'l')}, 'update', ${updateDiff(filled, 'l', 'g')}
    from updated u join given g on ${sameKey(key, 'u', 'g')} join locked l on ${sameKey(key, 'l', 'g')}`
}
