// What a change reads from the API: the record it is about, the collection it adds to, records it could be taken for. Where
// that is comes from the catalog, so that an endpoint is described nowhere else.

import { readEnvelope } from '../api/paging/envelope.ts'
import { asRead, get, isObject, type Json, textOf } from '../api/wire/json.ts'
import { streamNamed, streams } from '../catalog/catalog.ts'
import type { ReadEndpoint, StreamDef, WriteDef } from '../catalog/types.ts'
import { ApiError, BoatMirrorError } from '../errors.ts'
import { pageBaseOf, probePageBase } from '../profile/page-base.ts'
import { mayConcernParameters, readProfile } from '../profile/profile.ts'
import type { PushContext } from './context.ts'

export type Params = Readonly<Record<string, string>>

/** A record and the instant its read started. */
export type Seen = {
  /** As the mirror holds it. */
  readonly record: Json
  /** To the last character and digit, if it was read singly: for what is sent back and compared with it. */
  readonly exact: Json
  readonly readAt: Date
  readonly source: string
  /** Another change whose fate is not known and that may have made it. */
  readonly claimedBy?: string
}

/** The read that answers the record the operation writes. */
export function singleRead(write: WriteDef): ReadEndpoint {
  const { reads } = streamNamed(write.stream)
  if (reads.kind === 'document') return reads.endpoint
  const single = reads.kind === 'list' || reads.kind === 'collection' ? reads.single : undefined
  if (single === undefined) throw new Error(`${write.stream} has no read of one record.`)
  return single.endpoint
}

/** The read that answers the collection the operation adds to, or the list a created record appears in. */
function listRead(write: WriteDef): ReadEndpoint {
  const { reads } = streamNamed(write.stream)
  if (reads.kind === 'list' || reads.kind === 'collection') return reads.list
  throw new Error(`${write.stream} has no list.`)
}

/** The record an aggregate is about: its stream, the read that answers it, and the path parameter that names it. */
export function rootOf({ aggregate }: WriteDef): {
  readonly stream: StreamDef
  readonly endpoint: ReadEndpoint
  readonly param: string
} {
  const stream = streams.find((each) => each.aggregate === aggregate)
  if (stream?.reads.kind !== 'list') throw new Error(`No list of the catalog is of the aggregate ${aggregate}.`)
  const { endpoint, param } = stream.reads.single
  return { stream, endpoint, param }
}

/** The key of the written record in its mirror table; null while it has no id yet. */
export function mirrorKey(write: WriteDef, params: Params, id: string | null): readonly string[] | null {
  const stream = streamNamed(write.stream)
  const values = Object.keys(write.target).map((name) => params[name] ?? '')
  const key = values.length < stream.key.length && id !== null ? [...values, id] : values
  return key.length === stream.key.length ? key : null
}

/** True where the API answers that the record does not exist. */
export const isAbsent = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 404 || error.status === 410)

/** An answer about something else proves nothing, neither presence nor absence: it is requested again. */
const misread = (endpoint: string, what: string): ApiError =>
  new ApiError('API_WRONG_RECORD', `${endpoint} returned ${what}.`, { endpoint })

/** The record in an answer; null where an optional document is missing. A document has no id, only its own fields. */
function recordIn(body: Json | undefined, endpoint: string, stream: StreamDef, params: Params): Json {
  const [, param] = /\{(\w+)\}$/.exec(endpoint) ?? []
  if (param === undefined && (body === undefined || body === null)) return null
  if (!isObject(body)) throw misread(endpoint, 'something that is not a record')
  if (param === undefined) {
    if (Object.keys(body).length === 0) return null
    const hasField = stream.columns.some(({ path }) => path !== null && get(body, path) !== undefined)
    if (!hasField) throw misread(endpoint, 'something that has none of its fields')
    return body
  }
  if (textOf(body.id) !== params[param]) throw misread(endpoint, 'another record, or none')
  return body
}

function recordsIn(items: readonly Json[], endpoint: string, readAt: Date): readonly Seen[] {
  if (!items.every(isObject)) throw misread(endpoint, 'a list with items that are not records')
  return items.map((record) => ({ record, exact: record, readAt, source: endpoint }))
}

/** What reads need of a delivery. */
type Reading = {
  readonly context: PushContext
  readonly change: { readonly write: WriteDef }
  readonly signal: AbortSignal
}

async function readOne(
  { context: { api, fresh = false }, signal }: Reading,
  { endpoint, stream }: { readonly endpoint: ReadEndpoint; readonly stream: StreamDef },
  params: Params,
): Promise<Seen | null> {
  try {
    const { body, startedAt } = await api.read({ endpoint, params, exact: true, fresh, priority: 'write', signal })
    const record = recordIn(body === undefined ? undefined : asRead(body), endpoint, stream, params)
    return record === null ? null : { record, exact: body ?? null, readAt: startedAt, source: endpoint }
  } catch (error) {
    if (isAbsent(error)) return null
    throw error
  }
}

/** Reads the record that a change writes; null: there is none (404, 410; of a document also 204, `null`). @throws ApiError */
export function readRecord(reading: Reading, params: Params): Promise<Seen | null> {
  const { write } = reading.change
  return readOne(reading, { endpoint: singleRead(write), stream: streamNamed(write.stream) }, params)
}

