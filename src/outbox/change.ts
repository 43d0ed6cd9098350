// A change as the pusher holds it: the row of outbox.queue, parsed without loss.

import { isObject, type Json, type JsonObject, parseExact, stringifyJson, textOf } from '../api/wire/json.ts'
import type { BodyField, WriteDef } from '../catalog/types.ts'
import { writeNamed } from '../catalog/writes.ts'
import { readJson } from '../json/lossless.ts'
import type { OnConflict } from './merge.ts'
import type { Status } from './states.ts'

/** The `id` that each earlier change created, by the id of the change. */
type Results = ReadonlyMap<string, Json>

/** The state before a write was dispatched. After a lost answer it shows whether the write took effect. */
export type Evidence = {
  /** For updates: the writable fields of the record, exact. */
  readonly before?: Json
  /** The exact body that was sent: for updates, and if the stored request hides personal values. */
  readonly sent?: JsonObject
  /** Ids of the collection, or of records like the created one. */
  readonly ids?: readonly string[]
  /** The look-up of `ids` was incomplete. */
  readonly partial?: true
  /** `rental.create`: departure of the slot, if the mirror has it. */
  readonly departure?: string | null
  /** The outcome of an earlier attempt was unknown. Later attempts are compared with the same ids. */
  readonly ambiguous?: true
  /** The API answered with success, but did not name the record that it created. */
  readonly answered?: true
  /** The API answered with an error: the attempt has ended, but its effect may not show yet. */
  readonly finished?: true
  /** The error by which it refused a repeat. */
  readonly refused?: string
  /** The history of the database (sync.history) in which the change was queued, if it ended before the claim: it may have been sent there. */
  readonly former?: string
  /** No complete sync had ended in that history, so its mirror may have lacked records. */
  readonly unread?: true
  /** Its idempotency key. The API answers a repeated request with the same key as the first. */
  readonly key?: string
}

type SentRequest = { readonly method: string; readonly path: string; readonly body?: Json }

export type Change = {
  readonly id: string
  readonly operation: string
  readonly write: WriteDef
  readonly status: Status
  readonly target: JsonObject
  readonly body: JsonObject
  readonly aggregate: string
  readonly enqueuedBy: string
  /** When its base was seen: at enqueue, or when an operator decided for local. */
  readonly seenAt: Date
  /** The snapshot of transactions at `seenAt`; null for changes from before it was stored. */
  readonly seenSnapshot: string | null
  readonly attempts: number
  readonly verifications: number
  readonly fence: string
  readonly onConflict: OnConflict
  readonly base: JsonObject
  /** Fields of `options.base`. */
  readonly givenBase: readonly string[]
  /** `options.base` is null: the change overwrites any present value. */
  readonly overwrites: boolean
  /** It had ended before, and its personal values were hashed or dropped. */
  readonly veiled: boolean
  readonly keptRemote: readonly string[]
  readonly leftOut: readonly string[]
  readonly evidence: Evidence
  readonly request: SentRequest | null
  readonly dispatched: boolean
  readonly sentAt: Date | null
  readonly deadline: Date | null
  /** Nothing is sent from then on. */
  readonly expiresAt: Date | null
  readonly warning: string | null
  /** Results of the changes this one refers to. */
  readonly results: Results
}

/** A change as {@link changeColumns} select it. */
export type ChangeRow = Omit<Change, 'write' | 'body' | 'evidence' | 'results'> & {
  readonly body: JsonObject | null
  readonly proof: string | null
  readonly results: JsonObject | null
}

export const changeColumns = `q.id, q.operation, q.status, q.target, q.body, q.aggregate, q.enqueued_by as "enqueuedBy",
  greatest(q.enqueued_at, q.seen_at) as "seenAt", q.seen_snapshot::text as "seenSnapshot", q.attempts, q.looks as verifications,
  q.fence, q.on_conflict as "onConflict", q.base,
  array(select jsonb_object_keys(coalesce(nullif(q.options->'base', 'null'), '{}'))) as "givenBase",
  q.options->'base' is not distinct from 'null' as overwrites, q.veiled, q.kept_remote as "keptRemote", q.left_out as "leftOut",
  q.proof::text, q.request, q.departed as dispatched, q.sent_at as "sentAt", q.deadline, q.expires_at as "expiresAt", q.warning,
  outbox.results_of(q.id) as results`

/** Evidence for outbox.queue.proof. Exact parts are JSON text, because jsonb holds neither NUL nor halves of surrogate pairs. */
export function storedEvidence({ before, sent, ...rest }: Evidence): Json {
  const isExact = before !== undefined || sent !== undefined
  return { ...(rest as JsonObject), ...(isExact && { exact: stringifyJson({ before, sent }) }) }
}

/** Reads the evidence in outbox.queue.proof. */
export function evidenceIn(text: string | null): Evidence {
  const { exact, ...rest } = readJson(text ?? '{}') as JsonObject
  return { ...rest, ...(typeof exact === 'string' ? (parseExact(exact) as JsonObject) : {}) }
}

export const toChange = ({ body, proof, results, ...row }: ChangeRow): Change => ({
  ...row,
  write: writeNamed(row.operation),
  body: body ?? {},
  evidence: evidenceIn(proof),
  results: new Map(Object.entries(results ?? {})),
})

/** The number of the change that a value refers to (`{"change": 17}`); null for an ordinary value. */
export function referredChange(value: Json | undefined): string | null {
  return isObject(value) ? (textOf(value.change) ?? null) : null
}

/** Replaces references by results; a text field gets the id as text. @returns null when a result is lacking. */
export function resolveFields(
  value: Readonly<JsonObject>,
  fields: readonly BodyField[],
  results: Results,
): JsonObject | null {
  const resolved: JsonObject = {}
  for (const [name, given] of Object.entries(value)) {
    const change = referredChange(given)
    if (change === null) {
      resolved[name] = given
      continue
    }
    const result = results.get(change)
    if (result === undefined || result === null) return null
    const asText = fields.find((field) => field.name === name)?.type === 'string'
    resolved[name] = asText ? String(textOf(result)) : result
  }
  return resolved
}

/** The path parameters of a change as text, references resolved. @returns null when a result is lacking. */
export function resolveTarget(target: Readonly<JsonObject>, results: Results): Readonly<Record<string, string>> | null {
  const resolved = resolveFields(target, [], results)
  if (resolved === null) return null
  return Object.fromEntries(Object.entries(resolved).map(([name, value]) => [name, String(textOf(value))]))
}
