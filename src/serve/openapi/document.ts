// The OpenAPI document of what is served, made from the catalog, and `GET /openapi.json`, which answers it.

import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { isLoopback } from '../../addresses.ts'
import type { ListShape } from '../../api/paging/envelope.ts'
import { type Json, stringifyJson } from '../../api/wire/json.ts'
import { streams } from '../../catalog/catalog.ts'
import type { StreamDef } from '../../catalog/types.ts'
import type { ApiSettings, AuthSetting } from '../../config.ts'
import { keepsAll, type PrivacySettings } from '../../privacy/rules.ts'
import { entries, readProfile } from '../../profile/profile.ts'
import { pagingOf } from '../../sync/lists/paging.ts'
import type { ServeContext } from '../context.ts'
import { namesTag } from '../writes/tags.ts'
import { answerComponents, answerSchemas } from './answers.ts'
import { operations } from './operations.ts'
import { recordName, recordSchema, type Schema } from './schemas.ts'

/** What the document depends on. */
export type Described = {
  readonly api: Pick<ApiSettings, 'auth' | 'paging' | 'lists'>
  readonly privacy: PrivacySettings
  /** May this machine read without a token? */
  readonly isOpenToLocal: boolean
  /** The shapes of lists that were found out, by stream; of others, the settings say where the records stand. */
  readonly shapes?: ReadonlyMap<string, Pick<ListShape, 'items'>>
}

/** Where the token is sent: as the API takes its secret, and always as a bearer. */
function securitySchemes(auth: AuthSetting): Readonly<Record<string, Schema>> {
  const bearer = { bearer: { type: 'http', scheme: 'bearer' } }
  switch (auth.kind) {
    case 'basic':
      return { basic: { type: 'http', scheme: 'basic' }, ...bearer }
    case 'header':
    case 'query':
      return { apiKey: { type: 'apiKey', in: auth.kind, name: auth.name }, ...bearer }
    case 'bearer':
    case 'none':
      return bearer
    default:
      return auth satisfies never
  }
}

/** The document, in OpenAPI 3.1. */
export function openApiDocument({ api, privacy, isOpenToLocal, shapes }: Described): Schema {
  const schemes = securitySchemes(api.auth)
  const withToken: Json[] = Object.keys(schemes).map((name) => ({ [name]: [] }))
  const paths: Record<string, Schema> = {}
  const listOf = (stream: StreamDef) => {
    const paging = pagingOf(stream, api)
    const items = shapes?.get(stream.name)?.items
    return items === undefined ? paging : { ...paging, itemsPath: items.join('.') || null }
  }
  for (const { path, method, operation } of operations(listOf)) {
    const security = method === 'get' && isOpenToLocal ? [...withToken, {}] : withToken
    paths[path] = { ...paths[path], [method]: { security, ...operation } }
  }
  // A price table and a calendar are described where they are answered.
  const recorded = streams.filter(({ reads }) => reads.kind !== 'pricetable' && reads.kind !== 'calendar')
  return {
    openapi: '3.1.0',
    info: {
      title: 'Boat Mirror',
      version: 'v3',
      description: 'The boat-rental API from its mirror. Every member of a record may be absent or null.',
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      ...answerComponents(),
      schemas: {
        ...Object.fromEntries(recorded.map((stream) => [recordName(stream), recordSchema(stream, privacy)])),
        ...answerSchemas(),
      },
      securitySchemes: schemes,
    },
  }
}

/** Puts the document on a server that does not listen yet. It holds no records: every caller that may send requests may read it. */
export function registerOpenapi(
  app: FastifyInstance,
  context: ServeContext,
  shapesNow = async () => (await readProfile(context.sync.database.pool)).values(entries.shape),
): void {
  const { privacy } = context.sync
  const described = {
    ...{ api: context.settings.api, privacy: privacy?.settings ?? keepsAll, isOpenToLocal: isLoopback(context.host) },
  }
  let last: { readonly places: string; readonly body: string; readonly tag: string } | null = null
  app.get('/openapi.json', async (request, reply) => {
    await context.callerOf(request)
    const shapes = await shapesNow()
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
