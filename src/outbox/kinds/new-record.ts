// Which of the records that the API shows after a lost answer is the one we tried to create: it exists, is proven
// absent, or is unclear.

import { get, type Json, type JsonObject, textOf } from '../../api/wire/json.ts'
import type { BodyField, WriteDef } from '../../catalog/types.ts'
import { ApiError } from '../../errors.ts'
import { evidenceIn } from '../change.ts'
import { type Likeness, leastAlike, likeness } from '../likeness.ts'
import { readRecord, rootOf, type Seen, singleRead } from '../reads.ts'
import { shownValue } from '../values.ts'
import type { Delivery, Sent, Verdict } from './kind.ts'
import { notTaken, took, unclear } from './shared.ts'

const idOf = (record: Json): string | undefined => textOf(get(record, 'id'))

/** The records that were unknown before the attempt, and records without an id. */
function newAmong(found: readonly Seen[], { evidence }: Sent): readonly Seen[] {
  const known = new Set(evidence.ids ?? [])
  return found.filter(({ record }) => !known.has(idOf(record) ?? ''))
}

/** How a new record is compared with what was sent. */
type Comparison = {
  /** Whether it can be the created record. */
  likenessOf(record: Json): Likeness
  /** Whether it is certainly another record. */
  isAnother(record: Json): boolean
}

/** Compares by the identity fields that the catalog names for the operation. */
export function byIdentity(write: WriteDef, { body }: Pick<Sent, 'body'>, timeZone: string): Comparison {
  const { kept, shown, filled = [] } = write.identity ?? { kept: [] }
  const isSent = ({ name }: BodyField): boolean => !isBlank(body[name])
  const likenessIn = (field: BodyField, record: Json): Likeness =>
    likeness(field, body[field.name], shownValue(field, record), timeZone)
  /** A field that was not sent must not be shown. A field that is not shown is not compared, unless it must be shown. */
  const isCompared = (field: BodyField, record: Json): boolean => {
    const value = shownValue(field, record)
    if (isSent(field)) return value !== undefined || shown !== undefined
    return !isBlank(value) && !filled.includes(field.name)
  }
  const compared = shown === undefined ? write.body : named(write, shown)
  const groups = kept.map((names) => named(write, names).filter(isSent))
  return {
    likenessOf: (record) => {
      const fields = compared.filter((field) => isCompared(field, record))
      return fields.length === 0 ? 'unsaid' : leastAlike(fields.map((field) => likenessIn(field, record)))
    },
    isAnother: (record) =>
      groups.some((fields) => fields.length > 0 && fields.every((field) => likenessIn(field, record) === 'differs')),
  }
}

const named = ({ body }: WriteDef, names: readonly string[]): readonly BodyField[] =>
  body.filter(({ name }) => names.includes(name))

const isBlank = (value: Json | undefined): boolean =>
  value === undefined || value === null || textOf(value)?.trim() === ''

type Question = Comparison & {
  /** What the records are, in the plural. */
  readonly what: string
  /** Whether a record that was made is certainly among those that were found. */
  readonly showsAll: boolean
}

const idsIn = (records: readonly Seen[]): string =>
  records.map(({ record }) => idOf(record) ?? 'one without id').join(', ')

/**
 * The verdict. One new record that fits is the one: in full, or where none fits in full, cut off. If several fit, an
 * operator decides. Nothing was created only if every new record is certainly a different one.
 */
export function theNewOne(found: readonly Seen[], sent: Sent, question: Question): Verdict {
  const { what, showsAll, likenessOf, isAnother } = question
  const open = newAmong(found, sent).filter(({ record }) => !isAnother(record))
  const withId = open.filter(({ record }) => idOf(record) !== undefined)
  const fitting = (as: Likeness): readonly Seen[] => withId.filter(({ record }) => likenessOf(record) === as)
  const same = fitting('same')
  const best = same.length > 0 ? same : fitting('cut')
  const [first, ...others] = best
  const could = `${idsIn(best)} could be the result`
  if (others.length > 0) return unclear(`${best.length} ${what} could be the result: ${idsIn(best)}.`, best)
  if (first !== undefined && sent.evidence.unread)
    return unclear(`${could}, or was there before the mirror had read these records.`, best)
  if (first?.claimedBy !== undefined)
    return unclear(`${could} of this change, or of change ${first.claimedBy}, whose outcome is unknown.`, best, true)
  if (first !== undefined) return took(first)
  const rewritten = `none of the ${what} matches what was sent, but the API may have rewritten it. Candidates: ${idsIn(open)}.`
  if (open.length > 0) return unclear(rewritten, open, true)
  if (showsAll) return notTaken
  return unclear(`the API shows only a part of its ${what}, and the result is not among them.`, [], true)
}

