// A forward proxy as companies have it: CONNECT for https, absolute addresses for http, with credentials if wanted. It
// alone knows the host names that it serves: all lead to 127.0.0.1.

import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'

export type HttpProxy = AsyncDisposable & {
  readonly port: number
  readonly url: string
  /** What it was asked for: `CONNECT host:port` or `GET http://host:port/path`. */
  readonly asked: string[]
  /** Tunnels and requests under way, at most. */
  mostAtOnce(): number
}

export type HttpProxyOptions = {
  /** `user:password` that it demands. */
  readonly credentials?: string
  /** Answers every request with this status instead. */
  readonly refuseWith?: number
  /** Takes connections and never answers. */
  readonly silent?: boolean
}

/** Starts a proxy on a free port of 127.0.0.1. */
export async function openHttpProxy({ credentials, refuseWith, silent }: HttpProxyOptions = {}): Promise<HttpProxy> {
  const asked: string[] = []
  const sockets = new Set<Socket>()
  let [now, most] = [0, 0]
  const begin = (): (() => void) => {
    most = Math.max(most, ++now)
    return () => void now--
  }
  const wanted = credentials === undefined ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`
  const refusal = ({ headers }: IncomingMessage): number | undefined =>
    refuseWith ?? (wanted !== undefined && headers['proxy-authorization'] !== wanted ? 407 : undefined)

  const server = createServer((incoming, outgoing) => {
    asked.push(`${incoming.method} ${incoming.url}`)
    if (silent) return
    const status = refusal(incoming)
    if (status !== undefined) return void outgoing.writeHead(status).end('<html>the proxy says no</html>')
    const { pathname, search, port } = new URL(incoming.url ?? '')
    const { 'proxy-authorization': _, ...headers } = incoming.headers
    outgoing.on('close', begin())
    const onward = request({ port, path: `${pathname}${search}`, method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.headersSent || outgoing.writeHead(502).end())
    incoming.pipe(onward)
  })
  server.on('connect', (incoming: IncomingMessage, client: Socket) => {
    asked.push(`CONNECT ${incoming.url}`)
    client.on('error', () => {}) // the client hung up
    if (silent) return
    const status = refusal(incoming)
    if (status !== undefined) return void client.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`)
    const done = begin()
    const onward = connect(Number(incoming.url?.split(':').at(-1)), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      onward.pipe(client).pipe(onward)
    })
    sockets.add(onward)
    onward.on('error', () => client.destroy())
    client.on('close', () => {
      done()
      onward.destroy()
    })
  })
  server.on('connection', (socket) => sockets.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://${credentials === undefined ? '' : `${credentials}@`}127.0.0.1:${port}`,
    asked,
    mostAtOnce: () => most,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
