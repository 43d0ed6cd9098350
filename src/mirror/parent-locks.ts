// A transaction that writes children of a record locks the record meanwhile. The record cannot become a tombstone
// unseen, which would leave its rows alive without it; and it is not one already, because that is checked once it is
// locked.

import type { PoolClient } from 'pg'
import { copiedColumns } from '../catalog/catalog.ts'
import { keyText } from '../catalog/keys.ts'
import type { StreamDef } from '../catalog/types.ts'
import { lockStatement } from './change-statements.ts'
import type { MirrorWrites } from './rows.ts'

type Key = readonly string[]

/** One array per key column. */
export const keyArrays = (stream: StreamDef, keys: readonly Key[]): (string | null)[][] =>
  stream.key.map((_, index) => keys.map((key) => key[index] ?? null))

/** Keys of the records of `stream` whose children are written. */
function parentKeys(stream: StreamDef, { tables = [] }: MirrorWrites): Key[] {
  const width = stream.key.length
  const keys: Key[] = []
  for (const table of tables) {
    if (table.stream.parent !== stream.name) continue
    for (const { key } of table.rows) keys.push(key.slice(0, width))
    for (const { columns, values } of table.replace ?? [])
      if (columns.length >= width) keys.push(values.slice(0, width))
  }
  return keys
}

/** Keys of the records of `stream` that filled rows belong to: their own values are copied. */
function sourceKeys(stream: StreamDef, { filled = [] }: MirrorWrites): Key[] {
  return filled.flatMap((write) => {
    const copied = copiedColumns(write.stream)
    if (copied?.source !== stream) return []
    return write.rows.flatMap(({ values }) => {
      const key = values[copied.link]
      return key === undefined || key === null ? [] : [[key]]
    })
  })
}

/** Keys of the rows of `stream` that are written themselves, as far as they are named. */
const ownKeys = (stream: StreamDef, { tables = [], filled = [], tombstones = [] }: MirrorWrites): Key[] => [
  ...tables.filter((table) => table.stream === stream).flatMap(({ rows }) => rows.map((row) => row.key)),
  ...filled.filter((write) => write.stream === stream).flatMap(({ rows }) => rows.map((row) => row.key)),
  ...tombstones.filter((gone) => gone.stream === stream).flatMap(({ keys }) => keys),
]

/**
 * Locks until the end of the transaction the records of `stream` whose children are written, and those that filled
 * rows copy from: a transaction that changes them copies after this one, and so to its rows as well. Other rows
 * written and deleted there are locked with them: one statement in one order prevents deadlocks.
 * @returns keys of the deleted records that are not written here, as text: another transaction may restore them
 * meanwhile
 */
export async function lockParents(
  client: PoolClient,
  stream: StreamDef,
  writes: MirrorWrites,
): Promise<ReadonlySet<string>> {
  const [parents, sources] = [parentKeys(stream, writes), sourceKeys(stream, writes)]
  if (parents.length + sources.length === 0) return new Set()
  const own = ownKeys(stream, writes)
  const isGoing = (writes.tombstones ?? []).some((gone) => gone.stream === stream && gone.keys.length > 0)
  const strength = isGoing ? 'update' : own.length + sources.length > 0 ? 'no key update' : 'key share'
  const distinct = [...new Map([...parents, ...sources, ...own].map((key) => [JSON.stringify(key), key])).values()]
  const { rows } = await client.query<{ key: string[]; gone: boolean }>(
    lockStatement(stream, strength),
    keyArrays(stream, distinct),
  )
  const above = new Set(parents.map(keyText))
  const gone = new Set(rows.flatMap((row) => (row.gone && above.has(keyText(row.key)) ? keyText(row.key) : [])))
  for (const key of own) gone.delete(keyText(key))
  return gone
}
