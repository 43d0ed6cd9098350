// Personal values in the outbox with PERSONAL_DATA=hash or drop. The pusher reads and writes the API in clear. A change keeps its
// body and its evidence in clear until it ends, because it is sent and verified by them. Everything else stored of it holds
// hashes of the exact values from the start: what outbox.changes shows beside the body (request, conflict, answers), and
// what the change leaves as a base for later ones. The merge looks for the clear value of a hash among the values at hand.

import { isObject, type Json, type JsonObject, parseJson, someText, stringifyJson, textOf } from '../api/wire/json.ts'
import { streamNamed, streams } from '../catalog/catalog.ts'
import type { BodyField, WriteDef } from '../catalog/types.ts'
import { writeNamed } from '../catalog/writes.ts'
import { literal, type Queryable } from '../database/sql.ts'
import { withoutQuote } from '../mirror/erasures.ts'
import type { Erasure } from '../privacy/apply.ts'
import { exactMember, hashPrefix, normalValue } from '../privacy/hash.ts'
import type { Privacy } from '../privacy/privacy.ts'
import { isAboutPerson } from '../privacy/protect.ts'
import { type Action, actionOf } from '../privacy/rules.ts'
import type { PushContext } from './context.ts'
import type { Conflict } from './merge.ts'
import { type Outcome, type Response, refusedFields } from './outcome.ts'
import { inStates, stateSets } from './states.ts'
import { writeShape } from './values.ts'

/** The fields of a write whose values are not stored, with the action for each. */
export function personalFields(privacy: Privacy | undefined, write: WriteDef): ReadonlyMap<string, Action> {
  if (privacy?.isActive !== true) return new Map()
  const stream = streamNamed(write.stream)
  return new Map(
    write.body.flatMap((field): [string, Action][] => {
      const [first] = (field.readPath ?? field.name).split('.')
      const actions = stream.columns
        .filter(({ path }) => path?.split('.')[0] === first)
        .map((column) => actionOf(privacy.settings, stream, column))
      const action = actions.includes('drop') ? 'drop' : actions.includes('hash') ? 'hash' : 'keep'
      return action === 'keep' ? [] : [[field.name, action]]
    }),
  )
}

/** Whether it contains a hash of a personal value. */
export const isHashed = (value: Json | undefined): boolean =>
  value !== undefined && someText(value, (text) => text.startsWith(hashPrefix))

/** Replaces a value if there is no key for a hash. */
const unknown = hashPrefix

/** Whether it replaces an unknown value. */
export const isUnknownValue = (value: Json | undefined): boolean => value === unknown

/** The base of a field that the mirror did not show because of `privacy apply`; see outbox.mirrored. No hash is equal to it. */
export const erasedBase = `${hashPrefix}erased`

/** The hash of the exact text of a value; of an object, that of each member. */
function hashOf(privacy: Privacy, field: BodyField, value: Json): Json {
  if (isHashed(value)) return privacy.settings.hasher === null ? unknown : value
  const shape = writeShape(field, value)
  if (shape === null) return null
  const hashed = (each: Json): string => privacy.settings.hasher?.of(textOf(each) ?? stringifyJson(each)) ?? unknown
  if (!isObject(shape)) return hashed(shape)
  return Object.fromEntries(Object.entries(shape).map(([name, member]) => [name, hashed(member)]))
}

/** Fields with hashes in place of personal values. */
export function hashedFields(privacy: Privacy | undefined, write: WriteDef, fields: Readonly<JsonObject>): JsonObject {
  const personal = personalFields(privacy, write)
  if (privacy === undefined || personal.size === 0) return { ...fields }
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      const field = personal.has(name) ? write.body.find((each) => each.name === name) : undefined
      return [name, field === undefined ? value : hashOf(privacy, field, value)]
    }),
  )
}

/** Fields that an earlier change left, with the exact hashes in place of the normal ones. */
export function exactFields(left: Readonly<JsonObject>): JsonObject {
  const { [exactMember]: exact, ...fields } = left
  return isObject(exact) ? { ...fields, ...exact } : fields
}

type AtHand = {
  /** Values that a hash of the field may replace. */
  readonly among: (field: BodyField) => readonly (Json | undefined)[]
  /** Fields whose hashes a caller took from the mirror. The hash replaces every value with the same normal form. */
  readonly given?: readonly string[]
}

