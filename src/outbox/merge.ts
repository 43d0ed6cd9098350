// The three-way merge of an update. Pure.
//
// The API has no versions, so three values decide about each field of a change:
//   base     what the editor saw: the mirror at the time of enqueue, overlaid with the results of their own earlier changes
//   local    the value they want
//   remote   the value the API shows now
//
//   changed since base             outcome
//   neither, or only local         local is applied
//   only remote                    remote is kept: the editor only repeats what they saw
//   both, to the same value        local is applied
//   both, differently              conflict, unless the remote is the editor's own, which the mirror does not show: local is applied; or
//                                  `onConflict` decides: local_wins applies local, remote_wins keeps remote
//
// A field whose base is unknown takes any remote value for it: local is applied.
//
// An example, with `onConflict: fail`:
//   field          base    local   remote   outcome
//   status         PENDING VALIDATED PENDING   applied: VALIDATED
//   orderLink      a       a       b        kept: b, and the change gets a warning
//   contractLink   a       b       b        applied: b
//   rentalPrice    100     90      95       conflict {rentalPrice: {base: 100, local: 90, remote: 95}}
// A single conflict makes the change one: none of it is sent until an operator decides. If they take local, 95 becomes the
// base, and the same merge applies 90. If they take remote, rentalPrice is withheld and the others are sent.
//
// values.ts defines which values are equal: 10 and "10.00", a country and its code.

import type { Json, JsonObject } from '../api/wire/json.ts'
import type { BodyField } from '../catalog/types.ts'
import { readValue, sameValue, writeShape } from './values.ts'

export type OnConflict = 'fail' | 'local_wins' | 'remote_wins'

/** The three values of a field that both sides changed. */
export type Conflict = Readonly<Record<string, { readonly base: Json; readonly local: Json; readonly remote: Json }>>

type MergeInput = {
  /** The operation's writable fields. */
  readonly fields: readonly BodyField[]
  /** Fields as the editor saw them. The base of a missing field is unknown, so any remote value is accepted as base. */
  readonly base: Readonly<JsonObject>
  /** Fields of the change: absent leaves, null clears. */
  readonly local: Readonly<JsonObject>
  /** The record as the API shows it now. */
  readonly remote: Json
  /** What the editor's own earlier changes left and the mirror has not shown since: a remote value like it is nobody else's. */
  readonly own: Readonly<JsonObject>
  readonly onConflict: OnConflict
}

type Merged =
  | {
      readonly kind: 'merged'
      /** Fields of the change to apply. */
      readonly apply: JsonObject
      /** Fields of the change that give way to the remote value. */
      readonly kept: readonly string[]
    }
  | { readonly kind: 'conflict'; readonly conflict: Conflict }

type Side = 'local' | 'remote' | 'both-changed'

function sideOf(field: BodyField, base: Json | undefined, local: Json, remote: Json): Side {
  if (sameValue(field, local, remote)) return 'local'
  if (base === undefined || sameValue(field, base, remote)) return 'local'
  return sameValue(field, base, local) ? 'remote' : 'both-changed'
}

/** Merges a change into the present record. A field that both sides changed, differently, is a conflict unless `onConflict` decides. */
export function mergeChange(input: MergeInput): Merged {
  const apply: JsonObject = {}
  const kept: string[] = []
  const conflict: Record<string, { base: Json; local: Json; remote: Json }> = {}
  for (const field of input.fields) {
    const local = input.local[field.name]
    if (local === undefined) continue
    const base = Object.hasOwn(input.base, field.name) ? input.base[field.name] : undefined
    const remote = readValue(field, input.remote)
    const isOwn = Object.hasOwn(input.own, field.name) && sameValue(field, input.own[field.name], remote)
    const known = sideOf(field, base, local, remote)
    const side = known === 'both-changed' && isOwn ? 'local' : known
    if (side === 'local' || (side === 'both-changed' && input.onConflict === 'local_wins')) apply[field.name] = local
    else if (side === 'remote' || input.onConflict === 'remote_wins') kept.push(field.name)
    else conflict[field.name] = { base: writeShape(field, base ?? null), local, remote: writeShape(field, remote) }
  }
  return Object.keys(conflict).length === 0 ? { kind: 'merged', apply, kept } : { kind: 'conflict', conflict }
}

/** The base of a change: what the editor saw, overlaid in order with the results of the editor's earlier changes. */
export function overlayBase(base: Readonly<JsonObject>, left: readonly Readonly<JsonObject>[]): JsonObject {
  return Object.assign({}, base, ...left) as JsonObject
}
