// A small HTTP server whose every answer a test decides, and a client on it.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGate, type Gate } from '../../src/api/admission/gate.ts'
import { unlimited } from '../../src/api/admission/rate-limit.ts'
import { type ApiOptions, createApi } from '../../src/api/client.ts'
import type { Api, CallRecord } from '../../src/api/types.ts'
import { systemClock } from '../../src/clock.ts'
import type { Logger } from '../../src/log.ts'
import { type LogLine, recordingLog } from './recording-log.ts'

export type Seen = {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}
export type Respond = (response: ServerResponse, seen: Seen, count: number) => unknown

export type HttpServer = AsyncDisposable & {
  readonly url: string
  readonly seen: Seen[]
  /** Connections made so far. */
  connections(): number
}

/** Starts a server on a free port of 127.0.0.1. `count` is 1 for the first request. */
export async function startServer(respond: Respond): Promise<HttpServer> {
  const seen: Seen[] = []
  let connections = 0
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { method = '', url = '', headers } = request
    const one: Seen = { method, url, headers, body: Buffer.concat(chunks).toString('utf8') }
    seen.push(one)
    await respond(response, one, seen.length)
  })
  server.on('connection', () => {
    connections++
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    connections: () => connections,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** All that an async generator yields (Node 20 has no Array.fromAsync). */
export async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of source) items.push(item)
  return items
}

/** Answers with JSON. */
export function json(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

/** A label of 64 characters is no name: the resolver says so without asking a server. */
export const unknownHost = `http://${'x'.repeat(64)}.invalid`

/** A port that nobody listens on. */
export async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

export type TestApi = AsyncDisposable & {
  readonly log: Logger
  readonly api: Api
  readonly calls: CallRecord[]
  readonly lines: LogLine[]
  readonly gate: Gate
}

/** A client with no limit, no jitter, and everything it reports recorded. */
export function openApi(
  baseUrl: string,
  changes: Partial<ApiOptions['settings']> & Partial<Omit<ApiOptions, 'settings'>> = {},
): TestApi {
  const { log, lines } = recordingLog()
  const calls: CallRecord[] = []
  const {
    token = 's3cret-token',
    auth = { kind: 'bearer' },
    language = null,
    concurrency = 8,
    timeoutMs = 30_000,
    proxies = { https: null, http: null, except: null },
    limiter = unlimited,
    clock = systemClock,
    gate = createGate({ clock, log }),
  } = changes
  const api = createApi({
    settings: { baseUrl, token, auth, language, concurrency, timeoutMs, proxies },
    limiter,
    gate,
    clock,
    log,
    random: () => 0,
    onCall: (call) => calls.push(call),
  })
  return { api, calls, log, lines, gate, [Symbol.asyncDispose]: () => api.close() }
}