/** Reads the rental or user that a change belongs to. @throws ApiError */
export const readRoot = (reading: Reading, params: Params): Promise<Seen | null> =>
  readOne(reading, rootOf(reading.change.write), params)

/** Reads the collection that a change adds to; null if its parent is gone, which is requested after a 404. @throws ApiError */
export async function readCollection(reading: Reading, params: Params): Promise<readonly Seen[] | null> {
  const { change, signal } = reading
  const { api, clock, settings, fresh = false } = reading.context
  const endpoint = listRead(change.write)
  const readAt = clock.now()
  const found: Seen[] = []
  try {
    const paging = { ...settings.api.paging, style: 'none' } as const
    const pages = api.list({ endpoint, params, paging, pageBase: 0, fresh, priority: 'write', signal })
    for await (const page of pages) found.push(...recordsIn(page.items.values(), endpoint, readAt))
  } catch (error) {
    if (!isAbsent(error)) throw error
    return (await readRoot(reading, params)) === null ? null : []
  }
  return found
}

/** Reads a list with parameters, or in another way if the API refuses one of them, which is noted. */
async function unlessRefused<Read>(
  { context, change: { write } }: Reading,
  names: readonly string[],
  read: () => Promise<Read>,
  otherwise: () => Promise<Read>,
): Promise<Read> {
  const profile = await readProfile(context.database.pool, context.clock)
  const refused = profile.refused(write.stream)
  if (names.some((name) => refused.has(name))) return await otherwise()
  try {
    return await read()
  } catch (error) {
    if (!mayConcernParameters(error)) throw error
    const found = await otherwise()
    await profile.noteRefused(write.stream, names, error.message)
    return found
  }
}

/**
 * Reads the first page of a filtered list in an order, the newest first. Where the API refuses the order, reads all of the list: it is
 * usually in the order of creation, and is reversed.
 * @throws ApiError
 */
export function readNewest(reading: Reading, query: Params, order: string): Promise<readonly Seen[]> {
  return unlessRefused(
    reading,
    ['order'],
    async () => (await readFirstPage(reading, { ...query, order })).found,
    async () => [...(await readPages(reading, query)).found].reverse(),
  )
}

export type LookUp = {
  readonly found: readonly Seen[]
  /** A record that is not among them does not exist. */
  readonly showsAll: boolean
}

/** Reads a filtered list to its end, or at most this number of pages of it. */
async function readPages({ context, change, signal }: Reading, query: Params, maxPages?: number): Promise<LookUp> {
  const { api, clock, settings } = context
  const endpoint = listRead(change.write)
  const readAt = clock.now()
  const call = { endpoint, query, paging: settings.api.paging, priority: 'write', signal } as const
  const profile = await readProfile(context.database.pool)
  const { number: pageBase } = await pageBaseOf(call.paging, profile, () => probePageBase(api, call))
  const found: Seen[] = []
  let showsAll = true
  for await (const page of api.list({ ...call, pageBase, ...(maxPages !== undefined && { maxPages }) })) {
    found.push(...recordsIn(page.items.values(), endpoint, readAt))
    showsAll = page.next === null || page.index + 1 !== maxPages
  }
  return { found, showsAll }
}

/** Reads the first page of a filtered list. No page parameter is sent, so the number of the first page is irrelevant. */
async function readFirstPage({ context, change, signal }: Reading, query: Params): Promise<LookUp> {
  const { api, clock } = context
  const { paging } = context.settings.api
  const endpoint = listRead(change.write)
  const size = String(Math.min(paging.pageSize, 100)) // the largest documented page
  const readAt = clock.now()
  const answer = await api.read({ endpoint, query: { ...query, [paging.sizeParam]: size }, priority: 'write', signal })
  try {
    const { items, total, next } = readEnvelope(answer.body ?? [], answer.headers, paging)
    const ends =
      total === null ? next === null || (next === undefined && items.length < shortestPage) : total <= items.length
    return { found: recordsIn(items, endpoint, readAt), showsAll: ends }
  } catch (error) {
    if (!(error instanceof BoatMirrorError) || error instanceof ApiError) throw error
    throw new ApiError(error.code, `${endpoint}: ${error.message}`, { endpoint, cause: error })
  }
}

/** No server makes its pages shorter than this: a shorter page is all of a list. */
export const shortestPage = 5

/** A longer look-up is given up: the list is not filtered, or by a value that fits too many records. */
const mostPages = 5

/**
 * Reads what a filter finds, to its end where that is not far. Where the API refuses the filter, reads the beginning of the list, which
 * proves nothing about records that are not on it.
 * @throws ApiError
 */
export function readFiltered(reading: Reading, query: Params): Promise<LookUp> {
  const found = async (): Promise<LookUp> => {
    const first = await readFirstPage(reading, query)
    if (first.showsAll) return first
    try {
      return await readPages(reading, query, mostPages)
    } catch (error) {
      // How the list continues is unknown; the records found exist all the same.
      if (error instanceof ApiError && error.code.startsWith('PAGING_')) return first
      throw error
    }
  }
  const beginning = async (): Promise<LookUp> => ({
    found: (await readPages(reading, {}, mostPages)).found,
    showsAll: false,
  })
  return unlessRefused(reading, Object.keys(query), found, beginning)
}

export const idsOf = (found: readonly Seen[]): readonly string[] =>
  found.flatMap(({ record }) => textOf(get(record, 'id')) ?? [])
