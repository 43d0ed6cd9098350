// SQL expressions for the diff of a change-log row: `{column: [old, new]}`. Pure.

import { identifier } from '../database/sql.ts'

// Text is put together and parsed once: an aggregate over one row per column took three times as long. `to_json` writes the
// text that `to_jsonb` would first parse.
const asObject = (members: readonly string[]): string => `('{' || concat_ws(',', ${members.join(', ')}) || '}')::jsonb`

/** A column name as the beginning of a JSON member, inside a SQL literal. */
const member = (column: string): string => `"${column}":[`

/** All columns that are not null, as `[null, value]`: the diff of an insert. `row` is an alias; `jsonText` of null is null. */
export function insertDiff(
  columns: readonly string[],
  row: string,
  jsonText = (_column: string, value: string): string => `to_json(${value})::text`,
): string {
  return asObject(
    columns.map((column) => `'${member(column)}null,' || ${jsonText(column, `${row}.${identifier(column)}`)} || ']'`),
  )
}

/** The columns that differ, as `[old, new]`. `before` and `after` are aliases. */
export function updateDiff(columns: readonly string[], before: string, after: string): string {
  return asObject(
    columns.map((column) => {
      const [old, new_] = [`${before}.${identifier(column)}`, `${after}.${identifier(column)}`]
      return `case when ${old} is distinct from ${new_} then '${member(column)}'
        || coalesce(to_json(${old})::text, 'null') || ',' || coalesce(to_json(${new_})::text, 'null') || ']' end`
    }),
  )
}

/** The columns that differ, with what they held before: `{column: old}`. */
export function formerValues(columns: readonly string[], before: string, after: string): string {
  return asObject(
    columns.map((column) => {
      const [old, new_] = [`${before}.${identifier(column)}`, `${after}.${identifier(column)}`]
      return `case when ${old} is distinct from ${new_} then '"${column}":' || coalesce(to_json(${old})::text, 'null') end`
    }),
  )
}

/** The key columns as an object: `change_log.key`. */
export const keyObject = (key: readonly string[], row: string): string =>
  `jsonb_build_object(${key.map((column) => `'${column}', ${row}.${identifier(column)}`).join(', ')})`

/** A row of columns for a comparison as a whole. */
export const rowOf = (columns: readonly string[], row: string): string =>
  `row(${columns.map((column) => `${row}.${identifier(column)}`).join(', ')})`

/** `a.k1 = b.k1 and a.k2 = b.k2`. */
export const sameKey = (key: readonly string[], left: string, right: string): string =>
  key.map((column) => `${left}.${identifier(column)} = ${right}.${identifier(column)}`).join(' and ')

/** `alias.k1, alias.k2`. */
export const columnList = (columns: readonly string[], row?: string): string =>
  columns.map((column) => (row === undefined ? identifier(column) : `${row}.${identifier(column)}`)).join(', ')

/** The name under which a statement hands on what stood in a column before it was updated. */
export const formerly = (column: string): string => identifier(`old_${column}`)

/** A from-item `l`: the former values of the columns, under their own names, of the row that holds them. */
export const former = (columns: readonly string[], row: string): string =>
  `lateral (select ${columns.map((column) => `${row}.${formerly(column)} as ${identifier(column)}`).join(', ')}) l`
