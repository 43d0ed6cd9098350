// Personal values in the outbox. The API is read and written in clear. Body and evidence of a change stay in clear until it
// ends, because it is sent and verified by them. What outbox.changes shows beside the body (request, conflict, answers) and what
// a change leaves as base for later ones holds hashes of the exact values. `veil` makes them; `recall` finds the clear
// value of a hash among those at hand, so that the merge compares as usual.

import { isObject, type Json, type JsonObject, parseJson, someText, stringifyJson, textOf } from '../api/wire/json.ts'
import { streamNamed } from '../catalog/catalog.ts'
import type { BodyField, WriteDef } from '../catalog/types.ts'
import { writeNamed } from '../catalog/writes.ts'
import type { Queryable } from '../database/sql.ts'
import { exactMember, hashPrefix, normalValue } from '../privacy/hash.ts'
import type { Privacy } from '../privacy/privacy.ts'
import { type Rewrite, rowsRewrite, type Texts } from '../privacy/rewrite.ts'
import { withoutQuote } from '../privacy/rewrites.ts'
import { type Action, actionOf } from '../privacy/rules.ts'
import type { PushContext } from './context.ts'
import type { Conflict } from './merge.ts'
import { type Outcome, type Response, refusedFields } from './outcome.ts'
import { stateSets } from './states.ts'
import { writeShape } from './values.ts'

type Veiling = Privacy | undefined
type Fields = ReadonlyMap<string, Action>

const noFields: Fields = new Map()

/** The fields of a write whose values are not kept, and what becomes of them. */
export function personalFields(privacy: Veiling, write: WriteDef): Fields {
  if (privacy?.isActive !== true) return noFields
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

/** Whether a text that stands for a personal value is in it. */
export const isVeiled = (value: Json | undefined): boolean =>
  value !== undefined && someText(value, (text) => text.startsWith(hashPrefix))

/** Replaces a value of which not even a hash is stored, because there is no key. */
const unknown = hashPrefix

/** Whether it stands for a value that is not known at all. */
export const isUnknownValue = (value: Json | undefined): boolean => value === unknown

/** The hash of the exact text of a value; of an object that of each member. */
function veil(privacy: Privacy, field: BodyField, value: Json): Json {
  if (isVeiled(value)) return privacy.settings.hasher === null ? unknown : value
  const shape = writeShape(field, value)
  if (shape === null) return null
  const hashed = (each: Json): string => privacy.settings.hasher?.of(textOf(each) ?? stringifyJson(each)) ?? unknown
  if (!isObject(shape)) return hashed(shape)
  return Object.fromEntries(Object.entries(shape).map(([name, member]) => [name, hashed(member)]))
}

/** The value that a veiled one stands for, if it is among these; else the veiled one, which equals no other. */
function recall(
  privacy: Privacy,
  field: BodyField,
  kept: Json | undefined,
  candidates: readonly (Json | undefined)[],
): Json | undefined {
  if (!isVeiled(kept)) return kept
  const sought = stringifyJson(writeShape(field, kept ?? null))
  const standsFor = (each: Json | undefined): boolean =>
    each !== undefined && each !== null && stringifyJson(veil(privacy, field, each)) === sought
  return candidates.find(standsFor) ?? kept
}

/** A hash as the mirror shows it stands for every value with its normal form: who gives it as base has seen no more. */
const shownHash = (privacy: Privacy, field: BodyField, value: Json | undefined): Json =>
  veil(privacy, field, typeof value === 'string' ? normalValue(field.name, value) : (value ?? null))

/** Fields with hashes in place of personal values. */
export function veiledFields(privacy: Veiling, write: WriteDef, fields: Readonly<JsonObject>): JsonObject {
  const personal = personalFields(privacy, write)
  if (privacy === undefined || personal.size === 0) return { ...fields }
  const named = new Map(write.body.map((field) => [field.name, field]))
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      const field = named.get(name)
      return [name, field === undefined || !personal.has(name) ? value : veil(privacy, field, value)]
    }),
  )
}

/** Fields that an earlier change left, with the exact hashes in place of the normal ones. */
export function exactFields(left: Readonly<JsonObject>): JsonObject {
  const { [exactMember]: exact, ...fields } = left
  return isObject(exact) ? { ...fields, ...exact } : fields
}

type Recalling = {
  /** Values that a hash of the field may stand for. */
  readonly among: (field: BodyField) => readonly (Json | undefined)[]
  /** Fields that a caller gave, as the mirror shows them. */
  readonly given?: readonly string[]
}

