// The server of the operator's pages, beside the worker. No failure here stops the worker.

import type { AddressInfo } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import { translateDatabaseError } from '../database/sql-states.ts'
import { messageOf } from '../errors.ts'
import { stringifyJson } from '../json/plain.ts'
import { kept } from '../memo.ts'
import { registerDecisionPages } from './decision-pages.ts'
import { decidesOf, isDetailRoute, registerDetailPages } from './detail-pages.ts'
import { createGuesses, guard } from './guard.ts'
import { registerHealth } from './health.ts'
import { createMetrics, type JobCounts, openJobCounts } from './metrics.ts'
import { createFactsReader, type OperatorContext } from './page-facts.ts'
import { renderPage, renderTrouble } from './pages/status-page.ts'
import { icon, liveScript } from './parts/live-script.ts'
import { styleSheet } from './parts/style.ts'

const factsMaxAgeMs = 1_000

export type OperatorServer = AsyncDisposable & {
  /** Where the pages are; null when they could not be served, which was logged. */
  readonly url: string | null
  close(): Promise<void>
}

function createServer(): FastifyInstance {
  return Fastify({
    logger: false,
    bodyLimit: 4_096,
    requestTimeout: 15_000,
    connectionTimeout: 60_000,
    keepAliveTimeout: 10_000,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 200, ignoreTrailingSlash: false },
  })
}

function registerAssets(server: FastifyInstance): void {
  const options = { config: { open: true } }
  const asset = (path: string, type: string, body: string): void => {
    server.get(path, options, (_request, reply) => reply.header('cache-control', 'no-cache').type(type).send(body))
  }
  asset('/assets/style.css', 'text/css; charset=utf-8', styleSheet)
  asset('/assets/live.js', 'text/javascript; charset=utf-8', liveScript)
  asset('/assets/icon.svg', 'image/svg+xml', icon)
}

function registerPages(server: FastifyInstance, context: OperatorContext, jobs: JobCounts): void {
  const facts = kept(createFactsReader(context), factsMaxAgeMs)
  const { host, adminToken } = context.config
  guard(server, { host, adminToken, guesses: createGuesses() })
  registerAssets(server)
  registerHealth(server, context)
  const metrics = createMetrics({ context, facts, jobs: jobs.read })
  context.onCall(metrics.observe)

  server.setReplySerializer((value) => stringifyJson(value))
  server.get('/', async (request, reply) => {
    const page = renderPage(await facts(), decidesOf(adminToken, request))
    return reply.type('text/html; charset=utf-8').send(page)
  })
  registerDetailPages(server, context, facts)
  registerDecisionPages(server, context)
  server.get('/api/status', () => context.readStatus())
  server.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()))
  server.setNotFoundHandler((_request, reply) =>
    reply.code(404).type('text/plain; charset=utf-8').send('Page not found.\n'),
  )
  server.setErrorHandler((thrown, request, reply) => {
    const error = translateDatabaseError(thrown)
    const status = (thrown as { statusCode?: number }).statusCode ?? 503
    if (status >= 500)
      context.log.warn({ event: 'page_failed', route: request.routeOptions.url, err: error }, 'failed to serve a page')
    const message = status >= 500 ? messageOf(error) : 'The request is malformed.'
    if (request.routeOptions.url === '/' || isDetailRoute(request.routeOptions.url))
      return reply.code(status).type('text/html; charset=utf-8').send(renderTrouble(message))
    return reply.code(status).send({ error: message })
  })
}

/** Serves the pages on HOST and PORT. Never throws: if they cannot be served, for example because the port is in use, it logs that. */
export async function startOperatorServer(context: OperatorContext): Promise<OperatorServer> {
  const { config, log } = context
  const server = createServer()
  const jobs = openJobCounts(context)
  const close = async (): Promise<void> => {
    await server.close()
    await jobs.close()
  }
  try {
    registerPages(server, context, jobs)
    await server.listen({ host: config.host, port: config.port })
  } catch (error) {
    const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
    const why = taken ? `port ${config.port} is already in use (PORT=0 uses a free port)` : messageOf(error)
    log.warn({ event: 'pages_not_served', reason: messageOf(error) }, `no operator pages from this process: ${why}`)
    return { url: null, close, [Symbol.asyncDispose]: close }
  }
  const { port, address, family } = server.server.address() as AddressInfo
  const host = family === 'IPv6' ? `[${address}]` : address
  const url = `http://${host}:${port}`
  log.info({ event: 'pages_served', url }, `operator pages at ${url}`)
  return { url, close, [Symbol.asyncDispose]: close }
}
