// What is written to the mirror, as values: rows, the scope a complete answer replaces, tombstones, and what came of it.

import type { StreamDef } from '../catalog/types.ts'
import { isStubSource, stubSource } from '../database/sql.ts'

/** One record as a row of its table; every value in Postgres's text form. */
export type Row = {
  /** Values of the key columns, in key order. */
  readonly key: readonly string[]
  /** One value per column of the catalog, in its order. */
  readonly values: readonly (string | null)[]
  /** The record as received, JSON text. */
  readonly payload: string
}

/** A row with its own reading time or source, where they differ from its table's. */
export type SourcedRow = Row & { readonly readAt?: Date; readonly source?: string }

/**
 * Live rows that a complete answer replaces: those with these column values and, where `from` is given, whose column
 * lies between `value` and `to`, both included. Rows missing from the answer become tombstones.
 */
export type Scope = {
  readonly columns: readonly string[]
  readonly values: readonly string[]
  readonly from?: { readonly column: string; readonly value: string; readonly to: string }
}

/**
 * Rows of one stream. `record`: an authoritative read. `stub`: known only from inside another record; inserts what is
 * unknown, refreshes older stubs, never touches a record or a tombstone. The source of a stub names the place after a
 * `#`: `GET /v3/rentals#user`.
 */
export type TableWrite = {
  readonly stream: StreamDef
  /** The endpoint that answered, e.g. `GET /v3/rentals`. */
  readonly source: string
  /** Database clock when the request started. */
  readonly readAt: Date
  readonly rows: readonly SourcedRow[]
  readonly mode: 'record' | 'stub'
  readonly replace?: readonly Scope[]
  /** None of the keys had a row a moment ago: the rows may be inserted directly. */
  readonly newKeys?: boolean
}

/** Values for the columns of `stream.filledBy`, on live rows that exist. */
export type FilledWrite = {
  readonly stream: StreamDef
  readonly readAt: Date
  /** Only where the first of the columns is empty. */
  readonly onlyEmpty?: boolean
  readonly rows: readonly {
    readonly key: readonly string[]
    readonly values: Readonly<Record<string, string | null>>
  }[]
}

/** Records that are gone upstream; their descendants go with them. */
export type Tombstones = {
  readonly stream: StreamDef
  readonly keys: readonly (readonly string[])[]
  /** The endpoint that showed this. */
  readonly source: string
  readonly readAt: Date
  /** They are missing from complete answers: `onLost` decides. */
  readonly lost?: true
}

/** Rows that became tombstones because complete answers did not bring them. */
export type LostRows = { readonly stream: StreamDef; readonly keys: readonly (readonly string[])[] }

/** Everything one transaction writes to the mirror. */
export type MirrorWrites = {
  readonly tables?: readonly TableWrite[]
  readonly filled?: readonly FilledWrite[]
  readonly tombstones?: readonly Tombstones[]
  /** Called, in the transaction, with rows missing from complete answers; if it throws, the writing ends. */
  readonly onLost?: (lost: LostRows) => Promise<void>
}

/** What happened to the rows of one stream. A revived tombstone counts as inserted. */
export type WriteCounts = {
  readonly inserted: number
  readonly updated: number
  readonly unchanged: number
  readonly deleted: number
}

/** What a transaction wrote. */
export type Written = {
  /** By stream name. */
  readonly counts: ReadonlyMap<string, WriteCounts>
  /** Deleted records, whose children were therefore skipped: by stream name, their keys as text. */
  readonly gone: ReadonlyMap<string, ReadonlySet<string>>
}

/** Where a row came from; a stub is always marked as one. */
export function sourceOfRow(table: TableWrite, row: SourcedRow): string {
  const source = row.source ?? table.source
  return table.mode === 'stub' && !isStubSource(source) ? stubSource(source, '') : source
}
