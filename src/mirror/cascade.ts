// What hangs below a record goes and comes back with it. Whoever writes below a record holds it meanwhile: it can neither
// go unseen, so that rows would stay alive without it, nor be gone already, because that is looked at once it is held.

import type { PoolClient } from 'pg'
import type { StreamDef } from '../catalog/types.ts'
import { lockStatement } from './change-statements.ts'
import type { MirrorWrites } from './rows.ts'

type Key = readonly string[]

/** One array per key column. */
export const keyArrays = (stream: StreamDef, keys: readonly Key[]): (string | null)[][] =>
  stream.key.map((_, index) => keys.map((key) => key[index] ?? null))

/** Keys of the records of `stream` below which something is written. */
function heldKeys(stream: StreamDef, { tables = [] }: MirrorWrites): Key[] {
  const width = stream.key.length
  const below = tables.filter((table) => table.stream.parent === stream.name)
  return below.flatMap(({ rows, replace = [] }) => [
    ...rows.map((row) => row.key.slice(0, width)),
    ...replace.filter(({ columns }) => columns.length >= width).map(({ values }) => values.slice(0, width)),
  ])
}

/** Keys of the rows of `stream` that are written themselves, as far as they are named. */
const ownKeys = (stream: StreamDef, { tables = [], filled = [], tombstones = [] }: MirrorWrites): Key[] => [
  ...tables.filter((table) => table.stream === stream).flatMap(({ rows }) => rows.map((row) => row.key)),
  ...filled.filter((write) => write.stream === stream).flatMap(({ rows }) => rows.map((row) => row.key)),
  ...tombstones.filter((gone) => gone.stream === stream).flatMap(({ keys }) => keys),
]

/**
 * Locks the records of `stream` below which something is written until the end of the transaction. What else it writes
 * there, and what goes, is locked with them: one statement in one order, so that no two transactions wait for each other.
 */
export async function holdParents(client: PoolClient, stream: StreamDef, writes: MirrorWrites): Promise<void> {
  const held = heldKeys(stream, writes)
  if (held.length === 0) return
  const own = ownKeys(stream, writes)
  const isGoing = (writes.tombstones ?? []).some((gone) => gone.stream === stream && gone.keys.length > 0)
  const strength = isGoing ? 'update' : own.length > 0 ? 'no key update' : 'key share'
  const distinct = [...new Map([...held, ...own].map((key) => [JSON.stringify(key), key])).values()]
  await client.query(lockStatement(stream, strength), keyArrays(stream, distinct))
}