/** Fields with clear values in place of hashes, if these are at hand. Any other hash equals no value. */
export function clearFields(
  privacy: Privacy | undefined,
  write: WriteDef,
  stored: Readonly<JsonObject>,
  { among, given = [] }: AtHand,
): JsonObject {
  if (privacy === undefined) return { ...stored }
  const clear = (field: BodyField, value: Json): Json => {
    const sought = stringifyJson(writeShape(field, value))
    const find = (form: (each: Json) => Json): Json | undefined =>
      among(field).find((each = null) => each !== null && stringifyJson(hashOf(privacy, field, form(each))) === sought)
    const normal = (each: Json): Json => (typeof each === 'string' ? normalValue(field.name, each) : each)
    return (given.includes(field.name) ? find(normal) : undefined) ?? find((each) => each) ?? value
  }
  return Object.fromEntries(
    Object.entries(stored).map(([name, value]) => {
      const field = isHashed(value) ? write.body.find((each) => each.name === name) : undefined
      return [name, field === undefined ? value : clear(field, value)]
    }),
  )
}

/** The part of a value that one column of a change may store. */
type Rule = (privacy: Privacy, write: WriteDef, value: Json) => Json

const protectedFields: Rule = (privacy, write, fields) => privacy.protect(streamNamed(write.stream), fields)

/** An answer without its personal data. Of an error, only the names of the refused fields are stored. */
const storedResponse = (privacy: Privacy, write: WriteDef, { status, body }: Response): Response => {
  const stored = (value: Json): Json => protectedFields(privacy, write, value)
  if (typeof body === 'string') return { status, body: withheld(write, body) }
  if (isObject(body) && body.withheld === withheldWords) return { status, body }
  if (isObject(body) && Array.isArray(body.candidates))
    return { status, body: { candidates: body.candidates.map(stored) } }
  return { status, body: Array.isArray(body) ? body.map(stored) : stored(body) }
}

const withheldWords = 'The words of the API may quote a person.'

function withheld({ body }: WriteDef, text: string): Json {
  const named = refusedFields(text).map((name) => name.split('.')[0])
  const fields = body.flatMap(({ name }) => (named.includes(name) ? [name] : []))
  return { withheld: withheldWords, fields }
}

function storedConflict(privacy: Privacy, write: WriteDef, conflict: Conflict): Conflict {
  return Object.fromEntries(
    Object.entries(conflict).map(([name, sides]) => {
      const side = (value: Json): Json => hashedFields(privacy, write, { [name]: value })[name] ?? null
      return [name, { base: side(sides.base), local: side(sides.local), remote: side(sides.remote) }]
    }),
  )
}

export function storedOutcome<O extends Outcome>(privacy: Privacy | undefined, write: WriteDef, outcome: O): O {
  if (privacy?.isActive !== true) return outcome
  const { kind, ...rest } = outcome as Outcome & { readonly response?: Response | null }
  return {
    ...outcome,
    ...(rest.response && { response: storedResponse(privacy, write, rest.response) }),
    ...('leftBehind' in rest && { leftBehind: rest.leftBehind && protectedFields(privacy, write, rest.leftBehind) }),
    ...('conflict' in rest && { conflict: storedConflict(privacy, write, rest.conflict) }),
  }
}

/** The columns of outbox.queue that hold no personal value from the start. */
const hashedColumns: Readonly<Record<string, Rule>> = {
  request: (privacy, write, request) =>
    isObject(request) && isObject(request.body)
      ? { ...request, body: hashedFields(privacy, write, request.body) }
      : request,
  response: (privacy, write, response) => storedResponse(privacy, write, response as Response),
  conflict: (privacy, write, conflict) => storedConflict(privacy, write, conflict as Conflict) as Json,
  left_behind: protectedFields,
}

/** The columns that hold no personal value after the change has ended. */
const inputColumns: Readonly<Record<string, Rule>> = {
  body: protectedFields,
  base: protectedFields,
  options: (privacy, write, options) =>
    isObject(options) && isObject(options.base)
      ? { ...options, base: protectedFields(privacy, write, options.base) }
      : options,
}

/** Of a change that was queued before `privacy apply`, all of them are in clear until it ends. */
const endedColumns = Object.keys({ ...hashedColumns, ...inputColumns })

const parsed = (text: string | null | undefined): Json => parseJson(text ?? 'null').value
const namesIn = (value: Json | undefined): readonly string[] => (isObject(value) ? Object.keys(value) : [])

