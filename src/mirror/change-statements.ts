// The statements that lock rows and make tombstones. Pure.

import { childrenOf, personalColumns } from '../catalog/catalog.ts'
import { columnType } from '../catalog/columns.ts'
import type { StreamDef } from '../catalog/types.ts'
import { identifier, knownRead, storableReadTime } from '../database/sql.ts'
import { columnList, formerly, keyObject, sameKey } from './diff-sql.ts'
import { keepingLost } from './feed.ts'
import type { Scope, TableWrite } from './rows.ts'
import { type RowSource, rowsFrom, stagedColumn } from './staging.ts'

/**
 * Parallel arrays of text as rows of typed columns, different ones, in their order: rows that are locked for one after the
 * other are locked in it.
 */
export function givenRows(stream: StreamDef, columns: readonly string[], firstParameter: number): string {
  const arrays = columns.map((_, index) => `$${firstParameter + index}::text[]`)
  const names = columns.map((_, index) => `v${index}`)
  const typed = columns.map((column, index) => `v${index}::${columnType(stream, column)} as ${identifier(column)}`)
  return `select distinct ${typed.join(', ')} from unnest(${arrays.join(', ')}) as given(${names.join(', ')})
      order by ${columns.map((_, index) => index + 1).join(', ')}`
}

/** The part of a person or a document that its tombstone keeps: the key. */
function redacted(stream: StreamDef): string {
  if (stream.person !== true && stream.document !== true) return ''
  const payload = stream.person === true ? keyObject(stream.key, 't') : `'{}'::jsonb`
  return [...personalColumns(stream).map((name) => `, ${identifier(name)} = null`), `, _payload = ${payload}`].join('')
}

/**
 * Locks rows by key, in key order, and changes nothing. `key share` keeps them from going, `no key update` from being
 * written, and `update` waits for all who write children of them, too. Parameters: one text array per key column.
 * Returns key (text[]) and gone of each.
 */
export const lockStatement = (stream: StreamDef, strength: 'key share' | 'no key update' | 'update'): string =>
  `with given as (${givenRows(stream, stream.key, 1)})
    select array[${stream.key.map((column) => `g.${identifier(column)}::text`).join(', ')}] as key, locked.gone from given g cross join lateral
      (select t._deleted_at is not null as gone from mirror.${identifier(stream.name)} t where ${sameKey(stream.key, 't', 'g')} for ${strength}) locked`

/** A record that goes waits for those who are writing children of it: they hold a key share of it (`lockParents`). */
const goingLock = (stream: StreamDef): string => (childrenOf(stream.name).length > 0 ? 'update' : 'no key update')

/** Which live rows are deleted, and what their tombstones record. */
type Going = {
  /** Rows that the other expressions know as `g`, in the order of the keys. */
  readonly given: string
  /** On a row `t` of the table and `g`; true for at most one `g` a row. */
  readonly condition: string
  /** When their absence was read, and where. */
  readonly readAt: string
  readonly source: string
  /** Which of several scopes it was in; missing: there are none. */
  readonly place?: string
}

/**
 * Turns live rows into tombstones. Locks them in key order, each looked up by index: of a table that was never analysed
 * Postgres expects next to no live rows, and would compare each of them with all that is given.
 * Returns their keys as text, one column `k0`, `k1` … per key column, and `place`.
 */
