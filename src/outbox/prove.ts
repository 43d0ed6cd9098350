// Looks at the API to find out whether a write took effect: one read, then the decision of proof.ts.

import { type Json, type JsonObject, textOf } from '../api/wire/json.ts'
import type { Change, Proof } from './change.ts'
import type { PushContext } from './context.ts'
import { proofKind } from './operations.ts'
import {
  proveAddition,
  proveAssignment,
  proveDocument,
  proveRemoval,
  proveRental,
  proveUpdate,
  proveUser,
  type Verdict,
} from './proof.ts'
import {
  type Params,
  readCollection,
  readHolder,
  readNewestRentals,
  readRecord,
  readUsersLike,
  type Seen,
} from './reads.ts'
import { answered } from './rows.ts'

/** A write that left, or may have left. */
export type Sent = {
  readonly params: Params
  readonly body: JsonObject
  readonly proof: Proof
}

/** The verdict, and what was seen for it where that was one record. */
export type Proven = { readonly verdict: Verdict; readonly seen: Seen | null }

/** What was found in a list is as new as the list. */
function fromList(verdict: Verdict, readAt: Date, source: string): Proven {
  return { verdict, seen: verdict.kind === 'took' ? answered(verdict.record, readAt, source) : null }
}

const cannotLook = (why: string): Verdict => ({ kind: 'unclear', why, candidates: [] })

async function lookInList(context: PushContext, change: Change, sent: Sent, signal: AbortSignal): Promise<Proven> {
  const { write } = change
  const readAt = context.clock.now()
  const knownIds = new Set(sent.proof.ids ?? [])
  const kind = proofKind(write)
  if (kind === 'rental') {
    const now = await readNewestRentals(context, String(textOf(sent.body.resourceId)), signal)
    const referenceId = String(textOf(sent.body.referenceId))
    const trace = { referenceId, departure: sent.proof.departure ?? null, knownIds }
    return fromList(proveRental(trace, now), readAt, 'GET /v3/rentals')
  }
  if (kind === 'user') {
    const now = sent.proof.ids === undefined ? null : await readUsersLike(context, sent.body, signal)
    if (now === null)
      return { verdict: cannotLook('Neither e-mail nor name was given by which the user could be found.'), seen: null }
    return fromList(proveUser(sent.body, knownIds, now), readAt, 'GET /v3/users')
  }
  const now = await readCollection(context, write, sent.params, signal)
  if (now === null) return { verdict: { kind: 'gone' }, seen: null }
  return fromList(proveAddition(write, sent.body, knownIds, now), readAt, write.endpoint.replace('POST', 'GET'))
}

async function lookAtRecord(context: PushContext, change: Change, sent: Sent, signal: AbortSignal): Promise<Proven> {
  const { write } = change
  const kind = proofKind(write)
  if (kind === 'assignment') {
    const seen = await readHolder(context, write, sent.params, signal)
    const [field] = write.body
    if (field === undefined) throw new Error(`${write.operation} has no field.`)
    return { verdict: proveAssignment(field, sent.body, seen.record), seen }
  }
  const seen = await readRecord(context, write, sent.params, signal)
  const before: Json = sent.proof.before ?? null
  if (kind === 'update') return { verdict: proveUpdate(write, sent.body, before, seen.exact), seen }
  if (kind === 'removal') return { verdict: proveRemoval(seen.record), seen: null }
  return { verdict: proveDocument(write, sent.body, seen.record), seen }
}

/** Finds out whether a write took effect. @throws ApiError when the API can't be read. */
export function proveChange(context: PushContext, change: Change, sent: Sent, signal: AbortSignal): Promise<Proven> {
  const kind = proofKind(change.write)
  const inList = kind === 'rental' || kind === 'user' || kind === 'addition'
  return (inList ? lookInList : lookAtRecord)(context, change, sent, signal)
}
