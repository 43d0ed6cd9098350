// Before a change leaves: references resolved, the present record read and merged, what will be sent and what is there
// now written down. Nothing is sent here.

import { asRead, isObject, type Json, type JsonObject, parseJson, textOf } from '../api/wire/json.ts'
import type { Queryable } from '../database/sql.ts'
import { keyText } from '../state/records.ts'
import {
  creationBody,
  type Installation,
  numericReference,
  ownReference,
  resolveFields,
  resolveTarget,
  updateBody,
} from './body.ts'
import { type Change, type Proof, storedProof } from './change.ts'
import { leaseLost } from './claim.ts'
import type { PushContext } from './context.ts'
import { garbledMessage, lostFields, lostMessage, unseenFields, unseenWarnings } from './exact.ts'
import { nothingToSend } from './finish.ts'
import { mergeChange, overlayBase } from './merge.ts'
import { mirrorKey, proofKind } from './operations.ts'
import { gone, jsonParameter, type Outcome } from './outcome.ts'
import {
  idsOf,
  type Params,
  readCollection,
  readNewestRentals,
  readRecord,
  readUsersLike,
  slotDeparture,
} from './reads.ts'
import { readValue } from './values.ts'

export type Prepared = {
  readonly kind: 'prepared'
  readonly params: Params
  readonly body: JsonObject | undefined
  /** Fields of the change that are applied, for updates. */
  readonly applied: JsonObject | null
  readonly proof: Proof
  readonly recordKey: readonly string[] | null
  readonly warnings: readonly string[]
}

/**
 * What the editor saw, overlaid by what the same role's earlier changes of this record left since: those that were done
 * later, and those whose transaction had not been committed when the editor looked. No transaction takes an hour, and
 * beyond that, numbers of transactions may be those of a server this database was restored from.
 */
async function baseOf(db: Queryable, change: Change, recordKey: string): Promise<JsonObject> {
  const { rows } = await db.query<{ left_behind: string }>(
    `select q.left_behind::text from outbox.queue q join outbox.operations o using (operation)
     where q.aggregate = $1 and q.id < $2 and q.status = 'done' and q.enqueued_by = $3
       and (q.settled_at > $4 or (q.settled_at > $4 - interval '1 hour'
         and not pg_visible_in_snapshot(q.settled_xid, $7::pg_snapshot)))
       and q.record_key = $5 and o.stream = $6 and q.left_behind is not null
     order by q.id`,
    [
      change.aggregate,
      change.id,
      change.enqueuedBy,
      change.seenAt,
      recordKey,
      change.write.stream,
      change.seenSnapshot,
    ],
  )
  return overlayBase(
    change.base,
    rows.map((row) => parseObject(row.left_behind)),
  )
}

function parseObject(text: string): JsonObject {
  const value = parseJson(text).value
  return isObject(value) ? value : {}
}

/** The writable fields of a record: all that a proof needs of it. */
function writableOnly(change: Change, record: Json): Json {
  return Object.fromEntries(change.write.body.map((field) => [field.name, readValue(field, record)]))
}

async function prepareUpdate(
  context: PushContext,
  change: Change,
  params: Params,
  local: JsonObject,
  signal: AbortSignal,
): Promise<Prepared | Outcome> {
  const { write } = change
  const seen = await readRecord(context, write, params, signal)
  const { record } = seen
  if (record === null) return gone(change)
  const recordKey = mirrorKey(write, params, null)
  const base = await baseOf(context.database.pool, change, keyText(recordKey ?? []))
  const unseen = unseenFields(write.body, local, seen)
  if (unseen.garbled.length > 0) return { kind: 'failed', error: garbledMessage(unseen.garbled), response: null }
  const withheld = [...change.keptRemote, ...unseen.echoed]
  const wished = Object.fromEntries(Object.entries(local).filter(([name]) => !withheld.includes(name)))
  const merged = mergeChange({ fields: write.body, base, local: wished, remote: record, onConflict: change.onConflict })
  if (merged.kind === 'conflict') return { kind: 'conflict', conflict: merged.conflict }
  const kept = [...change.keptRemote, ...merged.kept]
  const warnings = [
    ...(kept.length === 0 ? [] : [`Kept as changed upstream, not sent: ${kept.join(', ')}.`]),
    ...unseenWarnings(unseen, merged.apply),
  ]
  if (Object.keys(merged.apply).length === 0) return nothingToSend(context, change, params, seen, warnings)
  const body = updateBody(write, merged.apply, seen.exact, change.leftOut)
  const lost = lostFields(body)
  if (lost.length > 0) return { kind: 'failed', error: lostMessage(change.id, lost), response: null }
  const proof: Proof = { before: writableOnly(change, seen.exact), sent: body }
  return { kind: 'prepared', params, body, applied: merged.apply, proof, recordKey, warnings }
}