/** More new records than this are not read one by one. */
const readsAtMost = 5

/** New records with the fields that only their own read shows, where the list omits identity fields. @throws ApiError */
export async function inFull(delivery: Delivery, sent: Sent, found: readonly Seen[]): Promise<readonly Seen[]> {
  const { write } = delivery.change
  const { shown = Object.keys(sent.body), kept = [] } = write.identity ?? {}
  const needed = named(write, [...shown, ...kept.flat()]).filter(({ name }) => sent.body[name] !== undefined)
  const lacks = ({ record }: Seen): boolean =>
    idOf(record) !== undefined &&
    needed.some((field) => field.readPath !== null && shownValue(field, record) === undefined)
  const lacking = newAmong(found, sent).filter(lacks).slice(0, readsAtMost)
  const read = await Promise.all(lacking.map(async (seen) => [seen, await itself(delivery, sent, seen)] as const))
  const whole = new Map(read)
  return found.map((seen) => whole.get(seen) ?? seen)
}

/** A record by its own read; as the list shows it, where that has none or another. @throws ApiError */
async function itself(delivery: Delivery, sent: Sent, seen: Seen): Promise<Seen> {
  const [, param = ''] = /\{(\w+)\}$/.exec(singleRead(delivery.change.write)) ?? []
  const params = { ...sent.params, [param]: idOf(seen.record) ?? '' }
  try {
    return (await readRecord(delivery, params)) ?? seen
  } catch (error) {
    if (error instanceof ApiError && error.code === 'API_WRONG_RECORD') return seen
    throw error
  }
}

/** The records that this change may have created; one that another change with an unknown outcome may have created is marked. */
export async function ownAmong(delivery: Delivery, sent: Sent, found: readonly Seen[]): Promise<readonly Seen[]> {
  const { change, context } = delivery
  const fresh = newAmong(found, sent).flatMap(({ record }) => idOf(record) ?? [])
  if (fresh.length === 0) return found
  const { aggregate, operation } = change.write
  const root = sent.params[rootOf(change.write).param]
  const { rows } = await context.database.pool.query<Rival>(
    `select result->>'id' as id, id as change, request->'body' as body, proof::text from outbox.queue
     where operation = $1 and id <> $2 and aggregate = any($3) and status = 'done' and result->>'id' = any($4)
     union all
     select null, id, request->'body', proof::text from outbox.queue
     where operation = $1 and id <> $2 and $5 and (status = 'unknown' or status = 'sending' and departed)`,
    [
      operation,
      change.id,
      (root === undefined ? fresh : [root]).map((id) => `${aggregate}:${id}`),
      fresh,
      root === undefined,
    ],
  )
  const made = new Set(rows.map(({ id }) => id))
  const rivals = rows
    .filter(({ id }) => id === null)
    .map((row) => ({ change: row.change, body: evidenceIn(row.proof).sent ?? row.body ?? {} }))
  const likenessFor = (body: JsonObject, record: Json): Likeness =>
    byIdentity(change.write, { body }, context.settings.timeZone).likenessOf(record)
  return found.flatMap((seen): Seen[] => {
    if (made.has(idOf(seen.record) ?? '')) return []
    const own = likenessFor(sent.body, seen.record)
    const rival = rivals.find(({ body }) => [own, 'same'].includes(likenessFor(body, seen.record)))
    return own === 'differs' || own === 'unsaid' || rival === undefined
      ? [seen]
      : [{ ...seen, claimedBy: rival.change }]
  })
}

/** A change of the same operation that created a record, or whose outcome is unknown. */
type Rival = {
  readonly id: string | null
  readonly change: string
  /** As it was sent, with hashes in place of personal values; `proof` then holds it in clear. */
  readonly body: JsonObject | null
  readonly proof: string | null
}
