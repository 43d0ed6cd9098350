// `GET /openapi.json`: the description of what this server serves.

import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { stringifyJson } from '../../api/wire/json.ts'
import type { Caller } from '../types.ts'
import { namesTag } from '../writes/tags.ts'
import { type Described, openApiDocument } from './document.ts'

type OpenapiDeps = {
  readonly described: Described
  /** Reads the shapes of lists that were found out since. */
  readonly readShapes: () => Promise<NonNullable<Described['shapes']>>
  /** Who sends a request. What it throws is answered as for every other read. */
  callerOf(request: FastifyRequest): Promise<Caller>
}

/** Puts the document on a server that does not listen yet. It holds no records: every caller that may send requests may read it. */
export function registerOpenapi(app: FastifyInstance, { described, readShapes, callerOf }: OpenapiDeps): void {
  let last: { readonly places: string; readonly body: string; readonly tag: string } | null = null
  app.get('/openapi.json', async (request, reply) => {
    await callerOf(request)
    const shapes = await readShapes()
    const places = JSON.stringify([...shapes].map(([stream, { items }]) => [stream, items]))
    if (last?.places !== places) {
      const made = stringifyJson(openApiDocument({ ...described, shapes }))
      last = { places, body: made, tag: createHash('sha256').update(made).digest('base64url') }
    }
    const { body, tag } = last
    reply.headers({ etag: `"${tag}"`, 'cache-control': 'private, no-cache' })
    if (namesTag(request.headers['if-none-match'] ?? '', tag)) return reply.code(304).send()
    return reply.type('application/json; charset=utf-8').send(body)
  })
}
