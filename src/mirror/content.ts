// When two records have the same content. The API's documents define no order of arrays, and some servers return a
// set in another order each time: a record that differs only in the order of arrays is neither written nor logged.

import type { StreamDef } from '../catalog/types.ts'
import type { RepeatableStep } from '../database/repeatable-step.ts'
import { identifier } from '../database/sql.ts'
import content from './content.sql'
import { rowOf } from './diff-sql.ts'

/** What the merge calls where payloads differ. */
export const contentFunctions: RepeatableStep = { name: 'content-functions', sql: content }

/**
 * Whether rows `left` and `right` of a stream differ in these columns or in their payloads. Arrays are compared only
 * where nothing else differs.
 */
export function saysOther(stream: StreamDef, columns: readonly string[], left: string, right: string): string {
  const isJson = new Set(stream.columns.flatMap(({ name, type }) => (type === 'jsonb' ? [name] : [])))
  const plain = columns.filter((column) => !isJson.has(column))
  const same = ['_payload', ...columns.filter((column) => isJson.has(column))].map(
    (column) => `mirror.same_content(${left}.${identifier(column)}, ${right}.${identifier(column)})`,
  )
  return `case
      when ${left}._payload is not distinct from ${right}._payload and ${rowOf(columns, left)} is not distinct from ${rowOf(columns, right)} then false
      when ${rowOf(plain, left)} is distinct from ${rowOf(plain, right)} then true
      else not (${same.join(' and ')}) end`
}
