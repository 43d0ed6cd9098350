// What the outbox stores of a change with personal values: of its outcome when it is settled, and of the change
// itself once it has ended.

import { isObject, type Json, type JsonObject, parseJson, stringifyJson } from '../api/wire/json.ts'
import { streamNamed } from '../catalog/catalog.ts'
import type { WriteDef } from '../catalog/types.ts'
import { writeNamed } from '../catalog/writes.ts'
import type { Queryable } from '../database/sql.ts'
import type { Privacy } from '../privacy/privacy.ts'
import type { PushContext } from './context.ts'
import { refusedFields } from './kinds/update.ts'
import type { Conflict } from './merge.ts'
import type { Outcome, Response } from './outcome.ts'
import { stateSets } from './states.ts'
import { personalFields, veiledFields } from './veil.ts'

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
