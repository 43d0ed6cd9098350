// A whole `serve` before a mirror of the sandbox: reads, writes, the OpenAPI document, and real access tokens.

import { createCallerOf } from '../../src/serve/access/access.ts'
import { createToken, revokeToken } from '../../src/serve/access/tokens.ts'
import { listenServe } from '../../src/serve/app.ts'
import { type Described, describedBy } from '../../src/serve/openapi/document.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'
import { contextOf } from './reads-rig.ts'

export type ServedMirror = AsyncDisposable & {
  readonly mirror: TestMirror
  readonly url: string
  readonly port: number
  readonly described: Described
  /** `all` may see and do everything, `some` sees company 1 alone and no person, and only reads. */
  readonly tokens: Readonly<Record<'all' | 'some', string>>
}

/** Reads a world, creates both tokens, and serves it on loopback. */
export async function openServed(): Promise<ServedMirror> {
  const mirror = await openTestMirror({ size: 30 }, { MIRROR_DOCUMENTS: 'on' })
  await mirror.sync()
  const { database } = mirror.app
  const host = '127.0.0.1'
  const settings = { auth: mirror.config.api.auth, host, perSecond: null }
  const context = {
    ...contextOf(mirror, {}, { serveWaitMs: 50 }),
    callerOf: createCallerOf(database.pool, settings),
  }
  const server = await listenServe(context, { host, port: 0 })
  const wishes = { validMs: null, server: null }
  const create = (name: string, more: Pick<Parameters<typeof createToken>[1], 'companies' | 'personal' | 'write'>) =>
    database.transaction((client) => createToken(client, { name, ...wishes, ...more }))
  const all = await create('all', { companies: null, personal: true, write: true })
  const some = await create('some', { companies: ['1'], personal: false, write: false })
  return {
    ...{ mirror, url: server.url, port: Number(new URL(server.url).port), described: describedBy(context) },
    tokens: { all: all.token, some: some.token },
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      // Roles belong to the server, and stay when the database is dropped.
      for (const { id } of [all, some]) await database.transaction((client) => revokeToken(client, id))
      await mirror[Symbol.asyncDispose]()
    },
  }
}
