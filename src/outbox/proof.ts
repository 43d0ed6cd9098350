// Did a write whose answer was lost take effect? One decision per kind of operation, from what was there before, what was
// sent, and what is there now. Pure.

import { get, isObject, type Json, type JsonObject, textOf } from '../api/wire/json.ts'
import type { BodyField, WriteDef } from '../catalog/types.ts'
import type { Conflict } from './merge.ts'
import { readValue, sameValue, writeShape } from './values.ts'

export type Verdict =
  /** It took effect; `record` is what there is now (null: it is gone, as wished). */
  | { readonly kind: 'took'; readonly record: Json; readonly ignored: readonly string[] }
  /** It did not. */
  | { readonly kind: 'not' }
  /** The record it was meant for is gone. */
  | { readonly kind: 'gone' }
  /** Something else is there in its place. */
  | { readonly kind: 'conflict'; readonly conflict: Conflict }
  /** It can't be proven: a person decides, with these records to look at. */
  | { readonly kind: 'unclear'; readonly why: string; readonly candidates: readonly Json[] }

/** The id of a record as text; undefined where it has none. */
export const idOf = (record: Json | undefined): string | undefined => textOf(get(record, 'id'))

const took = (record: Json, ignored: readonly string[] = []): Verdict => ({ kind: 'took', record, ignored })
const not: Verdict = { kind: 'not' }

const observable = (write: WriteDef, sent: Readonly<JsonObject>): readonly BodyField[] =>
  write.body.filter((field) => field.readPath !== null && sent[field.name] !== undefined)

/**
 * An update: each field that was to change shows either what was sent or what was there before. All as before: it did
 * not take effect. Some as sent: it did, and the API ignored the rest. Any third value: someone else was there too.
 * @param before the record as read before sending; null where none was read
 * @param now the record as it is; null: gone
 */
export function proveUpdate(write: WriteDef, sent: Readonly<JsonObject>, before: Json, now: Json): Verdict {
  if (now === null) return { kind: 'gone' }
  const changing = observable(write, sent).filter(
    (field) => !sameValue(field, sent[field.name], readValue(field, before)),
  )
  const asSent = changing.filter((field) => sameValue(field, sent[field.name], readValue(field, now)))
  const rest = changing.filter((field) => !asSent.includes(field))
  const foreign = rest.filter((field) => !sameValue(field, readValue(field, before), readValue(field, now)))
  if (foreign.length > 0) {
    const names = foreign.map((field) => field.name).join(', ')
    return { kind: 'unclear', why: `${names}: neither what was sent nor what was there before.`, candidates: [now] }
  }
  if (changing.length > 0 && asSent.length === 0) return not
  return took(
    now,
    rest.map((field) => field.name),
  )
}

/** A delete or remove: gone is gone, whoever did it. */
export const proveRemoval = (now: Json): Verdict => (now === null ? took(null) : not)

/** Whether nothing the record shows contradicts what was sent. */
function holdsContent(write: WriteDef, sent: Readonly<JsonObject>, record: Json): boolean {
  return observable(write, sent).every((field) => {
    const shown = get(record, field.readPath ?? field.name)
    return shown === undefined || sameValue(field, sent[field.name], shown)
  })
}

function single(candidates: readonly Json[], what: string): Verdict {
  const [first] = candidates
  if (first === undefined) return not
  if (candidates.length === 1) return took(first)
  const ids = candidates.map(idOf).join(', ')
  return { kind: 'unclear', why: `${candidates.length} ${what} could be this one: ${ids}.`, candidates }
}

const isNew = (record: Json, knownIds: ReadonlySet<string>): boolean => {
  const id = idOf(record)
  return id !== undefined && !knownIds.has(id)
}

/** An add to a collection: exactly one new id with this content. */
export function proveAddition(
  write: WriteDef,
  sent: Readonly<JsonObject>,
  knownIds: ReadonlySet<string>,
  now: readonly Json[],
): Verdict {
  return single(
    now.filter((record) => isNew(record, knownIds) && holdsContent(write, sent, record)),
    'new records',
  )
}

const sameText = (left: Json | undefined, right: Json | undefined): boolean =>
  (textOf(left)?.trim().toLowerCase() ?? '') === (textOf(right)?.trim().toLowerCase() ?? '')

/** `user.create`: one user with this e-mail and name that was not there before. */
export function proveUser(sent: Readonly<JsonObject>, knownIds: ReadonlySet<string>, now: readonly Json[]): Verdict {
  const alike = (record: Json): boolean =>
    (['email', 'firstName', 'lastName'] as const).every((name) => sameText(sent[name], get(record, name)))
  return single(
    now.filter((record) => isNew(record, knownIds) && alike(record)),
    'users',
  )
}

export type RentalTrace = {
  /** The reference that was sent: ours, unless the partner gave one. */
  readonly referenceId: string
  /** Departure of the slot, ISO; null where the slot is not mirrored. */
  readonly departure: string | null
  readonly knownIds: ReadonlySet<string>
}

/** `rental.create`: one rental with this reference and departure that was not there before. */
export function proveRental(trace: RentalTrace, now: readonly Json[]): Verdict {
  const departs = (record: Json): boolean => {
    const shown = textOf(get(record, 'departureDatetime'))
    return trace.departure === null || shown === undefined || Date.parse(shown) === Date.parse(trace.departure)
  }
  return single(
    now.filter(
      (record) =>
        isNew(record, trace.knownIds) && textOf(get(record, 'referenceId')) === trace.referenceId && departs(record),
    ),
    'rentals',
  )
}

/** `rental_user.assign`: the rental as it is shows the user, none, or another one. */
export function proveAssignment(field: BodyField, sent: Readonly<JsonObject>, rental: Json): Verdict {
  if (rental === null) return { kind: 'gone' }
  const attached = readValue(field, rental)
  if (attached === null) return not
  const wished = sent[field.name] ?? null
  if (sameValue(field, wished, attached)) return took(rental)
  return { kind: 'conflict', conflict: { [field.name]: { base: null, local: wished, remote: attached } } }
}

/** A document that was added: absent, as sent, or another one. */
export function proveDocument(write: WriteDef, sent: Readonly<JsonObject>, now: Json): Verdict {
  if (!isObject(now)) return not
  const differing = observable(write, sent).filter(
    (field) => !sameValue(field, sent[field.name], readValue(field, now)),
  )
  if (differing.length === 0) return took(now)
  return {
    kind: 'conflict',
    conflict: Object.fromEntries(
      differing.map((field) => [
        field.name,
        { base: null, local: sent[field.name] ?? null, remote: writeShape(field, readValue(field, now)) },
      ]),
    ),
  }
}
