// What was read and is to be written: collected per page or per detail, merged into one transaction. Pure.

import { type Json, stringifyJson } from '../api/wire/json.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { FilledWrite, TableWrite, Tombstones } from '../mirror/rows.ts'
import type { RecordState } from '../state/records.ts'
import type { RunCounts } from '../state/runs.ts'
import type { Embedded, Holder } from './details/embeds.ts'
import { type Projected, projectRecord, type RequestValues } from './project.ts'
import { unknownFields } from './unknown-fields.ts'

/** A record that cannot be mirrored. */
export type BadRecord = {
  readonly stream: string
  readonly key: string
  readonly endpoint: string
  /** JSON text, whole as received. */
  readonly payload: string
  readonly reason: string
  /** What is needed to project it again without asking the API. */
  readonly request: RequestValues
}

export type UnknownField = {
  readonly stream: string
  readonly path: string
  readonly sample: string | null
  readonly times: number
}

export type Work = {
  readonly tables: TableWrite[]
  /** Records whose embedded records become stubs; looked into when the work is committed, where each is needed once. */
  readonly holders: Holder[]
  /** Records of other streams that were answered on their own, and are stubs all the same. */
  readonly embedded: Embedded[]
  readonly filled: FilledWrite[]
  readonly tombstones: Tombstones[]
  readonly records: RecordState[]
  readonly bad: BadRecord[]
  readonly unknown: UnknownField[]
  readonly warnings: string[]
  /** Why something could not be read; the run is then not `done`. */
  readonly problems: string[]
  readonly counts: { -readonly [K in keyof RunCounts]: number }
}

export const emptyWork = (): Work => ({
  tables: [],
  holders: [],
  embedded: [],
  filled: [],
  tombstones: [],
  records: [],
  bad: [],
  unknown: [],
  warnings: [],
  problems: [],
  counts: {
    pages: 0,
    requests: 0,
    retries: 0,
    read: 0,
    inserted: 0,
    updated: 0,
    unchanged: 0,
    deleted: 0,
    quarantined: 0,
    held: 0,
    bytes: 0,
  },
})

/** Adds the second piece of work to the first. */
export function addWork(target: Work, more: Work): void {
  target.tables.push(...more.tables)
  target.holders.push(...more.holders)
  target.embedded.push(...more.embedded)
  target.filled.push(...more.filled)
  target.tombstones.push(...more.tombstones)
  target.records.push(...more.records)
  target.bad.push(...more.bad)
  target.unknown.push(...more.unknown)
  target.warnings.push(...more.warnings)
  target.problems.push(...more.problems)
  for (const name of Object.keys(more.counts) as (keyof RunCounts)[]) target.counts[name] += more.counts[name]
}

/** Counts one answer of the API. */
export function countAnswer(
  work: Work,
  answer: { readonly bytes: number; readonly retries: number; readonly sanitized: number },
): void {
  work.counts.requests += 1 + answer.retries
  work.counts.retries += answer.retries
  work.counts.bytes += answer.bytes
  if (answer.sanitized > 0)
    work.warnings.push(
      'NUL, broken surrogates or bytes that are none of the character set were replaced by U+FFFD: they cannot be stored.',
    )
}

/** Projects a record; a bad one goes to `work.bad`, and unknown fields are noted. `payload`: its JSON text, where that is known. */
export function projectInto(
  work: Work,
  stream: StreamDef,
  record: Json,
  request: RequestValues,
  endpoint: string,
  timeZone: string,
  payload = stringifyJson(record),
): Projected {
  const projected = projectRecord(stream, record, request, timeZone, payload)
  if (!projected.ok) {
    const bad = {
      stream: stream.name,
      key: projected.key,
      endpoint,
      payload,
      reason: projected.reason,
      request,
    }
    work.bad.push(bad)
    return projected
  }
  for (const [path, value] of unknownFields(stream, record))
    work.unknown.push({ stream: stream.name, path, sample: stringifyJson(value).slice(0, 200), times: 1 })
  return projected
}
