// TLS in front of a plain port of 127.0.0.1, as a load balancer ends it: for an https API that is a sandbox.

import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { createServer } from 'node:tls'
import type { Certificate } from './certificates.ts'

export type TlsFront = AsyncDisposable & { readonly port: number }

/** Opens a TLS port with this certificate that leads to `target`, a plain port. */
export async function openTlsFront(target: number, { key, certificate }: Certificate): Promise<TlsFront> {
  const sockets = new Set<Socket>()
  const server = createServer({ key, cert: certificate }, (client) => {
    const onward = connect(target, '127.0.0.1')
    client.pipe(onward).pipe(client)
    client.on('error', () => onward.destroy())
    onward.on('error', () => client.destroy())
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {}) // a client that speaks something else, or hung up
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