/** Veiled fields with the clear values that they stand for, where those are at hand. */
export function recalledFields(
  privacy: Veiling,
  write: WriteDef,
  kept: Readonly<JsonObject>,
  { among, given = [] }: Recalling,
): JsonObject {
  const recalled: JsonObject = { ...kept }
  if (privacy === undefined) return recalled
  for (const field of write.body) {
    if (!Object.hasOwn(kept, field.name) || !isVeiled(kept[field.name])) continue
    const value = kept[field.name] ?? null
    const shown = stringifyJson(writeShape(field, value))
    const seen = given.includes(field.name)
      ? among(field).find((each) => stringifyJson(shownHash(privacy, field, each)) === shown)
      : undefined
    recalled[field.name] = seen ?? recall(privacy, field, value, among(field)) ?? null
  }
  return recalled
}

/** An outcome as it may be written down. */
export function keptOutcome<O extends Outcome>(privacy: Privacy | undefined, write: WriteDef, outcome: O): O {
  if (privacy?.isActive !== true) return outcome
  const kept = outcome as Outcome
  const response = 'response' in kept ? { response: kept.response && keptResponse(privacy, write, kept.response) } : {}
  const leftBehind =
    kept.kind === 'done' && kept.leftBehind !== null
      ? { leftBehind: privacy.protect(streamNamed(write.stream), kept.leftBehind) }
      : {}
  const conflict = kept.kind === 'conflict' ? { conflict: keptConflict(privacy, write, kept.conflict) } : {}
  return { ...outcome, ...response, ...leftBehind, ...conflict }
}

/** An answer without its personal data. Of an error, only the names of the refused fields are kept. */
export function keptResponse(privacy: Privacy, write: WriteDef, { status, body }: Response): Response {
  const stream = streamNamed(write.stream)
  if (typeof body === 'string') return { status, body: withheld(write, body) }
  if (isObject(body) && body.withheld === withheldWords) return { status, body }
  if (isObject(body) && Array.isArray(body.candidates))
    return { status, body: { candidates: body.candidates.map((each) => privacy.protect(stream, each)) } }
  const kept = Array.isArray(body) ? body.map((each) => privacy.protect(stream, each)) : privacy.protect(stream, body)
  return { status, body: kept }
}

const withheldWords = 'The words of the API may quote a person.'

function withheld({ body }: WriteDef, text: string): Json {
  const named = refusedFields(text).map((name) => name.split('.')[0])
  const fields = body.flatMap(({ name }) => (named.includes(name) ? [name] : []))
  return { withheld: withheldWords, fields }
}

export function keptConflict(privacy: Privacy, write: WriteDef, conflict: Conflict): Conflict {
  return Object.fromEntries(
    Object.entries(conflict).map(([name, sides]) => {
      const side = (value: Json): Json => veiledFields(privacy, write, { [name]: value })[name] ?? null
      return [name, { base: side(sides.base), local: side(sides.local), remote: side(sides.remote) }]
    }),
  )
}

type Asked = {
  readonly operation: string
  readonly body: string
  readonly options: string
  readonly base: string
}

const objectIn = (text: string): JsonObject => {
  const { value } = parseJson(text)
  return isObject(value) ? value : {}
}

/** Body, base and options of an ended change; null: they hold nothing personal. */
export function keptChange(privacy: Privacy, { operation, ...row }: Asked): readonly string[] | null {
  const write = writeNamed(operation)
  const personal = personalFields(privacy, write)
  const stream = streamNamed(write.stream)
  const [body, base, options] = [row.body, row.base, row.options].map(objectIn) as [JsonObject, JsonObject, JsonObject]
  const names = [...Object.keys(body), ...Object.keys(base), ...Object.keys(objectOf(options.base))]
  if (!names.some((name) => personal.has(name))) return null
  const kept = (fields: JsonObject): Json => privacy.protect(stream, fields)
  const given = isObject(options.base) ? { ...options, base: kept(options.base) } : options
  return [kept(body), kept(base), given].map((each) => stringifyJson(each))
}

const objectOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})

/**
 * Hashes or drops the personal values in ended changes. `ids`: only these, else those that ended since then, also by
 * SQL. They can't be sent again.
 */