function tombstoneSql(stream: StreamDef, { given, condition, readAt, source, place = 'null' }: Going): string {
  const { key, name } = stream
  const table = `mirror.${identifier(name)}`
  // Nothing of a person is kept; of a document whose person stays, what the log holds is kept.
  const lost = stream.document === true ? personalColumns(stream) : []
  const kept = lost.length > 0 ? ` || ${keepingLost(lost, 'm')}` : ''
  const held = lost.map((column) => `, t.${identifier(column)} as ${formerly(column)}`).join('')
  return `with given as (${given}), gone as materialized (
      select ${columnList(key, 't')}, ${readAt} as gone_at, ${source} as gone_source, ${place} as place${lost.map((column) => `, t.${formerly(column)}`).join('')}
      from given g cross join lateral (select ${columnList(key, 't')}${held} from ${table} t
        where ${condition} and t._deleted_at is null order by ${columnList(key, 't')} for ${goingLock(stream)}) t
    ), marked as (
      update ${table} t set _deleted_at = clock_timestamp(), _changed_at = clock_timestamp(), _source = g.gone_source,
        _read_at = greatest(${knownRead('t')}, g.gone_at)${redacted(stream)}
      from gone g where ${sameKey(key, 't', 'g')}
      returning ${columnList(key, 't')}, t._deleted_at, g.place${lost.map((column) => `, g.${formerly(column)}`).join('')}
    ), logged as (
      insert into mirror.change_log (epoch, stream, key, operation, diff)
      select (select mirror.feed_epoch()), '${name}', ${keyObject(key, 'm')}, 'delete',
        jsonb_build_object('_deleted_at', jsonb_build_array(null, m._deleted_at))${kept}
      from marked m
    )
    select ${key.map((column, index) => `m.${identifier(column)}::text as k${index}`).join(', ')}, m.place from marked m`
}

const readAtParameter = storableReadTime('$1::timestamptz')
const sourceParameter = '$2::text'

/** Tombstones by key, of rows not read later. Parameters: reading time, source, then one text array per key column. */
export const tombstoneByKey = (stream: StreamDef): string =>
  tombstoneSql(stream, {
    given: givenRows(stream, stream.key, 3),
    condition: `${sameKey(stream.key, 't', 'g')} and ${knownRead('t')} <= ${readAtParameter}`,
    readAt: readAtParameter,
    source: sourceParameter,
  })

/**
 * Tombstones whose absence was confirmed again remember the later read, or a read from in between would revive them.
 * No change of the record, so nothing is logged. Parameters: reading time, then one text array per key column.
 */
export const confirmTombstones = (stream: StreamDef): string =>
  `with given as (${givenRows(stream, stream.key, 2)})
    update mirror.${identifier(stream.name)} t set _read_at = ${readAtParameter}
      where t._deleted_at is not null and ${knownRead('t')} < ${readAtParameter}
      and (${columnList(stream.key, 't')}) in (select ${columnList(stream.key)} from given)`

/**
 * Cascade: tombstones of the descendants of gone records of `ancestor`, whose key leads this stream's key, whenever they were read.
 * Parameters: reading time, source, then one text array per key column of the ancestor.
 */
export function tombstoneDescendants(stream: StreamDef, ancestor: StreamDef): string {
  const leading = stream.key.slice(0, ancestor.key.length)
  return tombstoneSql(stream, {
    given: givenRows(stream, leading, 3),
    condition: sameKey(leading, 't', 'g'),
    readAt: readAtParameter,
    source: sourceParameter,
  })
}

/** What the scopes of one statement have in common: the columns they name, and the column of the range. */
type ScopeShape = Pick<Scope, 'columns' | 'from'>

/** A scope with the answer that replaces it. */
type AnsweredScope = Scope & Pick<TableWrite, 'readAt' | 'source'>

/** Scopes that name the same columns and range. */
type ScopeGroup = { readonly shape: ScopeShape; readonly scopes: readonly AnsweredScope[] }

/** Groups the scopes of some tables by the columns they name, in the order in which the shapes first appear. */
export function groupScopes(tables: readonly TableWrite[]): readonly ScopeGroup[] {
  const groups = new Map<string, AnsweredScope[]>()
  for (const { replace = [], readAt, source } of tables)
    for (const scope of replace) {
      const shape = JSON.stringify([scope.columns, scope.from?.column ?? null])
      const group = groups.get(shape)
      if (group === undefined) groups.set(shape, [{ ...scope, readAt, source }])
      else group.push({ ...scope, readAt, source })
    }
  return [...groups.values()].flatMap((group) => (group[0] === undefined ? [] : [{ shape: group[0], scopes: group }]))
}

/**
 * The parameters of a statement over the group: reading times, sources, one array per column of the shape and, with a
 * range, its two ends.
 */
