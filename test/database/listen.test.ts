// A connection that listens reconnects automatically, and says that something may have been missed.

import { once } from 'node:events'
import { createServer, connect as openSocket, type Server, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { listen } from '../../src/database/listen.ts'
import { createLogger } from '../../src/log.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { isQuick } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'

const database = opened(() => createTestDatabase({ migrated: false }))

/** Listens, and hands out what is heard one by one. */
function startListening(url: string, probeMs = 10_000) {
  const stopping = new AbortController()
  const heard: (string | null)[] = []
  const waiting: ((payload: string | null) => void)[] = []
  const finished = listen({
    url,
    channel: 'some news',
    log: createLogger('silent'),
    signal: stopping.signal,
    probeMs,
    onNotify: (payload) => {
      const taker = waiting.shift()
      if (taker === undefined) heard.push(payload)
      else taker(payload)
    },
  })
  return {
    next: (): Promise<string | null> =>
      new Promise((resolve) => (heard.length > 0 ? resolve(heard.shift() ?? null) : waiting.push(resolve))),
    stop: async (): Promise<void> => {
      stopping.abort()
      await finished
    },
  }
}

const tell = (payload: string) => database.pool.query(`select pg_notify('some news', $1)`, [payload])

describe('listening', () => {
  it('hears each notification after a first call that means: look', async () => {
    const listener = startListening(database.url)
    expect(await listener.next()).toBeNull()
    await tell('one')
    await tell('two')
    expect([await listener.next(), await listener.next()]).toEqual(['one', 'two'])
    await listener.stop()
  })

  it('comes back after its connection was ended, and says so', async () => {
    const listener = startListening(database.url)
    await listener.next()
    await database.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'boat-mirror listen%' and datname = current_database()`,
    )
    expect(await listener.next()).toBeNull()
    await tell('again')
    expect(await listener.next()).toBe('again')
    await listener.stop()
  })

  // Not with `npm test`: it waits until silence is long enough.
  it.skipIf(isQuick)('notices a connection that is silently dead', async () => {
    await using link = await openLink(database.url)
    const listener = startListening(link.url, 1_000)
    await listener.next()
    link.freeze()
    expect(await listener.next()).toBeNull()
    await tell('through')
    expect(await listener.next()).toBe('through')
    await listener.stop()
  })

  it('ends at once while nobody is there to connect to', async () => {
    const listener = startListening('postgres://nobody@127.0.0.1:1/nothing')
    await listener.stop()
  })
})

/** A link to the database; `freeze` makes the connections that pass it fall silent without closing them. */
async function openLink(address: string) {
  const url = new URL(address)
  const target = { port: Number(url.port), host: url.hostname }
  const open: { readonly client: Socket; readonly upstream: Socket }[] = []
  const server: Server = createServer((client) => {
    const upstream = openSocket(target)
    open.push({ client, upstream })
    client.on('error', () => upstream.destroy())
    upstream.on('error', () => client.destroy())
    client.pipe(upstream).pipe(client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const bound = server.address()
  url.port = String(typeof bound === 'object' && bound !== null ? bound.port : 0)
  return {
    url: url.href,
    freeze: () => {
      for (const { client, upstream } of open) {
        client.unpipe(upstream)
        upstream.unpipe(client)
      }
    },
    [Symbol.asyncDispose]: async () => {
      for (const { client, upstream } of open) {
        client.destroy()
        upstream.destroy()
      }
      server.close()
      await once(server, 'close')
    },
  }
}
