// A whole `serve` before a mirror of the sandbox: reads, writes, the OpenAPI document, and real access tokens.

import type { AddressInfo } from 'node:net'
import { createLogger } from '../../src/log.ts'
import { privacySettings } from '../../src/privacy/rules.ts'
import { entries, readProfile } from '../../src/profile/profile.ts'
import { openAccess } from '../../src/serve/access/access.ts'
import { createToken, revokeToken } from '../../src/serve/access/tokens.ts'
import { createServeApp } from '../../src/serve/app.ts'
import { createServeMetrics } from '../../src/serve/metrics.ts'
import type { Described } from '../../src/serve/openapi/document.ts'
import { registerOpenapi } from '../../src/serve/openapi/document.ts'
import { callerOf } from '../../src/serve/reads/routes.ts'
import { registerWrites } from '../../src/serve/writes/routes.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'

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
  const { database, syncContext: sync } = mirror.app
  const { config } = mirror
  const log = createLogger('silent')
  const host = '127.0.0.1'
  const access = openAccess({ db: database.pool, settings: { auth: config.api.auth, host, perSecond: null } })
  const ask = { callerOf: access.callerOf }
  const described = { api: config.api, privacy: privacySettings(config), isOpenToLocal: true }
  const app = createServeApp({
    ...{ settings: config, log, host, metrics: createServeMetrics() },
    sync: { ...sync, onTasks: () => {} },
    callerOf: ask.callerOf,
    register: (server) => {
      const deps = { callerOf: (request: Parameters<typeof callerOf>[1]) => callerOf(ask, request) }
      registerOpenapi(server, {
        described,
        readShapes: async () => (await readProfile(database.pool)).values(entries.shape),
        ...deps,
      })
      registerWrites(server, { database, listenUrl: null, log, waitMs: 50, ...deps })
    },
  })
  await app.listen({ host, port: 0 })
  const { port } = app.server.address() as AddressInfo
  const wishes = { validMs: null, server: null }
  const create = (name: string, more: Pick<Parameters<typeof createToken>[1], 'companies' | 'personal' | 'write'>) =>
    database.transaction((client) => createToken(client, { name, ...wishes, ...more }))
  const all = await create('all', { companies: null, personal: true, write: true })
  const some = await create('some', { companies: ['1'], personal: false, write: false })
  return {
    ...{ mirror, port, described },
    url: `http://${host}:${port}`,
    tokens: { all: all.token, some: some.token },
    [Symbol.asyncDispose]: async () => {
      await app.close()
      // Roles belong to the server, and stay when the database is dropped.
      for (const { id } of [all, some]) await database.transaction((client) => revokeToken(client, id))
      await mirror[Symbol.asyncDispose]()
    },
  }
}