export function scopeParameters({ shape, scopes }: ScopeGroup): readonly (readonly (Date | string | null)[])[] {
  const answers = [scopes.map((scope) => scope.readAt), scopes.map((scope) => scope.source)]
  const values = shape.columns.map((_, index) => scopes.map((scope) => scope.values[index] ?? null))
  if (shape.from === undefined) return [...answers, ...values]
  const ends = [scopes.map((scope) => scope.from?.value ?? null), scopes.map((scope) => scope.from?.to ?? null)]
  return [...answers, ...values, ...ends]
}

/**
 * All live rows in some scopes, with the latest answer that covers each, and the condition that it did not bring the row
 * `t`. Parameters: that of the batch, then the scopes' (`scopeParameters`).
 */
function scopeSql(stream: StreamDef, shape: ScopeShape, source: RowSource): Pick<Going, 'given' | 'condition'> {
  const range = shape.from === undefined ? [] : [shape.from.column, shape.from.column]
  const columns = [...shape.columns, ...range]
  const values = columns.map((column, index) => `v${index}::${columnType(stream, column)} as v${index}`)
  const arrays = ['$2::timestamptz[]', '$3::text[]', ...columns.map((_, index) => `$${4 + index}::text[]`)]
  const names = ['read_at', 'source', ...columns.map((_, index) => `v${index}`), 'place']
  const scopes = `select ${[`${storableReadTime('read_at')} as read_at`, 'source', 'place', ...values].join(', ')}
      from unnest(${arrays.join(', ')}) with ordinality as answered(${names.join(', ')})`
  const matches = [
    't._deleted_at is null',
    ...shape.columns.map((column, index) => `t.${identifier(column)} = g.v${index}`),
  ]
  if (shape.from !== undefined) {
    const low = shape.columns.length
    matches.push(`t.${identifier(shape.from.column)} between g.v${low} and g.v${low + 1}`)
  }
  const brought = stream.key.map((column) => {
    const index = stream.columns.findIndex(({ name }) => name === column)
    return `s.${stagedColumn(index)}::${columnType(stream, column)}`
  })
  const key = columnList(stream.key, 'k')
  const staged = rowsFrom(source, stream, 's')
  // `offset 0` keeps the inner query a lookup by index for each scope; a semi-join with a range reads the whole table.
  return {
    given: `select distinct on (${key}) ${key}, g.read_at, g.source, g.place from (${scopes}) g cross join lateral
      (select ${columnList(stream.key, 't')} from mirror.${identifier(stream.name)} t where ${matches.join(' and ')} offset 0) k
      order by ${key}, g.read_at desc`,
    condition: `${sameKey(stream.key, 't', 'g')} and ${knownRead('t')} <= g.read_at
      and (${columnList(stream.key, 't')}) not in (select ${brought.join(', ')} from ${staged.from}
        where ${staged.where} and not s.stub)`,
  }
}

/**
 * Tombstones for records missing from complete answers: live rows in one of the scopes that are not staged.
 * Parameters: that of the batch, then the scopes' (`scopeParameters`). Returns the key and the `place` of the scope,
 * from 1.
 */
export const tombstoneInScope = (stream: StreamDef, shape: ScopeShape, source: RowSource): string =>
  tombstoneSql(stream, {
    ...scopeSql(stream, shape, source),
    readAt: 'g.read_at',
    source: 'g.source',
    place: 'g.place',
  })

/**
 * The rows of which `tombstoneInScope` would make tombstones; changes nothing. Returns key (text[]).
 * Parameters: that of the batch, then the scopes' (`scopeParameters`).
 */
export function tombstoneCandidates(stream: StreamDef, shape: ScopeShape, source: RowSource): string {
  const { given, condition } = scopeSql(stream, shape, source)
  const key = stream.key.map((column) => `t.${identifier(column)}::text`)
  return `with given as (${given}) select array[${key.join(', ')}] as key
    from mirror.${identifier(stream.name)} t join given g on ${condition}
    where t._deleted_at is null order by ${columnList(stream.key, 't')}`
}
