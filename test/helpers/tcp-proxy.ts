// A TCP proxy with faults of the network: refused, cut off, cut in the middle of an answer, silently dead.

import { once } from 'node:events'
import { createServer, connect as openSocket, type Server, type Socket } from 'node:net'

export type TcpProxy = {
  readonly port: number
  /** Refuses new connections and resets those there are. */
  refuse(): Promise<void>
  /** Lets everything through again: also what comes after a cut, and what was silent stays dead. */
  pass(): Promise<void>
  /** From now on each connection is reset once it has answered this many bytes. */
  cutAfter(bytes: number): void
  /** The connections there are say nothing any more, and are not closed either; new ones work. Returns how many. */
  silence(): number
  close(): Promise<void>
}

type Pair = { readonly client: Socket; readonly upstream: Socket; answered: number; silent: boolean }

/** Opens a proxy on a free port of 127.0.0.1 that leads to `target`, a port of 127.0.0.1. */
export async function openTcpProxy(target: number): Promise<TcpProxy> {
  const pairs = new Set<Pair>()
  let cutAt: number | null = null

  const end = (pair: Pair): void => {
    pairs.delete(pair)
    pair.client.resetAndDestroy()
    pair.upstream.destroy()
  }
  const server: Server = createServer((client) => {
    const pair: Pair = { client, upstream: openSocket(target, '127.0.0.1'), answered: 0, silent: false }
    const { upstream } = pair
    pairs.add(pair)
    client.setNoDelay(true)
    upstream.setNoDelay(true)
    client.on('data', (chunk) => {
      if (!pair.silent && !upstream.write(chunk)) client.pause()
    })
    upstream.on('drain', () => client.resume())
    upstream.on('data', (chunk) => {
      if (pair.silent) return
      const room = cutAt === null ? chunk.length : Math.max(0, cutAt - pair.answered)
      pair.answered += chunk.length
      if (chunk.length > room) {
        // The part before the cut has to arrive, or it would be a cut before the answer.
        client.write(chunk.subarray(0, room), () => end(pair))
        return
      }
      if (!client.write(chunk)) upstream.pause()
    })
    client.on('drain', () => upstream.resume())
    upstream.on('end', () => {
      if (!pair.silent) client.end()
    })
    client.on('end', () => upstream.end())
    for (const socket of [client, upstream]) socket.on('error', () => end(pair)) // the other side learns of it by the reset
    client.on('close', () => end(pair))
    upstream.on('close', () => {
      if (!pair.silent) end(pair)
    })
  })
  const listen = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('The proxy has no port.')
    return address.port
  }
  const refuse = async (): Promise<void> => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    for (const pair of pairs) end(pair)
    await closed
  }
  const port = await listen(0)
  return {
    port,
    refuse,
    pass: async () => {
      cutAt = null
      if (!server.listening) await listen(port)
    },
    cutAfter: (bytes) => {
      cutAt = bytes
      for (const pair of pairs) pair.answered = 0
    },
    silence: () => {
      for (const pair of pairs) pair.silent = true
      return pairs.size
    },
    close: refuse,
  }
}
