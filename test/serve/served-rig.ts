// A whole `serve` before a mirror of the sandbox that was synced, with real access tokens.

import type { Config } from '../../src/config.ts'
import { createLogger } from '../../src/log.ts'
import { createToken, revokeToken, type TokenRequest } from '../../src/serve/access/tokens.ts'
import type { ServeServer } from '../../src/serve/app.ts'
import { startServe } from '../../src/serve/start.ts'
import type { TestDatabase } from '../helpers/database.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'

type Token = { readonly id: string; readonly token: string }

export type ServedMirror = AsyncDisposable & {
  readonly mirror: TestMirror
  readonly url: string
  /** Serves the same on another port, from another database if one is given. */
  serve(database?: TestMirror['app']['database']): Promise<ServeServer>
  /** Creates a token, which may see everything but persons and only read, and is revoked at the end. */
  createToken(name: string, wishes?: Partial<TokenRequest>): Promise<Token>
  revokeToken({ id }: Token): Promise<unknown>
}

type Options = {
  readonly sandbox?: Parameters<typeof openTestMirror>[0]
  readonly env?: Readonly<Record<string, string>>
  readonly settings?: Partial<Config>
  readonly log?: ReturnType<typeof createLogger>
  readonly database?: TestDatabase
  /** What is synced first; all by default. */
  readonly streams?: readonly string[]
}

export async function openServed(options: Options = {}): Promise<ServedMirror> {
  const { sandbox = {}, env = {}, settings = {}, log = createLogger('silent'), database, streams = [] } = options
  const mirror = await openTestMirror(sandbox, { MIRROR_DOCUMENTS: 'on', ...env }, database)
  await mirror.sync({ streams })
  const { app, config } = mirror
  const serve: ServedMirror['serve'] = (db = app.database) =>
    startServe({
      config: { ...config, serveListen: { host: '127.0.0.1', port: 0 }, ...settings },
      ...{ log, listenUrl: null, syncContext: { ...app.syncContext, log, database: db } },
    })
  const server = await serve()
  const created: Token[] = []
  const usual = { companies: null, personal: false, write: false, validMs: null, server: null }
  const revoke = ({ id }: Token) => app.database.transaction((client) => revokeToken(client, id))
  return {
    ...{ mirror, url: server.url, serve, revokeToken: revoke },
    createToken: async (name, wishes = {}) => {
      const token = await app.database.transaction((client) => createToken(client, { name, ...usual, ...wishes }))
      created.push(token)
      return token
    },
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      // Roles belong to the server, and stay when the database is dropped.
      for (const token of created) await revoke(token)
      await mirror[Symbol.asyncDispose]()
    },
  }
}
