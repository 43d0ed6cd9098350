// `serve`: the API from the mirror, for programs that call the API. The server, its guard, and what is answered where something
// is wrong.

import type { AddressInfo } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { isKnownHost, isLoopback } from '../addresses.ts'
import { sqlStateOf } from '../database/sql-states.ts'
import { BoatMirrorError, messageOf } from '../errors.ts'
import { registerCalendars } from './calendars/calendars.ts'
import type { ServeContext } from './context.ts'
import { registerOpenapi } from './openapi/document.ts'
import { type Answer, failureAnswer, problem, send } from './problem.ts'
import { ageOf, registerReads } from './reads/routes.ts'
import { registerReports } from './reports.ts'
import { registerWrites } from './writes/routes.ts'

/** Longer ids are none of the API's. */
const maxParamLength = 500

/** Why a request is refused before anything is read; null: it is not. */
function refusalOf(request: FastifyRequest, host: string): Answer | null {
  const { headers } = request
  if (!isKnownHost(headers.host, host))
    return problem(
      421,
      'This address does not answer to that name. Use localhost, an address, or the name in SERVE_LISTEN.',
    )
  const isForeign = headers.origin !== undefined && !isOwnOrigin(headers.origin, headers.host)
  if (isForeign || headers['sec-fetch-site'] === 'cross-site')
    return problem(403, 'Pages of other sites are not answered.')
  return null
}

const isOwnOrigin = (origin: string, host: string | undefined): boolean =>
  URL.canParse(origin) && new URL(origin).host === host

/** Methods by the patterns of the paths that have them. */
type Routes = Map<string, Set<string>>

const fits = (pattern: string, path: string): boolean => {
  const [wanted, given] = [pattern.split('/'), path.split('/')]
  return wanted.length === given.length && wanted.every((part, index) => part.startsWith(':') || part === given[index])
}

/** Notes each route that is put on a server. */
function watchRoutes(app: FastifyInstance): Routes {
  const routes: Routes = new Map()
  app.addHook('onRoute', ({ url, method }) => {
    const known = routes.get(url) ?? new Set<string>()
    for (const each of [method].flat()) known.add(each)
    routes.set(url, known)
  })
  return routes
}

function notFoundAnswer(routes: Routes, { url, method }: FastifyRequest): Answer {
  const path = url.split('?', 1)[0] ?? url
  const allowed = new Set([...routes].flatMap(([pattern, methods]) => (fits(pattern, path) ? [...methods] : [])))
  if (allowed.size === 0) return problem(404, 'There is no such path.')
  const allow = [...allowed].sort().join(', ')
  return problem(405, `${method} is not served here. Served are ${allow}.`, {}, { allow })
}

/** Whether Postgres did not let the server become a role, or this role do what was asked. */
const isOfRole = (thrown: unknown): boolean => ['22023', '42501'].includes(sqlStateOf(thrown) ?? '')

/** Makes the server, which does not listen yet. */
export function createServeApp(context: ServeContext): FastifyInstance {
  const app = Fastify({
    logger: false,
    bodyLimit: 1_000_000,
    requestTimeout: 60_000,
    connectionTimeout: context.settings.serveWaitMs + 120_000, // nothing moves while a write waits; reads take less
    keepAliveTimeout: 30_000,
    forceCloseConnections: true,
    routerOptions: { maxParamLength, ignoreTrailingSlash: false },
    // What no route is looked for passes neither hooks nor the handler of errors.
    frameworkErrors: (_error, _request, reply) => {
      send(reply, problem(400, 'The path holds a % that is not followed by two hexadecimal digits of UTF-8.'))
    },
  })
  const routes = watchRoutes(app)
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ 'x-content-type-options': 'nosniff', 'x-idempotency-key': 'kept' })
    const refused = refusalOf(request, context.host)
    if (refused !== null) return send(reply, refused)
  })
  app.addHook('onResponse', async (request, reply) => {
    context.metrics.answered({
      route: request.routeOptions.url ?? 'none',
      status: reply.statusCode,
      ms: reply.elapsedTime,
      ageMs: ageOf(request),
    })
  })
  app.setNotFoundHandler((request, reply) => send(reply, notFoundAnswer(routes, request)))
  app.setErrorHandler(async (thrown, request, reply) => {
    // A token that was revoked while its request was answered, and took its role with it, is refused as it is from now on.
    const why = isOfRole(thrown)
      ? await context.callerOf(request).then(
          () => thrown,
          (refused) => refused,
        )
      : thrown
    return send(reply, failureAnswer(context.log, why, request.routeOptions.url))
  })
  registerReads(app, context)
  registerWrites(app, context)
  registerCalendars(app, context)
  registerReports(app, context)
  registerOpenapi(app, context)
  // Only this machine sees how much is requested: what a proxy on it passes on needs a token.
  if (isLoopback(context.host)) {
    const { registry } = context.metrics
    app.get('/metrics', async (request, reply) => {
      await context.callerOf(request)
      return reply.type(registry.contentType).send(await registry.metrics())
    })
  }
  return app
}

export type ServeServer = AsyncDisposable & { readonly url: string }

/** Listens. @throws BoatMirrorError CONFIG_INVALID where the address is taken or not this machine's */
export async function listenServe(
  context: ServeContext,
  at: { readonly host: string; readonly port: number },
): Promise<ServeServer> {
  const app = createServeApp(context)
  try {
    await app.listen(at)
  } catch (cause) {
    await app.close()
    throw new BoatMirrorError('CONFIG_INVALID', `SERVE_LISTEN is ${at.host}:${at.port}: ${messageOf(cause)}.`, {
      remedy: 'Set SERVE_LISTEN to a free address of this machine.',
      cause,
    })
  }
  const address = app.server.address()
  const { port, family } = address as AddressInfo
  const host = family === 'IPv6' ? `[${at.host}]` : at.host
  return { url: `http://${host}:${port}`, [Symbol.asyncDispose]: () => app.close() }
}
