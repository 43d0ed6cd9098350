// Updates. The API replaces whole records and has no versions. So the record is read, the change is merged into it (merge.ts), and the
// whole is sent and read back.

import { get, isObject, type Json, type JsonObject, parseJson, textOf } from '../../api/wire/json.ts'
import { streamNamed } from '../../catalog/catalog.ts'
import { keyText } from '../../catalog/keys.ts'
import type { BodyField, WriteDef } from '../../catalog/types.ts'
import { hasKey, identifier } from '../../database/sql.ts'
import type { Change } from '../change.ts'
import { isStoredAs } from '../likeness.ts'
import { mergeChange, overlayBase } from '../merge.ts'
import { errorText, leftBehind, type Outcome, refusedFields, type Unseen } from '../outcome.ts'
import { clearFields, erasedBase, exactFields, isUnknownValue, personalFields } from '../personal.ts'
import { mirrorKey, type Params, readRecord, type Seen } from '../reads.ts'
import { checkAgain } from '../show-delay.ts'
import {
  about,
  asReceived,
  garbledMessage,
  lostFields,
  lostMessage,
  namesOf,
  readValue,
  sameValue,
  sentAs,
  unseenFields,
  unseenWarnings,
} from '../values.ts'
import type { Delivery, Kind, Sent } from './kind.ts'
import {
  answered,
  done,
  doneWith,
  goneOrAwaited,
  mirrored,
  notTaken,
  observable,
  one,
  readAfter,
  took,
  unclear,
  unverified,
} from './shared.ts'

const objectIn = (value: Json | undefined): Readonly<JsonObject> => (isObject(value) ? value : {})

type EarlierChanges = {
  /**
   * What the editor saw, overlaid by what the same role's earlier changes of this record left since: those that were done
   * later, and those whose transaction had not been committed when the editor looked. No transaction takes an hour, and
   * beyond that, numbers of transactions may be those of a server this database was restored from.
   */
  readonly base: JsonObject
  /** The result of recent changes that the API may not show yet; null: none. */
  readonly written: (Unseen & { readonly fields: Readonly<JsonObject> }) | null
}

async function earlierChanges({ context, change }: Delivery, params: Params): Promise<EarlierChanges> {
  const delay = context.showDelay
  const patienceMs = delay.ms()
  const key = keyText(mirrorKey(change.write, params, null) ?? [])
  // The database's clock may have been set since.
  const own = delay.lastWrite(`${change.write.stream} ${key}`)
  type Row = { id: string; left_behind: string; is_base: boolean; ago_ms: number }
  const { rows } = await context.database.pool.query<Row>(
    'select * from outbox.earlier_changes($1, $2, $3, $4, $5, $6, $7, $8, $9) order by id',
    [
      change.aggregate,
      change.id,
      change.enqueuedBy,
      change.seenAt,
      key,
      change.write.stream,
      change.seenSnapshot,
      patienceMs,
      own?.changeId ?? null,
    ],
  )
  const left = rows.map((row) => ({
    ...row,
    ago_ms: row.id === own?.changeId ? own.sinceMs : row.ago_ms < -2_000 ? Number.POSITIVE_INFINITY : row.ago_ms,
    fields: exactFields(objectIn(parseJson(row.left_behind).value)),
  }))
  const fieldsOf = (some: typeof left): JsonObject[] => some.map(({ fields }) => ({ ...fields }))
  const lately = left.filter(({ ago_ms }) => ago_ms < patienceMs)
  return {
    base: overlayBase(change.base, fieldsOf(left.filter(({ is_base }) => is_base))),
    written:
      lately.length === 0
        ? null
        : {
            sinceMs: Math.min(...lately.map(({ ago_ms }) => ago_ms)),
            patienceMs,
            fields: overlayBase({}, fieldsOf(lately)),
          },
  }
}

/**
 * What the same role's changes left since the mirror's row was written last, as where the record cannot be mirrored. Without the
 * fields of a given base, which is older by choice.
 */
