// The sandbox as a library: a stateful imitation of the whole API with the handles a test or a developer needs. It is
// an independent reading of the sources (docs/sources.md) and shares no code with the rest of the product.

import type { AddressInfo } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import { Failure } from './call.ts'
import type { Change } from './control/mutate.ts'
import { registerControl } from './control/routes.ts'
import type { TruthOptions } from './control/truth.ts'
import { registerApi } from './http/api-routes.ts'
import { type FaultRule, FaultSet } from './http/faults.ts'
import { type LoggedRequest, RequestLog, type Stats } from './http/request-log.ts'
import { defaultOptions, type SandboxOptions } from './options.ts'
import { handlesOf, type Sandbox } from './sandbox.ts'
import { createClock } from './world/clock.ts'
import { generateWorld } from './world/generate.ts'

export type { TruthRow } from './sandbox.ts'
export type { Change, FaultRule, LoggedRequest, Sandbox, SandboxOptions, Stats, TruthOptions }

/** What the log knows of a request that matches no operation. */
const unknownOperation = { template: null, query: {}, body: null, fault: null }

function createServer(log: RequestLog): FastifyInstance {
  const server = Fastify({
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    bodyLimit: 32 * 1024 * 1024,
    routerOptions: { maxParamLength: 2_000 },
  })
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  server.setNotFoundHandler((request, reply) => {
    const { method, url } = request
    const failure = new Failure(404, 'NO_SUCH_OPERATION', `${method} ${url} is not an operation of this API`)
    log.begin({ ...unknownOperation, time: new Date().toISOString(), method, path: url, status: 404 })
    reply.raw.once('close', () => log.end())
    reply.code(404).header('content-type', 'application/json; charset=utf-8').send(failure.body)
  })
  server.setErrorHandler((error: unknown, _request, reply) => {
    const status = (error as { statusCode?: number }).statusCode ?? 500
    const message = error instanceof Error ? error.message : String(error)
    const failure = error instanceof Failure ? error : new Failure(status, 'ERROR', message)
    reply.code(failure.status).header('content-type', 'application/json; charset=utf-8').send(failure.body)
  })
  return server
}

/**
 * Creates a world, serves it, and returns the handles to it. RangeError for options that make no sense.
 * @param saved goes on with the world of an earlier sandbox.
 */
export async function createSandbox(wishes: Partial<SandboxOptions> = {}, saved?: Uint8Array): Promise<Sandbox> {
  const options: SandboxOptions = { ...defaultOptions, ...wishes }
  const clock = createClock(options.now ?? undefined)
  const { seed, size, heldAtMost, touch: touchParents } = options
  const world = generateWorld({ seed, size, heldAtMost, clock, touchParents, saved })
  const faults = new FaultSet(options.seed)
  const log = new RequestLog()
  for (const rule of options.faults) faults.add(rule)

  const server = createServer(log)
  const service = { world, options, faults, log }
  registerApi(server, service)

  let closing: Promise<void> | undefined
  const close = (): Promise<void> => {
    closing ??= server.close()
    return closing
  }
  let address: AddressInfo | null = null
  const sandbox: Sandbox = {
    ...handlesOf(service),
    save: () => world.save(),
    close,
    [Symbol.asyncDispose]: close,
    get port() {
      return address?.port ?? options.port
    },
    get url() {
      return `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${address?.port ?? options.port}`
    },
  }
  registerControl(server, sandbox)
  await server.listen({ port: options.port, host: options.host })
  address = server.server.address() as AddressInfo
  return sandbox
}
