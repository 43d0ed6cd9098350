// The interface of a kind of write, which the modules beside this file implement. The loop (pusher, deliver, reconcile,
// settle) takes every change through the same steps and asks the change's kind for the differences:
//
//   prepare   the request, and the evidence: the state before it is dispatched. Or the outcome, where nothing is sent.
//   verify    after a lost answer: reads the present state
//   decide    from the request, the evidence and the present state: the verdict. Pure.
//   finish    it took effect: reads back where the answer is incomplete; the new content of mirror and change

import type { Json, JsonObject } from '../../api/wire/json.ts'
import type { WriteDef } from '../../catalog/types.ts'
import type { ApiError } from '../../errors.ts'
import type { Change, Evidence } from '../change.ts'
import type { PushContext } from '../context.ts'
import type { Conflict } from '../merge.ts'
import type { Outcome, Response } from '../outcome.ts'
import type { Params, Seen } from '../reads.ts'

/**
 * A claimed change in the hands of a pusher. `signal` stops reads, never a request that writes. `startedAt` is before every
 * read: what a read does not show was absent then, however long its answer takes. `knownMs`: for how long this process had known
 * of the attempt or its answer by then (`ShowDelay`).
 */
export type Delivery = {
  readonly context: PushContext
  readonly change: Change
  readonly signal: AbortSignal
  readonly startedAt: Date
  readonly knownMs: number
}

/** The input of a change, with references replaced by results. */
export type Given = { readonly params: Params; readonly fields: JsonObject }

/** What is sent, or was sent by an attempt whose answer is unknown. */
export type Sent = {
  readonly params: Params
  /** Empty for removals, which have none. */
  readonly body: JsonObject
  /** The fields of the body that come from the change, not from the present record. */
  readonly applied: JsonObject
  readonly evidence: Evidence
  readonly warnings: readonly string[]
}

export type Prepared = Sent & { readonly kind: 'prepared' }

/** The record, or the records that it could be, after a lost answer; null: it cannot be searched. */
export type Found = readonly Seen[] | null

export type Verdict =
  /** It took effect; `seen`: the record; null: it is gone as intended. */
  | { readonly kind: 'took'; readonly seen: Seen | null }
  /** It did not. */
  | { readonly kind: 'not' }
  /** The record it was meant for is gone. */
  | { readonly kind: 'gone' }
  /** Something else is there in its place. */
  | { readonly kind: 'conflict'; readonly conflict: Conflict }
  /** Unknown: an operator decides, with these records to compare. `mayClear`: the API may still show what it made. */
  | {
      readonly kind: 'unclear'
      readonly why: string
      readonly candidates: readonly Json[]
      readonly mayClear?: true
    }

/** The evidence that a write took effect: an answer, a record that was read, or both. */
export type Effect = { readonly response: Response | null; readonly seen: Seen | null }

export type Kind = {
  /** It creates a record, whose id is a result for later changes. Sent twice, it would create two. */
  readonly makesRecord?: true
  /** An operator may send it over the present values instead. */
  readonly replaces?: true
  /** It expires upstream: after 15 minutes its absence does not prove that it never existed. */
  readonly expires?: true
  /** @throws ApiError if the present state cannot be read */
  prepare(delivery: Delivery, given: Given): Promise<Prepared | Outcome>
  /** What another history of the database may have sent; by default as `prepare`. @throws ApiError if the present state cannot be read */
  formerly?(delivery: Delivery, given: Given): Promise<Sent | Outcome>
  /** @throws ApiError when the API can't be read. */
  verify(delivery: Delivery, sent: Sent): Promise<Found>
  /** `timeZone`: that of date-times without offset. */
  decide(write: WriteDef, sent: Sent, found: Found, timeZone: string): Verdict
  /** Never throws an ApiError: reading back may fail. */
  finish(delivery: Delivery, sent: Sent, effect: Effect): Promise<Outcome>
  /** The record as the API shows it; absent for kinds without one. */
  readBack?(delivery: Delivery, params: Params): Promise<Seen | null>
  /** The outcome of a refusal that is no failure; null: it is one. */
  refused?(delivery: Delivery, sent: Sent, error: ApiError): Promise<Outcome | null>
}
