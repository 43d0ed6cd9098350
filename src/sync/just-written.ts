// Reads that came too early: within the time that the API needs to show a write, a list or a detail may hold a record
// as it was before a change of ours. It is removed from the commit, and read again.

import { convertValue } from '../api/wire/convert.ts'
import { keyParts, keyText } from '../catalog/keys.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { Queryable } from '../database/sql.ts'
import type { Row, Scope, TableWrite } from '../mirror/rows.ts'
import type { ChangeSet } from './change-set.ts'
import type { SyncContext } from './context.ts'
import { valueAt } from './records/project.ts'
import { assumedShownAfter, type OwnWrite, ownWritesSince, type ShownAfter } from './remembered/own-writes.ts'

type Options = { readonly shownAfter: ShownAfter; readonly timeZone: string }

/** The change set without records that do not show our changes yet. Queries the database once, with an index. */
export async function withoutStale(
  db: Queryable,
  changes: ChangeSet,
  { shownAfter = assumedShownAfter, settings: { timeZone } }: SyncContext,
): Promise<ChangeSet> {
  const read = [...changes.tables.filter(({ mode }) => mode === 'record'), ...changes.tombstones]
  if (read.length === 0) return changes
  const earliest = Math.min(...read.map(({ readAt }) => readAt.getTime()))
  const streams = [...new Set(read.map(({ stream }) => stream.name))]
  const since = new Date(earliest - shownAfter.longestMs)
  const written = await ownWritesSince(db, since, streams)
  return written.length === 0 ? changes : withoutEarly(changes, written, { shownAfter, timeZone })
}

/** The same for what was written. Pure. */
export function withoutEarly(
  changes: ChangeSet,
  written: readonly OwnWrite[],
  { shownAfter, timeZone }: Options,
): ChangeSet {
  const byPlace = new Map(written.map((write) => [`${write.stream} ${write.key}`, write]))
  const writeOf = (stream: StreamDef, key: readonly string[]): OwnWrite | undefined =>
    byPlace.get(`${stream.name} ${keyText(key)}`)
  const isEarly = (write: OwnWrite | undefined, readAt: Date, afterMs = shownAfter.ms()): write is OwnWrite =>
    write !== undefined && readAt.getTime() < write.at.getTime() + afterMs
  /** Absence proves less of what no read has shown yet than of what was only changed. */
  const mayBeUnseen = (write: OwnWrite | undefined, readAt: Date): write is OwnWrite =>
    isEarly(write, readAt, write?.made === true ? shownAfter.longestMs : shownAfter.ms())
  /** Records whose hashes must not be remembered: they are read again. */
  const early = new Set<string>()

  const leftOut = (table: TableWrite): readonly Row[] =>
    table.rows.filter((row) => {
      const write = writeOf(table.stream, row.key)
      return isEarly(write, row.readAt ?? table.readAt) && !shows(table.stream, row, write, timeZone)
    })
  const tables = changes.tables.flatMap((table): TableWrite[] => {
    if (table.mode === 'stub') return [table]
    const { stream, rows, replace = [], readAt } = table
    const out = new Set(leftOut(table))
    const brought = new Set(rows.map(({ key }) => keyText(key)))
    const scopes = replace.filter((scope) =>
      written.some(
        (write) =>
          write.stream === stream.name &&
          write.state !== 'gone' &&
          mayBeUnseen(write, readAt) &&
          !brought.has(write.key) &&
          isWithin(stream, keyParts(stream, write.key), scope),
      ),
    )
    if (out.size === 0 && scopes.length === 0) return [table]
    for (const { key } of out) early.add(`${stream.name} ${keyText(key)}`)
    // A collection is one answer: what of it is too early says that all of it may be.
    for (const { values } of replace) early.add(`${stream.name} ${keyText(values)}`)
    return replace.length > 0 ? [] : [{ ...table, rows: rows.filter((row) => !out.has(row)) }]
  })
  const warnings: string[] = []
  const tombstones = changes.tombstones.map((each) => ({
    ...each,
    keys: each.keys.filter((key) => {
      const write = writeOf(each.stream, key)
      const counts = write?.state === 'gone' || !mayBeUnseen(write, each.readAt)
      if (!counts)
        warnings.push(
          `${each.stream.name} ${keyText(key)}: the API answered that it is gone just after Boat Mirror changed it. The next sync requests it again.`,
        )
      return counts
    }),
  }))
  const isKept = ({ stream, key }: { readonly stream: string; readonly key: string }): boolean =>
    !early.has(`${stream} ${key}`)
  return {
    ...changes,
    tables,
    tombstones,
    warnings: [...changes.warnings, ...warnings],
    records: changes.records.filter(isKept),
    tagged: changes.tagged.filter(isKept),
  }
}

/** Whether a row shows what was written: each column that it left has its value. */
function shows({ columns }: StreamDef, { values }: Row, { state, fields }: OwnWrite, timeZone: string): boolean {
  if (state !== 'there') return false
  return columns.every(({ path, type }, index) => {
    const left = path === null ? undefined : valueAt(fields, path)
    if (left === undefined) return true
    const converted = convertValue(type, left, timeZone)
    return !converted.ok || converted.text === values[index]
  })
}

/** Whether a key lies in the scope of a complete answer. */
const isWithin = ({ key }: StreamDef, parts: readonly string[], { columns, values }: Scope): boolean =>
  columns.every((column, index) => parts[key.indexOf(column)] === values[index])