/** Whether the input of a change names a personal field, and the change has ended. */
function losesInput(privacy: Privacy, write: WriteDef, { status, body, base, options }: Texts): boolean {
  if (!stateSets.final.some((state) => state === status) || (body ?? null) === null) return false
  const personal = personalFields(privacy, write)
  const given = parsed(options)
  const names = [parsed(body), parsed(base), isObject(given) ? given.base : null].flatMap(namesIn)
  return names.some((name) => personal.has(name))
}

/** Columns as texts, by name. */
type Texts = Readonly<Record<string, string | null>>

/** A row of outbox.queue, or some of its columns, as it may be stored; null: unchanged. */
function storedRow(privacy: Privacy, row: Texts): Texts | null {
  const write = writeNamed(row.operation ?? '')
  const isLost = losesInput(privacy, write, row)
  const stored: Record<string, string | null> = { ...row, ...(isLost && { veiled: 'true' }) }
  if (row.warning?.includes(' could not be mirrored: ')) stored.warning = withoutQuote(row.warning)
  for (const [name, rule] of Object.entries({ ...hashedColumns, ...(isLost && inputColumns) })) {
    if ((row[name] ?? null) === null) continue
    const before = parsed(row[name])
    if (name in hashedColumns && isHashed(before)) continue
    const after = stringifyJson(rule(privacy, write, before))
    if (after !== stringifyJson(before)) stored[name] = after
  }
  return Object.keys(stored).every((name) => stored[name] === row[name]) ? null : stored
}

const ended = inStates('t.status', 'final')
const isOfPersons = `exists (select from outbox.operations o where o.operation = t.operation
  and o.stream = any(array[${streams.flatMap((stream) => (isAboutPerson(stream) ? literal(stream.name) : [])).join(', ')}]))`

/** What `privacy apply` erases of ended changes: of those that write to persons all but the outcome, of others the API's answer. */
export const outboxErasures: readonly Erasure[] = [
  {
    table: 'outbox.queue',
    holds: `${ended} and ${isOfPersons}
      and (t.body is not null or t.left_behind is not null or t.conflict is not null or t.response ? 'body')`,
    erase: (rows) => `select outbox.forget(array[t.id]) from outbox.queue t where ${rows}`,
  },
  {
    table: 'outbox.queue',
    holds: `${ended} and not ${isOfPersons} and t.response ? 'body'`,
    erase: (rows) => `update outbox.queue t set response = response - 'body',
      warning = regexp_replace(warning, '( could not be mirrored): .*', '\\1.') where ${rows}`,
  },
]

/** Hashes or drops personal values in the input of ended changes, which then cannot be sent again: of `ids`, or all since `since`. */
export async function hashEnded(
  db: Queryable,
  privacy: Privacy | undefined,
  { ids = null, since = null }: { readonly ids?: readonly string[] | null; readonly since?: Date | null },
): Promise<void> {
  if (privacy?.isActive !== true || ids?.length === 0) return
  const { rows } = await db.query<Texts>(
    `select id::text, operation, status, warning, ${endedColumns.map((name) => `${name}::text`).join(', ')}, 'false' as veiled
     from outbox.queue
     where status = any($1) and not veiled and body is not null and ($2::bigint[] is null or id = any($2))
       and ($3::timestamptz is null or settled_at >= $3) order by id for no key update`,
    [stateSets.final, ids, since],
  )
  const ended = rows.map((row) => storedRow(privacy, row)).filter((row) => row !== null)
  if (ended.length === 0) return
  await db.query(
    `update outbox.queue q set warning = s.warning, ${endedColumns.map((name) => `${name} = s.${name}::jsonb`).join(', ')}, veiled = s.veiled
     from json_to_recordset($1::json) as s (id bigint, veiled boolean, warning text, ${endedColumns.map((name) => `${name} text`).join(', ')}) where q.id = s.id`,
    [JSON.stringify(ended)],
  )
}

/** Milliseconds by which a change may have ended before its transaction commits. */
const overlapMs = 60_000

/** Does the same for changes that were canceled or expired by SQL: for all at the first call, then only for new ones. */
export function createEndedHashing({ database, privacy, clock }: PushContext): () => Promise<void> {
  let since: Date | null = null
  return async () => {
    if (privacy?.isActive !== true) return
    const now = clock.now()
    await database.transaction(async (client) => {
      await privacy.assertCurrent(client)
      await hashEnded(client, privacy, { since })
    })
    since = new Date(now.getTime() - overlapMs)
  }
}
