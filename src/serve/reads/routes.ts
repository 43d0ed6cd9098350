// The reads of the catalog under their own paths: each endpoint has one handler, and all answer with the same headers.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readsOf, streams } from '../../catalog/catalog.ts'
import type { ReadEndpoint, StreamDef } from '../../catalog/types.ts'
import type { ServeContext } from '../context.ts'
import type { Caller } from '../types.ts'
import { namesTag } from '../writes/tags.ts'
import { collectionHandler } from './collections.ts'
import { datedHandler } from './dated.ts'
import { createLists } from './lists.ts'
import { type Handler, Query, type RawQuery, type ReadRequest, refuse, type Served } from './query.ts'
import { recordHandler, relatedHandler } from './records.ts'
import { createThrough } from './through.ts'

/** Whether Cache-Control of a request holds a directive. */
const directs = ({ headers }: FastifyRequest, directive: string): boolean =>
  (headers['cache-control'] ?? '').split(',').some((each) => each.trim().toLowerCase() === directive)

/** Where the credential stands: in a header, or in this query parameter. */
const credentialParam = ({ settings: { api } }: ServeContext): string | null =>
  api.auth.kind === 'query' ? api.auth.name : null

const varyOf = ({ settings: { api } }: ServeContext): string =>
  api.auth.kind === 'header' ? `Authorization, ${api.auth.name}` : 'Authorization'

/** The path of an endpoint as fastify writes it. */
const urlOf = (endpoint: string): string => endpoint.replace(/^\w+ /, '').replace(/\{(\w+)\}/g, ':$1')

/** Reads that answer one record. */
function isOfOneRecord({ reads }: StreamDef, endpoint: ReadEndpoint): boolean {
  if (reads.kind === 'list') return endpoint !== reads.list
  return reads.kind === 'document' || (reads.kind === 'collection' && endpoint !== reads.list)
}

function requestOf(
  context: ServeContext,
  request: FastifyRequest,
  {
    caller,
    stream,
    endpoint,
  }: { readonly caller: Caller; readonly stream: StreamDef; readonly endpoint: ReadEndpoint },
): ReadRequest {
  const credential = credentialParam(context)
  const query = new Query(request.query as RawQuery, credential === null ? [] : [credential])
  const asked = query.choice('fresh', ['1'])
  if (asked !== undefined && !isOfOneRecord(stream, endpoint))
    throw refuse('fresh', 'only a read of one record asks the API first')
  const noStale = directs(request, 'stale-if-error=0')
  // fetch adds no-cache to whatever is asked with If-None-Match: what hangs below a record is read only for who means it.
  const byHeader = isOfOneRecord(stream, endpoint) || (noStale && stream.reads.kind === 'collection')
  const search = new URLSearchParams(request.url.split('?').slice(1).join('?'))
  if (credential !== null) search.delete(credential)
  return {
    caller,
    params: request.params as Readonly<Record<string, string>>,
    query,
    fresh: asked !== undefined || (byHeader && directs(request, 'no-cache')),
    noStale,
    search: search.toString(),
  }
}

function answer(context: ServeContext, request: FastifyRequest, reply: FastifyReply, served: Served): FastifyReply {
  const ageMs = Math.max(0, context.sync.clock.now().getTime() - served.asOf.getTime())
  ages.set(request, ageMs)
  reply.headers({
    ...served.headers,
    'x-as-of': served.asOf.toISOString(),
    age: String(Math.floor(ageMs / 1_000)),
    'cache-control': 'private, no-cache',
    vary: varyOf(context),
  })
  reply.header('etag', `"${served.tag}"`)
  if (namesTag(request.headers['if-none-match'] ?? '', served.tag)) return reply.code(304).send()
  return reply.type('application/json; charset=utf-8').send(served.body)
}

/** How old what was answered is, for the metrics. */
const ages = new WeakMap<FastifyRequest, number>()
export const ageOf = (request: FastifyRequest): number | null => ages.get(request) ?? null

/** Puts the 56 reads on a server that does not listen yet. */
export function registerReads(app: FastifyInstance, context: ServeContext): void {
  const through = createThrough(context.sync, context.settings.serveFreshLimit)
  const deps = { context, through }
  const listHandler = createLists(context)
  const handlerOf = (stream: StreamDef, endpoint: ReadEndpoint): Handler => {
    const handler =
      listHandler(stream, endpoint) ??
      recordHandler(deps, stream, endpoint) ??
      relatedHandler(deps, stream, endpoint) ??
      collectionHandler(deps, stream, endpoint) ??
      datedHandler(deps, stream, endpoint)
    if (handler === null) throw new Error(`Nothing serves ${endpoint}.`)
    return handler
  }
  for (const stream of streams)
    for (const endpoint of readsOf(stream)) {
      const handler = handlerOf(stream, endpoint)
      app.get(urlOf(endpoint), async (request, reply) => {
        const caller = await context.callerOf(request)
        const served = await handler(requestOf(context, request, { caller, stream, endpoint }))
        return answer(context, request, reply, served)
      })
    }
}
