// Stands between a program and a server of the API, and loses answers: before the request arrived, or after its effect.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What happens to the next request for a path: it is lost on its way, or its answer is. */
export type Loss = 'before' | 'after'

/** Headers that are about one connection, or a body that `fetch` has decoded. */
const hopHeaders = ['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'content-encoding']

export type LossyFront = AsyncDisposable & {
  readonly url: string
  /** Loses one request with this method and path: the next for which nothing else was wished. */
  lose(method: string, path: string, loss: Loss): void
  /** How many were lost so far. */
  lost(): number
}

/** Passes everything on to `target`, except what the test loses. */
export async function openLossyFront(target: string): Promise<LossyFront> {
  const losses = new Map<string, Loss[]>()
  let lost = 0
  const server = createServer(async (request, response) => {
    const loss = losses.get(`${request.method} ${request.url}`)?.shift()
    const drop = (): void => {
      lost++
      request.socket.destroy()
    }
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(Buffer.from(chunk as Buffer))
    if (loss === 'before') return drop()
    const { host: _host, connection: _connection, 'content-length': _length, ...headers } = request.headers
    const body = Buffer.concat(chunks)
    const answer = await fetch(`${target}${request.url}`, {
      method: request.method ?? 'GET',
      headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
      ...(body.length > 0 && { body }),
    }).catch(() => null)
    const text = await answer?.text().catch(() => null)
    if (loss === 'after' || answer === null || text === null) return drop()
    const passed = [...answer.headers].filter(([name]) => !hopHeaders.includes(name))
    response.writeHead(answer.status, Object.fromEntries(passed))
    response.end(text)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    lose: (method, path, loss) => {
      const place = `${method} ${path}`
      losses.set(place, [...(losses.get(place) ?? []), loss])
    },
    lost: () => lost,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
