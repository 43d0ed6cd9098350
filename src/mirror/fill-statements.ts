// The statements that set columns of rows from elsewhere: from another stream's read (a rental's boat), and from the row that
// they belong to (its boat's company), which they follow in the same commit: access by company hangs on it. Pure.

import { type CopiedColumns, copiedColumns } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import { identifier, literal } from '../database/sql.ts'
import { givenRows } from './change-statements.ts'
import { columnList, former, formerly, keyObject, rowOf, sameKey, updateDiff } from './diff-sql.ts'

/** Whether a row `r` of a source has a value for a column copied from it: a missing member has none. */
const saysColumn = ({ from, member }: CopiedColumns['columns'][number]): string =>
  `(r.${identifier(from)} is not null or r._payload -> ${literal(member)} = 'null')`

/** The given rows with what the record that they belong to says itself, where the mirror knows it: an answer about it may be older. */
function sourcedRows(stream: StreamDef, columns: readonly string[], given: string): string {
  const copied = copiedColumns(stream)
  if (copied === undefined) return given
  const values = columns.map((column) => {
    const copy = copied.columns.find((each) => each.column === column)
    if (copy === undefined) return `g.${identifier(column)}`
    return `case when ${saysColumn(copy)} then r.${identifier(copy.from)} else g.${identifier(column)} end as ${identifier(column)}`
  })
  const { source, link } = copied
  return `select ${values.join(', ')} from (${given}) g
      left join mirror.${identifier(source.name)} r on r.${identifier(source.key[0] ?? '')} = g.${identifier(link)}
      order by ${values.map((_, index) => index + 1).join(', ')}`
}

/**
 * Fills columns of live rows with values from another stream's read; rows that have the values already are not
 * touched. Parameters: one text array per key column, then one per filled column. Returns the diff of each updated
 * row.
 */
export function fillStatement(stream: StreamDef, filled: readonly string[], onlyEmpty: boolean): string {
  const columns = [...stream.key, ...filled]
  return setColumns(stream, filled, {
    given: sourcedRows(stream, columns, givenRows(stream, columns, 1)),
    condition: onlyEmpty ? `t.${identifier(filled[0] ?? '')} is null` : 'true',
  })
}

/**
 * Copies columns anew from the records that live rows belong to, where they differ. `by` says which rows: those that belong
 * to given records of the source, or rows given by their own key. Parameters: one text array per column of that key.
 * Returns the diff of each updated row.
 */
export function copyStatement(stream: StreamDef, copied: CopiedColumns, by: 'source' | 'own key'): string {
  const { source, link, columns } = copied
  const names = columns.map(({ column }) => column)
  const said = columns.map((copy) => {
    const held = `t.${identifier(copy.column)}`
    return `case when ${saysColumn(copy)} then r.${identifier(copy.from)} else ${held} end as ${identifier(copy.column)}`
  })
  const values = [
    columnList(stream.key, 't'),
    ...said,
    ...names.map((column) => `t.${identifier(column)} as ${formerly(column)}`),
  ]
  const [table, other] = [`mirror.${identifier(stream.name)}`, `mirror.${identifier(source.name)}`]
  const belongs = `r.${identifier(source.key[0] ?? '')} = t.${identifier(link)}`
  // `offset 0`: each is looked up by index, however small the tables were when they were analysed.
  const found =
    by === 'source'
      ? `from (${givenRows(source, source.key, 1)}) g
        cross join lateral (select * from ${other} r where ${sameKey(source.key, 'r', 'g')} offset 0) r
        cross join lateral (select * from ${table} t where ${belongs} offset 0) t`
      : `from (${givenRows(stream, stream.key, 1)}) g
        cross join lateral (select * from ${table} t where ${sameKey(stream.key, 't', 'g')} offset 0) t
        cross join lateral (select * from ${other} r where ${belongs} offset 0) r`
  return setColumns(stream, names, {
    given: `select * from (select ${values.join(', ')} ${found}) t
      where ${rowOf(names, 't')} is distinct from row(${names.map((column) => `t.${formerly(column)}`).join(', ')})
      order by ${columnList(stream.key, 't')}`,
    // A transaction that wrote it meanwhile has read the source later.
    condition: `${rowOf(names, 't')} is not distinct from row(${names.map((column) => `g.${formerly(column)}`).join(', ')})`,
  })
}

/** Sets columns of live rows `t` to those of the given rows `g`, in the order of these, and logs what changed. */
function setColumns(
  stream: StreamDef,
  columns: readonly string[],
  { given, condition }: { readonly given: string; readonly condition: string },
): string {
  const { key, name } = stream
  const table = `mirror.${identifier(name)}`
  const assignments = columns.map((column) => `${identifier(column)} = l.${identifier(column)}`)
  return `with given as (${given}), locked as materialized (
      select ${columnList([...key, ...columns], 'g')}, ${columns.map((column) => `t.${formerly(column)}`).join(', ')}
      from given g cross join lateral (select ${columns.map((column) => `t.${identifier(column)} as ${formerly(column)}`).join(', ')} from ${table} t
        where ${sameKey(key, 't', 'g')} and t._deleted_at is null and ${rowOf(columns, 't')} is distinct from ${rowOf(columns, 'g')}
          and ${condition}
        for no key update) t
    ), updated as (
      update ${table} t set ${assignments.join(', ')}, _changed_at = clock_timestamp()
      from locked l where ${sameKey(key, 't', 'l')}
      returning ${columnList([...key, ...columns], 't')}, ${columns.map((column) => `l.${formerly(column)}`).join(', ')}
    )
    insert into mirror.change_log (epoch, stream, key, operation, diff)
    select (select mirror.feed_epoch()), '${name}', ${keyObject(key, 's')}, 'update', ${updateDiff(columns, 'l', 's')}
    from updated s, ${former(columns, 's')}
    returning diff`
}