async function notMirrored(delivery: Delivery, params: Params): Promise<JsonObject> {
  const { change, context } = delivery
  const stream = streamNamed(change.write.stream)
  const { rows } = await context.database.pool.query<{ readAt: Date }>(
    `select _read_at as "readAt" from mirror.${identifier(stream.name)} t where ${hasKey(stream, 't', stream.key)}`,
    [...(mirrorKey(change.write, params, null) ?? [])],
  )
  const [row] = rows
  if (row === undefined) return {}
  const { base } = await earlierChanges({ ...delivery, change: { ...change, base: {}, seenAt: row.readAt } }, params)
  return Object.fromEntries(Object.entries(base).filter(([field]) => !change.givenBase.includes(field)))
}

/** Whether a record shows the result of earlier changes; if not, it may have been read too early. */
const showsAll = ({ body }: WriteDef, fields: Readonly<JsonObject>, { record }: Pick<Seen, 'record'>): boolean =>
  body.every(
    (field) => fields[field.name] === undefined || sameValue(field, fields[field.name], readValue(field, record)),
  )

/**
 * The body of a PUT: every writable field exactly as received, overlaid with the change (a missing price is reset:
 * docs/sources.md, 2.5). It omits fields that the record does not show, a status outside the allowed ones (PENDING),
 * which stays, and fields that the API refused before (`leftOut`).
 */
export function updateBody(
  write: WriteDef,
  apply: Readonly<JsonObject>,
  record: Json,
  leftOut: readonly string[] = [],
): JsonObject {
  return Object.fromEntries(
    write.body.flatMap((field): [string, Json][] => {
      const wished = apply[field.name]
      if (wished !== undefined) return [[field.name, sentAs(field, wished)]]
      if (leftOut.includes(field.name)) return []
      const present = field.readPath === null ? undefined : get(record, field.readPath ?? field.name)
      if (present === undefined) return []
      if (field.whenLeftOut === 'kept' && !field.values?.includes(String(textOf(present)))) return []
      return [[field.name, sentAs(field, asReceived(field, present))]]
    }),
  )
}

/** The outcome of an update of which every field keeps the remote value. */
function nothingToSend(
  { context, change }: Delivery,
  params: Params,
  seen: Seen,
  warnings: readonly string[],
): Outcome {
  return { ...done(change, params), mirror: mirrored(context, change.write.stream, seen, params).writes, warnings }
}

/** Warnings about fields that the API ignored or reset, or that others changed meanwhile. */
function differences(change: Change, { applied, evidence }: Sent, record: Json): readonly string[] {
  const shown = change.write.body.filter((field) => field.readPath !== null)
  const before = objectIn(evidence.before)
  const differs = (field: BodyField, value: Json | undefined): boolean =>
    value !== undefined && !sameValue(field, value, readValue(field, record))
  const moved = shown.filter((field) => applied[field.name] === undefined && differs(field, before[field.name]))
  const leftOut = moved.filter((field) => change.leftOut.includes(field.name))
  return Object.entries({
    'Not accepted by the API': shown.filter((field) => differs(field, applied[field.name])),
    'Changed by others meanwhile': moved.filter((field) => !leftOut.includes(field)),
    'Reset by the API, which refused the value it had shown': leftOut,
  }).flatMap(([what, fields]) => about(what, namesOf(fields)))
}

/** Refused fields that the change does not touch, and that can be omitted. None if that would reset one, for example a price. */
function untouched({ write, leftOut }: Change, { applied, body }: Sent, refused: readonly string[]): readonly string[] {
  const resets = write.body.filter((field) => field.whenLeftOut === 'reset').map((field) => field.name)
  if (refused.some((name) => Object.hasOwn(applied, name) || resets.includes(name))) return []
  return refused.filter((name) => Object.hasOwn(body, name) && !leftOut.includes(name))
}

