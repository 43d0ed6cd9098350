// The reads a change needs: the record it is about, the collection it adds to, records it could be taken for.

import { readEnvelope } from '../api/paging/envelope.ts'
import { asRead, get, isObject, type Json, type JsonObject, textOf } from '../api/wire/json.ts'
import { streamNamed } from '../catalog/catalog.ts'
import type { StreamDef, WriteDef } from '../catalog/types.ts'
import { ApiError, BoatMirrorError } from '../errors.ts'
import type { PushContext } from './context.ts'
import { holderOf, listRead, singleRead } from './operations.ts'

export type Params = Readonly<Record<string, string>>

/** A record and the instant its read started. `record` is null where there is none (404, 410, 204, `null`). */
export type Seen = {
  /** As the mirror holds it. */
  readonly record: Json
  /** To the last character and digit, where it was read by itself: for what is sent back and compared with it. */
  readonly exact: Json
  readonly readAt: Date
  readonly source: string
}

const isAbsent = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 404 || error.status === 410)

/** An answer that is not what was asked for proves nothing, neither presence nor absence: it is asked for again. */
const misread = (endpoint: string, what: string): ApiError =>
  new ApiError('API_WRONG_RECORD', `${endpoint} was answered with ${what}.`, { endpoint })

/** The record in an answer; null where there is none. A document has no id to know it by, but fields of its own. */
function recordIn(body: Json | undefined, endpoint: string, stream: StreamDef, params: Params): Json {
  if (body === undefined || body === null) return null
  if (!isObject(body)) throw misread(endpoint, 'something that is no record')
  const [, param] = /\{(\w+)\}$/.exec(endpoint) ?? []
  if (param === undefined) {
    if (Object.keys(body).length === 0) return null
    const hasField = stream.columns.some(({ path }) => path !== null && get(body, path) !== undefined)
    if (!hasField) throw misread(endpoint, 'something that has none of its fields')
    return body
  }
  if (textOf(body.id) !== params[param]) throw misread(endpoint, 'another record, or none')
  return body
}

function recordsIn(items: readonly Json[], endpoint: string): readonly Json[] {
  if (!items.every(isObject)) throw misread(endpoint, 'a list that holds something else than records')
  return items
}

async function readOne(
  context: PushContext,
  endpoint: string,
  stream: StreamDef,
  params: Params,
  signal: AbortSignal,
): Promise<Seen> {
  const readAt = context.clock.now()
  try {
    const { body, startedAt } = await context.api.read({ endpoint, params, exact: true, priority: 'write', signal })
    const record = recordIn(body === undefined ? undefined : asRead(body), endpoint, stream, params)
    return { record, exact: record === null ? null : (body ?? null), readAt: startedAt, source: endpoint }
  } catch (error) {
    if (!isAbsent(error)) throw error
    return { record: null, exact: null, readAt, source: endpoint }
  }
}

/** Reads the record a change writes. @throws ApiError for everything but an answer or an absence. */
export const readRecord = (context: PushContext, write: WriteDef, params: Params, signal: AbortSignal): Promise<Seen> =>
  readOne(context, singleRead(write), streamNamed(write.stream), params, signal)

/** Reads the rental or user a change belongs to. @throws ApiError */
export async function readHolder(
  context: PushContext,
  write: WriteDef,
  params: Params,
  signal: AbortSignal,
): Promise<Seen> {
  const { stream } = holderOf(write)
  if (stream.reads.kind !== 'list') throw new Error(`${stream.name} has no read of one record.`)
  return readOne(context, stream.reads.single.endpoint, stream, params, signal)
}

/** Reads the whole collection a change adds to; null when its parent is gone. @throws ApiError */
export async function readCollection(
  context: PushContext,
  write: WriteDef,
  params: Params,
  signal: AbortSignal,
): Promise<readonly Json[] | null> {
  const items: Json[] = []
  try {
    const pages = context.api.list({
      endpoint: listRead(write),
      params,
      paging: { ...context.settings.api.paging, style: 'none' },
      pageBase: 0,
      priority: 'write',
      signal,
    })
    for await (const page of pages) items.push(...recordsIn(page.items, listRead(write)))
  } catch (error) {
    if (!isAbsent(error)) throw error
    return null
  }
  return items
}

/** Reads what a filtered list shows first; no page is asked for, so that the number of the first one does not matter. */
async function readFirst(
  context: PushContext,
  endpoint: string,
  query: Params,
  signal: AbortSignal,
): Promise<readonly Json[]> {
  const { paging } = context.settings.api
  const size = String(Math.min(paging.pageSize, 100)) // the largest documented page
  const answer = await context.api.read({
    endpoint,
    query: { ...query, [paging.sizeParam]: size },
    priority: 'write',
    signal,
  })
  try {
    return recordsIn(readEnvelope(answer.body ?? [], answer.headers, paging).items, endpoint)
  } catch (error) {
    if (!(error instanceof BoatMirrorError) || error instanceof ApiError) throw error
    throw new ApiError(error.code, `${endpoint}: ${error.message}`, { endpoint, cause: error })
  }
}

/**
 * The newest rentals of a resource; the list has no filter for references
 * (docs/sources.md, reference/rental-management/list-rentals-paginated). @throws ApiError
 */
export const readNewestRentals = (
  context: PushContext,
  resourceId: string,
  signal: AbortSignal,
): Promise<readonly Json[]> => {
  const endpoint = listRead({ stream: 'rentals' })
  return readFirst(context, endpoint, { resourceId, order: 'creationDateDesc' }, signal)
}

/** Users who could be the one described: by e-mail, else by last or first name; null when neither is given. @throws ApiError */
export async function readUsersLike(
  context: PushContext,
  body: Readonly<JsonObject>,
  signal: AbortSignal,
): Promise<readonly Json[] | null> {
  const email = textOf(body.email)
  const name = textOf(body.lastName) ?? textOf(body.firstName)
  if (email === undefined && name === undefined) return null
  const query: Params = email === undefined ? { name: String(name) } : { email }
  return readFirst(context, listRead({ stream: 'users' }), query, signal)
}

/** Departure of a slot as the mirror knows it, ISO; null where it does not. */
export async function slotDeparture(context: PushContext, resourceId: string, slotId: string): Promise<string | null> {
  const { rows } = await context.database.pool.query<{ departure_datetime: Date | null }>(
    `select departure_datetime from mirror.${streamNamed('resource_slots').name} where resource_id = $1 and id = $2`,
    [resourceId, slotId],
  )
  return rows[0]?.departure_datetime?.toISOString() ?? null
}

/** The ids of records. */
export const idsOf = (records: readonly Json[]): readonly string[] =>
  records.flatMap((record) => textOf(get(record, 'id')) ?? [])
