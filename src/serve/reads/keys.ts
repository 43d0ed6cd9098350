// Path parameters as keys of the mirror. Pure.

import { parentOf } from '../../catalog/catalog.ts'
import { columnType } from '../../catalog/columns.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { identifier } from '../../database/sql.ts'
import { refuse } from './query.ts'

type Params = Readonly<Record<string, string>>

/** A parameter as a value of a key column: whole numbers without leading zeros. @throws Refusal 400 */
function keyValue(stream: StreamDef, column: string, { name, value }: { name: string; value: string }): string {
  if (columnType(stream, column) === 'bigint') {
    if (!/^-?\d{1,18}$/.test(value)) throw refuse(name, 'must be a whole number')
    return String(BigInt(value))
  }
  if (value.includes('\0') || !value.isWellFormed()) throw refuse(name, 'must be a text that can be stored')
  return value
}

/** The key of the record that a child's path names above it. */
export function parentKeyOf(stream: StreamDef, params: Params): readonly string[] {
  const parent = parentOf(stream)
  return (stream.parentParams ?? []).map((name, index) =>
    parent === undefined ? '' : keyValue(parent, parent.key[index] ?? '', { name, value: params[name] ?? '' }),
  )
}

/** The key of the record that a single read names. */
export function recordKeyOf(stream: StreamDef, param: string, params: Params): readonly string[] {
  const own = keyValue(stream, stream.key.at(-1) ?? '', { name: param, value: params[param] ?? '' })
  return [...parentKeyOf(stream, params), own]
}

/** SQL that a row of `stream`, by its alias, has these key columns: parameters from `first` on, in their order. */
export const hasKey = (stream: StreamDef, alias: string, columns: readonly string[], first = 1): string =>
  columns
    .map((column, index) => `${alias}.${identifier(column)} = $${first + index}::${columnType(stream, column)}`)
    .join(' and ')
