// The reads of serve over a mirror that was synced from a sandbox.

import type { Config } from '../../src/config.ts'
import { createLogger } from '../../src/log.ts'
import { wrongTokenLimit } from '../../src/serve/access/limit.ts'
import { listenServe } from '../../src/serve/app.ts'
import type { ServeContext } from '../../src/serve/context.ts'
import { createServeMetrics } from '../../src/serve/metrics.ts'
import type { Caller } from '../../src/serve/types.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'

const reader = { role: null, companies: null, write: false } as const

/** Who the tests send requests as, by what stands behind `Bearer`. */
export const callers: Readonly<Record<string, Caller>> = {
  all: { ...reader, token: { id: '1', name: 'all' }, tagKey: 'all', personal: true },
  writer: { ...reader, token: { id: '2', name: 'writer' }, tagKey: 'writer', personal: true, write: true },
  impersonal: { ...reader, token: { id: '3', name: 'impersonal' }, tagKey: 'impersonal', personal: false },
}

const nobody: Caller = { ...reader, token: null, personal: false, tagKey: '' }

export type Got = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: unknown
}

export type ReadsRig = AsyncDisposable & {
  readonly mirror: TestMirror
  readonly url: string
  readonly callers: Record<string, Caller>
  /** Asks serve. */
  get(path: string, options?: GetOptions): Promise<Got>
  /** Asks the sandbox the same. */
  ask(path: string): Promise<Got>
}

type GetOptions = {
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly method?: string
  readonly body?: unknown
}

/** Sends a request as a program with nothing but `fetch` does. @throws TypeError where the answer is lost */
export async function fetchJson(url: string, options: GetOptions = {}): Promise<Got> {
  const { token = 'all', headers = {}, method = 'GET', body } = options
  const answer = await fetch(url, {
    method,
    headers: {
      ...(token !== '' && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await answer.text()
  const isJson = /json/.test(answer.headers.get('content-type') ?? '') && text !== ''
  return { status: answer.status, headers: answer.headers, text, json: isJson ? JSON.parse(text) : null }
}

/** The context of a serve that distinguishes callers by their tokens. */
export function contextOf(
  { app }: Pick<TestMirror, 'app'>,
  known: Readonly<Record<string, Caller>>,
  settings: Partial<Config> = {},
): ServeContext {
  return {
    sync: { ...app.syncContext, onTasks: () => {} },
    settings: { ...app.config, ...settings },
    ...{ log: createLogger('silent'), host: '127.0.0.1', listenUrl: null },
    ...{ metrics: createServeMetrics(), wrongTokens: wrongTokenLimit() },
    callerOf: async ({ headers }) => known[(headers.authorization ?? '').replace('Bearer ', '')] ?? nobody,
  }
}

type Options = {
  readonly sandbox?: Parameters<typeof openTestMirror>[0]
  readonly env?: Readonly<Record<string, string>>
  /** Settings of serve that differ from those of the sync. */
  readonly settings?: Partial<Config>
  /** Syncs first; default true. */
  readonly sync?: boolean
}

/** Opens database, sandbox, worker and serve, and syncs. */
export async function openReads({
  sandbox = {},
  env = {},
  settings = {},
  sync = true,
}: Options = {}): Promise<ReadsRig> {
  const mirror = await openTestMirror({ ...sandbox }, env)
  if (sync) await mirror.sync()
  const known = { ...callers }
  const server = await listenServe(contextOf(mirror, known, settings), { host: '127.0.0.1', port: 0 })
  return {
    mirror,
    url: server.url,
    callers: known,
    get: (path, options) => fetchJson(`${server.url}${path}`, options),
    ask: (path) => fetchJson(`${mirror.sandbox.url}${path}`, { token: '' }),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      await mirror[Symbol.asyncDispose]()
    },
  }
}
