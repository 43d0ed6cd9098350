// Stands before a sandbox and shows every write late, as an API does that reads from replicas: what is read of a rental or
// a user and below it is as it was `lateMs` ago, and their lists as they were `listLateMs` ago. What was not there then answers
// 404, also to writes where `toWrites` says so.

import { setTimeout as sleep } from 'node:timers/promises'
import { startServer } from '../api/http-server.ts'

type Reply = { readonly status: number; readonly text: string }
/** What the paths below a rental or user answered until a write of it. */
type Before = { readonly until: number; readonly replies: ReadonlyMap<string, Reply> }

export type LateFront = AsyncDisposable & {
  readonly url: string
  lateMs: number
  /** 0: lists are never late. */
  listLateMs: number
  toWrites: boolean
  /** Reads that were answered as it was before a write. */
  stale: number
  /** Writes take effect, are answered 500, and are refused when they are repeated: 409, 404 where what they removed is gone. */
  failing: boolean
  /** Rentals and users, as paths, whose 502 comes as 500. */
  readonly errors: Set<string>
}

const parts = {
  rentals: ['', '/user', '/options', '/payments', '/crewMembers'],
  users: ['', '/identity', '/license'],
} as const

const collections = /\/(options|payments|crewMembers)$/
const rootOf = (path: string): string | undefined => /^\/v3\/(?:rentals|users)\/[^/]+/.exec(path)?.[0]
const repeated = (method: string): Reply =>
  method === 'DELETE' ? missing : { status: 409, text: '{"message":"was so already"}' }
const missing: Reply = { status: 404, text: '{"message":"not there"}' }

export async function openLateFront(sandboxUrl: string, lateMs: number, now = Date.now): Promise<LateFront> {
  const history = new Map<string, Before[]>()
  const ask = async (method: string, path: string, body?: string): Promise<Reply> => {
    const answer = await fetch(`${sandboxUrl}${path}`, {
      method,
      ...(body === undefined || body === '' ? {} : { body, headers: { 'content-type': 'application/json' } }),
    })
    return { status: answer.status, text: await answer.text() }
  }
  /** What a path answers that is asked now; undefined: what it says now. */
  const earlier = (root: string, path: string, lateMs = front.lateMs): Reply | undefined => {
    const at = now() - lateMs
    const before = history.get(root)?.find(({ until }) => until > at)
    return before === undefined ? undefined : (before.replies.get(path) ?? missing)
  }
  const remember = (root: string, replies: Before['replies']): void => {
    history.set(root, [...(history.get(root) ?? []), { until: now(), replies }])
  }

  /** A list with its records as they were. */
  const earlierList = async (url: string, path: string): Promise<Reply> => {
    const reply = await ask('GET', url)
    if (reply.status !== 200 || front.listLateMs === 0) return reply
    const records = new Map(
      (JSON.parse(reply.text) as { id: number }[]).map((record) => [`${path}/${record.id}`, record]),
    )
    const isFirst = (new URL(url, sandboxUrl).searchParams.get('page') ?? '1') === '1'
    for (const root of history.keys()) {
      const was = root.startsWith(`${path}/`) ? earlier(root, root, front.listLateMs) : undefined
      if (was === undefined) continue
      front.stale++
      if (was.status === 200 && (isFirst || records.has(root))) records.set(root, JSON.parse(was.text))
      else records.delete(root)
    }
    return { status: 200, text: JSON.stringify([...records.values()]) }
  }

  const failed = new Set<string>()
  const server = await startServer(async (response, { method, url, body }) => {
    const path = url.split('?', 1)[0] ?? url
    const root = rootOf(path)
    const reply = (each: Reply): unknown =>
      response.writeHead(each.status, { 'content-type': 'application/json' }).end(each.text)
    if (root !== undefined) {
      const was = earlier(root, path, collections.test(path) ? Math.max(front.lateMs, front.listLateMs) : front.lateMs)
      if (method === 'GET' && was !== undefined) {
        front.stale++
        return reply(was)
      }
      if (method !== 'GET' && front.toWrites && earlier(root, root)?.status === 404) return reply(missing)
    }
    // Pages are cut by the sandbox: worlds of this front fit into one.
    if (method === 'GET') return reply(root === undefined ? await earlierList(url, path) : await ask(method, url))
    const replies = new Map<string, Reply>()
    if (root !== undefined) {
      const kind = root.startsWith('/v3/users') ? parts.users : parts.rentals
      const paths = new Set([...kind.map((part) => `${root}${part}`), path])
      for (const each of paths) replies.set(each, await ask('GET', each))
    }
    // The sandbox loses answers after the effect: the caller then gets none either.
    const isRepeated = front.failing && failed.has(`${method} ${url} ${body}`)
    const done = isRepeated ? repeated(method) : await ask(method, url, body).catch(() => null)
    if (root !== undefined) remember(root, replies)
    else if (done !== null && done.status < 300) remember(`${path}/${JSON.parse(done.text).id}`, new Map())
    if (done?.status === 502 && front.errors.has(root ?? '')) return reply({ ...done, status: 500 })
    if (!front.failing || isRepeated || done === null || done.status >= 300)
      return done === null ? response.destroy() : reply(done)
    failed.add(`${method} ${url} ${body}`)
    return reply({ status: 500, text: '{"message":"done, but badly"}' })
  })
  const front: LateFront = {
    url: server.url,
    lateMs,
    listLateMs: 0,
    toWrites: false,
    stale: 0,
    failing: false,
    errors: new Set(),
    [Symbol.asyncDispose]: async () => {
      await sleep(0)
      await server[Symbol.asyncDispose]()
    },
  }
  return front
}