async function prepareRental(
  context: PushContext,
  change: Change,
  local: JsonObject,
  signal: AbortSignal,
): Promise<Prepared> {
  const numeric = context.settings.api.referenceAsNumber
  const reference = textOf(local.referenceId) ?? ownReference(await installation(context), change.id, numeric)
  const resourceId = String(textOf(local.resourceId))
  const created = creationBody(change.write, { ...local, referenceId: reference })
  const body = numeric ? numericReference(created) : created
  const [rentals, departure] = await Promise.all([
    readNewestRentals(context, resourceId, signal),
    slotDeparture(context, resourceId, String(textOf(local.slotId))),
  ])
  const proof: Proof = { ids: idsOf(rentals), departure }
  return { kind: 'prepared', params: {}, body, applied: null, proof, recordKey: null, warnings: [] }
}

async function installation(context: PushContext): Promise<Installation> {
  const { rows } = await context.database.pool.query<{ id: string; number: string }>(
    `select id, number from outbox.installation`,
  )
  return { id: String(rows[0]?.id), number: Number(rows[0]?.number) }
}

/**
 * Makes a change ready to leave.
 * @returns what to send, or the outcome if it is not to be sent (conflict, gone).
 * @throws ApiError when what is there now can't be read.
 */
export async function prepareChange(
  context: PushContext,
  change: Change,
  signal: AbortSignal,
): Promise<Prepared | Outcome> {
  const { write } = change
  const params = resolveTarget(change.target, change.results)
  const local = resolveFields(change.body, write.body, change.results)
  if (params === null || local === null)
    return { kind: 'failed', error: 'A change this one refers to has no result that could stand here.', response: null }

  const kind = proofKind(write)
  if (kind === 'update') return await prepareUpdate(context, change, params, local, signal)
  if (kind === 'rental') return await prepareRental(context, change, local, signal)
  const recordKey = mirrorKey(write, params, null)
  const ready = { kind: 'prepared', params, applied: null, recordKey, warnings: [] } as const
  if (kind === 'removal') return { ...ready, body: undefined, proof: {} }
  const body = creationBody(write, local)
  if (kind === 'assignment' || kind === 'document') return { ...ready, body, proof: {} }
  if (kind === 'user') {
    const alike = await readUsersLike(context, body, signal)
    return { ...ready, body, proof: alike === null ? {} : { ids: idsOf(alike) } }
  }
  const items = await readCollection(context, write, params, signal)
  return items === null ? gone(change) : { ...ready, body, proof: { ids: idsOf(items) } }
}

/** The path of a request with its parameters, as outbox.changes shows it. */
export const shownPath = (endpoint: string, params: Params): string =>
  endpoint
    .slice(endpoint.indexOf(' ') + 1)
    .replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))

/**
 * Commits what will be sent and what was there before; the request may leave only after this.
 * @returns `sent_at`.
 * @throws BoatMirrorError LEASE_LOST when another pusher took the change over.
 */
export async function departChange(db: Queryable, change: Change, prepared: Prepared): Promise<Date> {
  const [method = ''] = change.write.endpoint.split(' ')
  const path = shownPath(change.write.endpoint, prepared.params)
  const request = { method, path, ...(prepared.body === undefined ? {} : { body: asRead(prepared.body) }) }
  const { rows } = await db.query<{ sent_at: Date }>(
    `update outbox.queue set departed = true, sent_at = clock_timestamp(), request = $3::jsonb, proof = $4::jsonb,
       record_key = $5, warning = $6, looks = 0, error = null, response = null, conflict = null
     where id = $1 and fence = $2 and status = 'sending' and lease_until > clock_timestamp() returning sent_at`,
    [
      change.id,
      change.fence,
      jsonParameter(request),
      jsonParameter(storedProof(prepared.proof)),
      prepared.recordKey === null ? null : keyText(prepared.recordKey),
      prepared.warnings.join(' ') || null,
    ],
  )
  const sentAt = rows[0]?.sent_at
  if (sentAt === undefined) throw leaseLost(change)
  return sentAt
}