export async function veilEnded(
  db: Queryable,
  privacy: Privacy | undefined,
  { ids = null, since = null }: { readonly ids?: readonly string[] | null; readonly since?: Date | null },
): Promise<number> {
  if (privacy?.isActive !== true || ids?.length === 0) return 0
  const { rows } = await db.query<Asked & { readonly id: string }>(
    `select id, operation, body::text, options::text, base::text from outbox.queue
     where status = any($1) and not veiled and body is not null and ($2::bigint[] is null or id = any($2))
       and ($3::timestamptz is null or settled_at >= $3) order by id for no key update`,
    [stateSets.final, ids, since],
  )
  const ended = rows.flatMap((row) => {
    const kept = keptChange(privacy, row)
    return kept === null ? [] : [[row.id, ...kept] as const]
  })
  if (ended.length === 0) return 0
  await db.query(
    `update outbox.queue q set body = s.body::jsonb, base = s.base::jsonb, options = s.options::jsonb, veiled = true
     from unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) as s (id, body, base, options) where q.id = s.id`,
    [0, 1, 2, 3].map((column) => ended.map((row) => row[column])),
  )
  return ended.length
}

/** A change ends up to this long before it is seen: its transaction commits later. In milliseconds. */
const overlapMs = 60_000

/**
 * Protects changes that ended elsewhere: canceled by an operator, expired by SQL. Checks all changes once, then only
 * new ones.
 */
export function createVeiling({ database, privacy, clock }: PushContext): () => Promise<void> {
  let since: Date | null = null
  return async () => {
    if (privacy?.isActive !== true) return
    const now = clock.now()
    await database.transaction(async (client) => {
      await privacy.assertCurrent(client)
      await veilEnded(client, privacy, { since })
    })
    since = new Date(now.getTime() - overlapMs)
  }
}

const jsonColumns = ['body', 'base', 'options', 'request', 'response', 'conflict', 'left_behind'] as const

const parsed = (text: string): Json => parseJson(text).value

/** The column as `kept` leaves it. */
const rewritten = (text: string | null | undefined, kept: (value: Json) => Json): string | null =>
  text === null || text === undefined ? null : stringifyJson(kept(parsed(text)))

function evidenceOf(privacy: Privacy, { operation, ...row }: Texts): Texts {
  const write = writeNamed(operation ?? '')
  return {
    request: rewritten(row.request, (request) =>
      isObject(request) && isObject(request.body)
        ? { ...request, body: veiledFields(privacy, write, request.body) }
        : request,
    ),
    response: rewritten(row.response, (response) => keptResponse(privacy, write, response as Response) as Json),
    conflict: rewritten(row.conflict, (conflict) => keptConflict(privacy, write, conflict as Conflict) as Json),
    left_behind: rewritten(row.left_behind, (left) => privacy.protect(streamNamed(write.stream), left)),
    warning: row.warning?.includes(' could not be mirrored: ') ? withoutQuote(row.warning) : (row.warning ?? null),
  }
}

function keptRow(privacy: Privacy, row: Texts): Texts | null {
  const { operation, status, body, base, options } = row as Record<string, string>
  const evidence = evidenceOf(privacy, row)
  const isOver = stateSets.final.some((state) => state === status) && body !== null
  const asked = isOver
    ? keptChange(privacy, { operation: operation ?? '', body: body ?? '', base: base ?? '', options: options ?? '' })
    : null
  const [keptBody, keptBase, keptOptions] = asked ?? []
  const kept: Texts = {
    ...row,
    ...evidence,
    ...(asked !== null && {
      body: keptBody ?? null,
      base: keptBase ?? null,
      options: keptOptions ?? null,
      veiled: 'true',
    }),
  }
  const isSame = (name: string): boolean => kept[name] === row[name]
  const isSameJson = (name: string): boolean =>
    isSame(name) ||
    (kept[name] !== null && stringifyJson(parsed(kept[name] ?? '')) === stringifyJson(parsed(row[name] ?? '')))
  return isSame('warning') && jsonColumns.every(isSameJson) ? null : kept
}

/** The queue. */
export const outboxRewrites = (privacy: Privacy): readonly Rewrite[] =>
  privacy.isActive
    ? [
        rowsRewrite({
          table: 'outbox.queue',
          key: [{ name: 'id', type: 'bigint' }],
          sees: ['operation', 'status'],
          columns: [
            { name: 'warning', type: 'text' },
            ...jsonColumns.map((name) => ({ name, type: 'jsonb' }) as const),
            { name: 'veiled', type: 'boolean' },
          ],
          change: (row) => keptRow(privacy, row),
        }),
      ]
    : []
