// What reading found, as values: each read returns what it found, and one fold makes the change set that one transaction
// writes, or a check compares. Pure.

import { type Json, stringifyJson } from '../api/wire/json.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { RecordState } from '../mirror/records.ts'
import type { FilledWrite, SourcedRow, TableWrite, Tombstones } from '../mirror/rows.ts'
import type { ReadCount } from './due/reads.ts'
import type { BadRecord } from './quarantine.ts'
import { type JsonObject, projectReceived, type RequestValues } from './records/project.ts'
import { kindOf, unshownFields } from './records/unknown-fields.ts'
import type { DetailTags } from './remembered/detail-states.ts'
import type { RunCounts } from './runs/runs.ts'
import type { UnknownField } from './unknown-fields.ts'

/** A record that was read and may have others embedded. */
export type EmbeddingRecord = {
  readonly stream: StreamDef
  readonly record: Json
  readonly endpoint: string
  readonly readAt: Date
}

/** A record of another stream: found inside a record, or answered by a read of something else. */
export type Embedded = {
  readonly stream: StreamDef
  readonly key: readonly string[]
  readonly record: JsonObject
  /** `GET /v3/rentals#departureHarbour.city`. */
  readonly source: string
  readonly readAt: Date
}

/** Rows below some records that would go, and why they may not; null: the end of the run decides. */
export type HeldRows = {
  readonly stream: StreamDef
  readonly keys: readonly (readonly string[])[]
  readonly reason: string | null
}

export type ChangeSet = {
  readonly tables: readonly TableWrite[]
  /** Their embedded records become stubs; looked for when the change set is committed, where each is needed once. */
  readonly embedding: readonly EmbeddingRecord[]
  /** Records of other streams that were answered on their own, and are stubs all the same. */
  readonly embedded: readonly Embedded[]
  readonly filled: readonly FilledWrite[]
  readonly tombstones: readonly Tombstones[]
  readonly records: readonly RecordState[]
  /** Details whose answers came with entity tags. */
  readonly tagged: readonly DetailTags[]
  readonly bad: readonly BadRecord[]
  /** Rows missing from complete answers that are held until an operator decides. */
  readonly held: readonly HeldRows[]
  readonly unknown: readonly UnknownField[]
  /** What came of reads that repeat others. */
  readonly reads: readonly ReadCount[]
  readonly warnings: readonly string[]
  /** Why something could not be read; the run is then not `done`. */
  readonly problems: readonly string[]
  readonly counts: Partial<RunCounts>
}

/** The findings of a read; missing members are empty. */
export type Found = Partial<ChangeSet>

/** A change set without anything. */
export const nothing: ChangeSet = {
  tables: [],
  embedding: [],
  embedded: [],
  filled: [],
  tombstones: [],
  records: [],
  tagged: [],
  bad: [],
  held: [],
  unknown: [],
  reads: [],
  warnings: [],
  problems: [],
  counts: {},
}

type Lists = Omit<ChangeSet, 'counts'>
const listNames = Object.keys(nothing).filter((name) => name !== 'counts') as (keyof Lists)[]

/** Folds what several reads found, in their order, into one change set. Done for each answer: it copies only what is there. */
export function changeSet(found: readonly Found[]): ChangeSet {
  const lists: { -readonly [K in keyof Lists]?: unknown[] } = {}
  const counts: { -readonly [K in keyof RunCounts]?: number } = {}
  for (const each of found) {
    for (const name of listNames) {
      const items = each[name]
      if (items === undefined || items.length === 0) continue
      const all = lists[name] ?? []
      lists[name] = all
      for (const item of items) all.push(item)
    }
    for (const name in each.counts) {
      const count = name as keyof RunCounts
      counts[count] = (counts[count] ?? 0) + (each.counts[count] ?? 0)
    }
  }
  return { ...nothing, ...(lists as Partial<Lists>), counts }
}

/** The cost of an answer of the API, and whether it could be stored unchanged. */
export const answerFound = (answer: {
  readonly bytes: number
  readonly retries: number
  readonly sanitized: number
}): Found => ({
  counts: { requests: 1 + answer.retries, retries: answer.retries, bytes: answer.bytes },
  ...(answer.sanitized > 0 && {
    warnings: [
      'Characters that cannot be stored were replaced by U+FFFD: NUL, broken surrogates, or bytes outside the character set.',
    ],
  }),
})

/** A record as it was received, and what is needed to make a row of it. */
export type Received = {
  readonly stream: StreamDef
  readonly record: Json
  /** Values of columns that are not in the record. */
  readonly request?: RequestValues
  readonly endpoint: string
  /** The endpoint that answered, where it is not that of the table's write. */
  readonly source?: string | undefined
  readonly timeZone: string
  /** The record as JSON text, where that is known already. */
  readonly payload?: string
}

/** Projects a record: its row, or a bad record; and which of its fields no column shows. */
export function projected(received: Received): { readonly row?: SourcedRow; readonly found: Found } {
  const { stream, record, request = {}, endpoint, source, timeZone, payload = stringifyJson(record) } = received
  const result = projectReceived(stream, { record, payload }, request, timeZone)
  if (!result.ok) {
    const { key, reason } = result
    return { found: { bad: [{ stream: stream.name, key, endpoint, payload, reason, request }] } }
  }
  const row = source === undefined ? result.row : { ...result.row, source }
  const { unknown, misshapen } = unshownFields(stream, record)
  if (unknown.size + misshapen.size === 0) return { row, found: nothing }
  return { row, found: unshownFound(stream.name, unknown, misshapen) }
}

type Values = ReadonlyMap<string, Json>

/** Fields that no column shows, as they are listed; of those with another shape the run is warned, too. */
function unshownFound(stream: string, unknown: Values, misshapen: Values): Found {
  const shaped = [...misshapen].map(([path, value]) => [`${path} (as ${kindOf(value)})`, value] as const)
  return {
    unknown: [...unknown, ...shaped].map(([path, value]) => ({
      ...{ stream, path, times: 1 },
      sample: stringifyJson(value).slice(0, 200),
    })),
    warnings: shaped.map(
      ([path]) => `${stream}: ${path} has an unexpected shape, so no column shows it. Its value is in _payload.`,
    ),
  }
}

/** Projects several records; `complete` when each has a row. */
export function projectedAll(received: readonly Received[]): {
  readonly rows: readonly SourcedRow[]
  readonly complete: boolean
  readonly found: Found
} {
  const results = received.map(projected)
  const rows = results.flatMap(({ row }) => row ?? [])
  return { rows, complete: rows.length === received.length, found: changeSet(results.map(({ found }) => found)) }
}
