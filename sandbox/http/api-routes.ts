// Serves the operations: credentials, rate limit, faults and latency around the handlers.

import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Call, Failure, type Handler, type Handlers } from '../call.ts'
import { type Operation, operations } from '../operations.ts'
import { listHandlers } from '../reads/lists.ts'
import { resourceHandlers } from '../reads/resources.ts'
import { rentalPartHandlers } from '../rules/rental-parts.ts'
import { rentalHandlers } from '../rules/rentals.ts'
import { userHandlers } from '../rules/users.ts'
import type { Service } from '../sandbox.ts'
import { createRandom } from '../world/random.ts'
import { challengeOf, createAuthCheck, createRateLimit } from './admission.ts'
import { brokenAnswer, sendBroken } from './broken.ts'
import type { FaultAction } from './faults.ts'
import { type HttpAnswer, renderAnswer } from './render-answer.ts'
import type { LoggedRequest } from './request-log.ts'

/** All operations' handlers, by method and path template. */
const handlers: Handlers = {
  ...userHandlers,
  ...listHandlers,
  ...resourceHandlers,
  ...rentalHandlers,
  ...rentalPartHandlers,
}

type Query = Record<string, string | undefined>

/** Query parameters with one value each: the last, where one is repeated. */
function singleValues(query: unknown): Query {
  return Object.fromEntries(
    Object.entries(query as Record<string, string | string[]>).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.at(-1) : value,
    ]),
  )
}

function parseJson(text: unknown): unknown {
  if (typeof text !== 'string' || text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    throw new Failure(400, 'BAD_JSON', 'The body is not JSON')
  }
}

const failureAnswer = (error: Failure): HttpAnswer => ({ status: error.status, body: error.body })

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Registers every operation; throws if one has no handler. */
export function registerApi(server: FastifyInstance, service: Service): void {
  const serve = createPipeline(service)
  for (const operation of operations) {
    const handler = handlers[`${operation.method} ${operation.path}`]
    if (!handler) throw new Error(`No handler for ${operation.method} ${operation.path}`)
    server.route({
      method: operation.method,
      url: operation.path.replace(/\{(\w+)\}/g, ':$1'),
      handler: (request, reply) => serve(operation, handler, request, reply),
    })
  }
}

function createPipeline({ world, options, faults, log }: Service) {
  const isAuthorized = createAuthCheck(options.auth, options.token)
  const rateLimit = createRateLimit(options.rateLimit, options.retryAfter)
  const random = createRandom(options.seed, 'latency')

  /** Refusals that come before anything is read. */
  function admit(request: FastifyRequest, query: Query): HttpAnswer | null {
    if (!isAuthorized({ headers: request.headers, query })) {
      const failure = new Failure(401, 'UNAUTHORIZED', 'Authorization missing or invalid')
      return { ...failureAnswer(failure), headers: { 'WWW-Authenticate': challengeOf(options.auth) } }
    }
    const retryAfter = rateLimit.take()
    if (retryAfter === null) return null
    const failure = new Failure(429, 'TOO_MANY_REQUESTS', `More than ${options.rateLimit} requests in a second`)
    return { ...failureAnswer(failure), headers: { 'Retry-After': retryAfter } }
  }

  /** Carries an operation out; a refusal becomes an answer, anything else is a defect and goes up. */
  function carryOut(handler: Handler, call: Call, request: FastifyRequest, fault?: FaultAction): HttpAnswer {
    try {
      const path = request.url.split('?', 1)[0] ?? request.url
      const address = { origin: `http://${request.headers.host}`, path }
      const body = parseJson(request.body)
      world.expire()
      return renderAnswer(handler({ ...call, body }), call, { options, address, fault })
    } catch (error) {
      if (error instanceof Failure) return failureAnswer(error)
      throw error
    }
  }

  return (operation: Operation, handler: Handler, request: FastifyRequest, reply: FastifyReply) => {
    const template = `${operation.method} ${operation.path}`
    const query = singleValues(request.query)
    const params = request.params as Record<string, string>
    const { onlyStatusChanges, uniqueEmails } = options
    const call: Call = { world, rules: { onlyStatusChanges, uniqueEmails }, params, query, body: undefined }
    const entry: LoggedRequest = {
      time: new Date().toISOString(),
      method: operation.method,
      path: request.url.split('?', 1)[0] ?? '',
      template,
      query,
      body: request.body ?? null,
      status: null,
      fault: null,
    }
    log.begin(entry)
    reply.raw.once('close', () => log.end())
    const send = (answer: HttpAnswer): FastifyReply => {
      entry.status = answer.status
      if (answer.headers) reply.headers(answer.headers)
      if (answer.status === 204) return reply.code(204).send()
      if (options.entityTags && entry.method === 'GET' && answer.status === 200) {
        const tag = `"${hash('sha256', answer.body, 'base64url').slice(0, 24)}"`
        reply.header('etag', tag)
        if (request.headers['if-none-match'] === tag) {
          entry.status = 304
          return reply.code(304).send()
        }
      }
      return reply.code(answer.status).header('content-type', 'application/json; charset=utf-8').send(answer.body)
    }
    const refusal = admit(request, query)
    if (refusal) return send(refusal)
    const fault = faults.next(template, { ...query, ...params })
    if (fault !== undefined) entry.fault = typeof fault === 'string' ? fault : JSON.stringify(fault)
    const extra = typeof fault === 'object' ? (fault.delayMs ?? 0) : 0
    const waitMs = options.latencyMs + options.jitterMs * (options.jitterMs > 0 ? random.next() : 0) + extra
    const respond = (): FastifyReply => {
      if (typeof fault === 'string') {
        return sendBroken({ reply, entry, send, carryOut: () => carryOut(handler, call, request, fault) }, fault)
      }
      return send((fault && brokenAnswer(fault)) ?? carryOut(handler, call, request))
    }
    return waitMs === 0 ? respond() : pause(waitMs).then(respond)
  }
}
