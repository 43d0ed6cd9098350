// The writes of serve on a server of their own, before an outbox that pushes to a sandbox.

import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { isObject, type Json } from '../../src/api/wire/json.ts'
import { sleep } from '../../src/clock.ts'
import { isRepeatable } from '../../src/database/sql-states.ts'
import { createLogger } from '../../src/log.ts'
import type { Caller } from '../../src/serve/types.ts'
import { registerWrites } from '../../src/serve/writes/routes.ts'
import { Planner } from '../outbox/plans.ts'
import { createRig, type Rig, type RigOptions } from '../outbox/rig.ts'
import { fetchJson, type Got } from './reads-rig.ts'

const plain = { role: null, companies: null, personal: true, write: true, tagKey: 'any' } as const

/** Who the tests send requests as, by what stands behind `Bearer`. */
const callers: Readonly<Record<string, Caller>> = {
  writer: { ...plain, token: { id: '1', name: 'writer' } },
  other: { ...plain, token: { id: '2', name: 'other' } },
  reader: { ...plain, token: { id: '3', name: 'reader' }, write: false },
  impersonal: { ...plain, token: { id: '4', name: 'impersonal' }, personal: false },
}

/** A record without what stands in the mirror for personal values. */
export function withoutHashes(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutHashes)
  if (!isObject(value)) return value
  const shown = Object.entries(value).filter(
    ([name, member]) => name !== '_exact' && !(typeof member === 'string' && member.startsWith('bmh1:')),
  )
  return Object.fromEntries(shown.map(([name, member]) => [name, withoutHashes(member)]))
}

export type Sent = {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly token?: string
  /** Where to instead of the server itself. */
  readonly via?: string
}

export type { Got } from './reads-rig.ts'

export type WritesRig = AsyncDisposable & {
  readonly rig: Rig
  readonly databaseUrl: string
  readonly url: string
  /** Plans writes of records that no other one uses. */
  readonly planner: Planner
  readonly callers: Record<string, Caller>
  send(request: Sent): Promise<Got>
  /** From now on nobody pushes, until the next `push`. */
  pause(): Promise<void>
  /** Pushes as a worker does, from now on. */
  push(): void
}

type Options = Omit<RigOptions, 'databaseUrl'> & {
  readonly waitMs?: number
  readonly listens?: boolean
}

export const sendTo = (url: string, { path, via: _, ...request }: Sent): Promise<Got> =>
  fetchJson(`${url}${path}`, { token: 'writer', ...request })

/** A worker's part of it: pushes what is due, until it is stopped. */
function pushing({ pusher }: Pick<Rig, 'pusher'>): () => Promise<void> {
  const stopping = new AbortController()
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await pusher.drain(stopping.signal, { until: 'idle' }).catch((error: unknown) => {
        // As a worker, it tries again after a deadlock, here with the transaction that restricts the first role.
        if (!stopping.signal.aborted && !isRepeatable(error)) throw error
      })
      await sleep(20, stopping.signal).catch(() => undefined) // stopped
    }
  }
  const running = run()
  return async () => {
    stopping.abort(new Error('stopped'))
    await running
  }
}

/** Opens database, sandbox, outbox and server, and pushes. */
export async function openWrites({ waitMs = 100_000, listens = true, ...options }: Options = {}): Promise<WritesRig> {
  const rig = await createRig({ timeoutMs: 10_000, ...options })
  const known: Record<string, Caller> = { ...callers }
  const app = Fastify({ forceCloseConnections: true })
  registerWrites(app, {
    ...{ sync: { database: rig.database, privacy: rig.context.privacy }, settings: { serveWaitMs: waitMs } },
    ...{ listenUrl: listens ? rig.databaseUrl : null, log: createLogger('silent') },
    callerOf: async ({ headers }) => {
      const caller = known[(headers.authorization ?? '').replace('Bearer ', '')]
      if (caller !== undefined) return caller
      return { token: null, role: null, companies: null, personal: false, write: false, tagKey: '' }
    },
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  let stop: (() => Promise<void>) | null = pushing(rig)
  const pause = async (): Promise<void> => {
    await stop?.()
    stop = null
  }
  return {
    rig,
    databaseUrl: rig.databaseUrl,
    url,
    planner: new Planner(rig.sandbox),
    callers: known,
    send: (request) => sendTo(request.via ?? url, request),
    pause,
    push: () => {
      stop ??= pushing(rig)
    },
    [Symbol.asyncDispose]: async () => {
      await app.close()
      await pause()
      await rig[Symbol.asyncDispose]()
    },
  }
}