type Known = {
  /** The base without values that could not have been seen. */
  readonly base: JsonObject
  /** Fields of the change with an unknown base, whose present values are overwritten. */
  readonly unknown: readonly string[]
  /** Those of them that the change has as null, as in the mirror: they are not meant to be cleared. */
  readonly echoed: readonly string[]
}

/** The base of the merge, if the mirror drops values, or has erased them to read them again. */
function knownBase({ context, change }: Delivery, base: JsonObject, wishes: Readonly<JsonObject>): Known {
  const dropped = [...personalFields(context.privacy, change.write)].flatMap(([name, action]) =>
    action === 'drop' ? [name] : [],
  )
  const isUnknown = (name: string): boolean =>
    base[name] === erasedBase ||
    (dropped.includes(name) &&
      (isUnknownValue(base[name]) || ((base[name] ?? null) === null && !change.givenBase.includes(name))))
  const unknown = Object.keys(wishes).filter((name) => wishes[name] !== undefined && isUnknown(name))
  const echoed = unknown.filter((name) => wishes[name] === null)
  return { base: Object.fromEntries(Object.entries(base).filter(([name]) => !unknown.includes(name))), unknown, echoed }
}

/** Warnings about fields that the mirror does not hold. */
function droppedWarnings(
  unknown: readonly string[],
  echoed: readonly string[],
  { apply, write, record }: { readonly apply: Readonly<JsonObject>; readonly write: WriteDef; readonly record: Json },
): readonly string[] {
  const written = write.body.filter(
    (field) =>
      unknown.includes(field.name) &&
      Object.hasOwn(apply, field.name) &&
      !sameValue(field, apply[field.name], readValue(field, record)),
  )
  return [
    ...about('Replaced a value that the mirror does not have', namesOf(written)),
    ...about('Left unchanged, because the mirror does not have it', echoed),
  ]
}

