// The operator's pages over a whole mirror, for tests; and the readers of what they say.

import { type App, openApp } from '../../src/app.ts'
import { type Config, readConfig } from '../../src/config.ts'
import { readStatus } from '../../src/inspect/read-status.ts'
import type { StatusFacts } from '../../src/inspect/status.ts'
import { openLate } from '../../src/jobs/backend.ts'
import { queueNames } from '../../src/jobs/queues.ts'
import { createLogger } from '../../src/log.ts'
import { previewDecision } from '../../src/outbox/preview.ts'
import { type OperatorServer, startOperatorServer } from '../../src/web/server.ts'
import { createTestDatabase } from '../helpers/database.ts'
import type { TestMirror } from '../helpers/mirror.ts'

const log = createLogger('silent')

export type Pages = {
  readonly url: string
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Response>
  /** What `status --json` would print at this moment. */
  status(): Promise<StatusFacts>
  [Symbol.asyncDispose](): Promise<void>
}

const readerOf = (url: string): Pages['get'] => {
  return (path, headers = {}) => fetch(`${url}${path}`, { headers, redirect: 'manual' })
}

/** Serves the pages of a mirror on a free port. */
export async function openPages(mirror: TestMirror, env: Readonly<Record<string, string>> = {}): Promise<Pages> {
  const { app } = mirror
  const config = readConfig({ DATABASE_URL: app.databaseUrl, PORT: '0', ...env }, '/nonexistent')
  const { server, ...pages } = await servePages(app, config, mirror.sandbox.url)
  return { ...pages, [Symbol.asyncDispose]: () => server.close() }
}

async function servePages(
  app: App,
  config: Config,
  sandboxUrl: string | null,
): Promise<Omit<Pages, typeof Symbol.asyncDispose> & { readonly server: OperatorServer }> {
  const status = (): Promise<StatusFacts> =>
    readStatus(config, { database: app.database, url: app.databaseUrl }, sandboxUrl)
  const stop = new AbortController()
  const server = await startOperatorServer({
    config,
    log,
    database: app.database,
    readStatus: status,
    onCall: app.onCall,
    previewDecision: (id, what) => previewDecision(app.pushContext, id, what),
    queue: openLate(await app.openQueue(stop.signal), log, stop.signal),
    queueNames,
    version: '1.2.3',
  })
  const url = served(server)
  const close = (): Promise<void> => {
    stop.abort()
    return server.close()
  }
  return { url, server: { ...server, close }, get: readerOf(url), status }
}

/** The address of pages that must be there. */
export function served(server: OperatorServer): string {
  if (server.url === null) throw new Error('the pages are not served')
  return server.url
}

export type BarePages = Pages & {
  readonly server: OperatorServer
  readonly databaseUrl: string
  dropDatabase(): Promise<void>
}

/** Serves the pages of an empty, migrated database: no sandbox, no worker. `queue`: on this Redis instead of Postgres. */
export async function openBarePages(
  env: Readonly<Record<string, string>> = {},
  redisUrl: string | null = null,
): Promise<BarePages> {
  const database = await createTestDatabase()
  const config = readConfig(
    { DATABASE_URL: database.url, PORT: '0', ...(redisUrl === null ? {} : { REDIS_URL: redisUrl }), ...env },
    '/nonexistent',
  )
  const app = await openApp({
    config,
    log,
    apiUrl: 'http://127.0.0.1:9',
    sandbox: true,
    schema: 'migrate',
    patienceMs: 60_000,
  })
  const pages = await servePages(app, config, null)
  return {
    ...pages,
    databaseUrl: database.url,
    dropDatabase: async () => await database[Symbol.asyncDispose](),
    [Symbol.asyncDispose]: async () => {
      await pages.server.close()
      await app[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}

/** The values of Prometheus text by `name{label="value",…}`, labels in the order in which they stand. */
export function readMetrics(text: string): ReadonlyMap<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ')
      return [line.slice(0, at), Number(line.slice(at + 1))]
    }),
  )
}

/** The text of HTML without tags, white space joined. */
export const textOf = (markup: string): string =>
  markup
    .replace(/<title>[^<]*<\/title>/g, ' ')
    .replace(/<[^>]+>/g, ' ')
    .replace(/&#39;/g, "'")
    .replace(/&quot;/g, '"')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ')
