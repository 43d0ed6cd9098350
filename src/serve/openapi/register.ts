// `GET /openapi.json`: the description of what this server serves.

import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { stringifyJson } from '../../api/wire/json.ts'
import { type Described, openApiDocument } from './document.ts'

/** Puts the document on a server that does not listen yet. It holds no data: whoever the server lets in may read it. */
export function registerOpenapi(app: FastifyInstance, described: Described): void {
  const body = stringifyJson(openApiDocument(described))
  const tag = `"${createHash('sha256').update(body).digest('base64url')}"`
  app.get('/openapi.json', (request, reply) => {
    reply.headers({ etag: tag, 'cache-control': 'private, no-cache' })
    if (request.headers['if-none-match'] === tag) return reply.code(304).send()
    return reply.type('application/json; charset=utf-8').send(body)
  })
}