export const update: Kind = {
  replaces: true,

  async prepare(delivery, { params, fields }) {
    const { change } = delivery
    const { write } = change
    const seen = await readRecord(delivery, params)
    if (seen === null) return await goneOrAwaited(delivery)
    const { base: asKept, written } = await earlierChanges(delivery, params)
    const { privacy } = delivery.context
    const shown = (field: BodyField): Json => readValue(field, seen.record)
    const left = clearFields(privacy, write, written?.fields ?? {}, { among: (field) => [shown(field)] })
    const again = written === null || showsAll(write, left, seen) ? null : checkAgain(written)
    if (again !== null) return { kind: 'retry', heldBack: true, ...again }
    const unseen = unseenFields(write.body, fields, seen)
    if (unseen.garbled.length > 0) return { kind: 'failed', error: garbledMessage(unseen.garbled), response: null }
    const recalled = clearFields(privacy, write, change.overwrites ? {} : asKept, {
      among: (field) => [shown(field), fields[field.name]],
      given: change.givenBase,
    })
    const { base, unknown, echoed } = knownBase(delivery, recalled, fields)
    const withheld = [...change.keptRemote, ...unseen.echoed, ...echoed]
    const local = Object.fromEntries(Object.entries(fields).filter(([name]) => !withheld.includes(name)))
    const { onConflict } = change
    const merge = (own: Readonly<JsonObject>) =>
      mergeChange({ fields: write.body, base, local, remote: seen.record, own, onConflict })
    const first = merge({})
    const merged =
      first.kind === 'merged' && first.kept.length === 0
        ? first
        : merge(clearFields(privacy, write, await notMirrored(delivery, params), { among: (field) => [shown(field)] }))
    if (merged.kind === 'conflict') return merged
    const kept = [...change.keptRemote, ...merged.kept]
    const warnings = [
      ...about('Kept the value that was changed in the API, not sent', kept),
      ...unseenWarnings(unseen, merged.apply),
      ...droppedWarnings(unknown, echoed, { apply: merged.apply, write, record: seen.record }),
    ]
    if (Object.keys(merged.apply).length === 0) return nothingToSend(delivery, params, seen, warnings)
    const body = updateBody(write, merged.apply, seen.exact, change.leftOut)
    const lost = lostFields(body)
    if (lost.length > 0) return { kind: 'failed', error: lostMessage(change.id, lost), response: null }
    const before = Object.fromEntries(write.body.map((field) => [field.name, readValue(field, seen.exact)]))
    return { kind: 'prepared', params, body, applied: merged.apply, evidence: { before, sent: body }, warnings }
  },

  async formerly(delivery, { params, fields }) {
    const { change } = delivery
    const body = Object.fromEntries(
      change.write.body.flatMap((field): [string, Json][] => {
        const wish = fields[field.name]
        return wish === undefined || change.keptRemote.includes(field.name) ? [] : [[field.name, sentAs(field, wish)]]
      }),
    )
    const [seen, { base }] = await Promise.all([readRecord(delivery, params), earlierChanges(delivery, params)])
    const among = (field: BodyField): readonly (Json | undefined)[] => [readValue(field, seen?.exact), body[field.name]]
    const before = clearFields(delivery.context.privacy, change.write, base, { among })
    return { params, body, applied: body, evidence: { before }, warnings: [] }
  },

  verify: async (delivery, { params }) => one(await readRecord(delivery, params)),

  /**
   * Each field to change shows either the sent value, maybe rewritten by the API, or the value before. All as before:
   * it did not take effect. Some as sent: it did, and the API ignored the rest. Any third value: another client
   * changed it too. Of a change that another history may have sent, some as sent prove nothing: others may have set them.
   */
  decide(write, { body, evidence }, found, timeZone) {
    const [seen] = found ?? []
    if (seen === undefined) return { kind: 'gone' }
    const before = (field: BodyField): Json => readValue(field, evidence.before)
    const now = (field: BodyField): Json => readValue(field, seen.exact)
    const changing = observable(write, body).filter((field) => !sameValue(field, body[field.name], before(field)))
    const isAsBefore = (field: BodyField): boolean => sameValue(field, before(field), now(field))
    const isAsSent = (field: BodyField): boolean =>
      sameValue(field, body[field.name], now(field)) ||
      (!isAsBefore(field) && isStoredAs(field, body[field.name] ?? null, now(field), timeZone))
    const rest = changing.filter((field) => !isAsSent(field))
    const foreign = rest.filter((field) => !isAsBefore(field))
    if (foreign.length > 0)
      return unclear(`${namesOf(foreign).join(', ')}: the value is neither what was sent nor what was there before.`, [
        seen,
      ])
    if (evidence.former !== undefined && changing.length === 0 && !observable(write, body).every(isAsSent))
      return notTaken
    if (evidence.former !== undefined && rest.length > 0 && rest.length < changing.length)
      return unclear(`only a part of it is there, without ${namesOf(rest).join(', ')}.`, [seen])
    return changing.length > 0 && rest.length === changing.length ? notTaken : took(seen)
  },

  async finish(delivery, sent, effect) {
    const { change } = delivery
    const read = await readAfter(update, delivery, sent, effect)
    if (read && 'kind' in read) return read
    const seen = read ?? (isObject(effect.response?.body) ? answered(delivery, effect) : null)
    const warnings = read ? differences(change, sent, read.exact) : [unverified]
    return {
      ...doneWith(delivery, { ...sent, warnings: [...sent.warnings, ...warnings] }, { ...effect, seen }),
      // Without a record, what was sent is the base of later changes.
      leftBehind: seen === null ? sent.applied : leftBehind(change.write, sent.applied, seen.record),
    }
  },

  readBack: readRecord,

  async refused({ change }, sent, error) {
    if (error.status !== 400 && error.status !== 422) return null
    const leaveOut = untouched(change, sent, refusedFields(error.body))
    return leaveOut.length === 0 ? null : { kind: 'retry', delayMs: 0, error: errorText(error), leaveOut }
  },
}
