// Stands before a sandbox and pages its four paged lists itself, as other APIs would: with another end, in another envelope.

import { json, startServer } from '../api/http-server.ts'

export type Reply = {
  readonly status?: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

type Item = Readonly<Record<string, unknown>>

/** A list as it is asked for: all its records, and what stands in the query. */
export type Asked = {
  readonly path: string
  readonly all: readonly Item[]
  readonly page: number
  readonly size: number
  /** All that stands in the query. */
  readonly query: Readonly<Record<string, string>>
}

const pagedLists: ReadonlySet<string> = new Set(['/v3/users', '/v3/companies', '/v3/resources', '/v3/rentals'])

/** What the sandbox needs for that: a page that holds a whole list. */
export const frontedSandbox = { maxPageSize: 100_000 } as const

/** Hands everything on to the sandbox but reads of the paged lists: those `answer` answers. */
export function openListFront(sandboxUrl: string, answer: (asked: Asked) => Reply) {
  return startServer(async (response, { method, url, body }) => {
    const target = new URL(url, sandboxUrl)
    const isList = method === 'GET' && pagedLists.has(target.pathname)
    const query = target.searchParams
    const [page, size] = [Number(query.get('page') ?? 1), Number(query.get('perPage'))]
    const asked = { path: target.pathname, page, size, query: Object.fromEntries(query) }
    if (isList) {
      query.set('page', '1')
      query.set('perPage', String(frontedSandbox.maxPageSize))
    }
    const handed = await fetch(target, {
      method,
      ...(method === 'GET' ? {} : { body, headers: { 'content-type': 'application/json' } }),
    })
    const text = await handed.text()
    if (!isList || handed.status !== 200) {
      response.writeHead(handed.status, { 'content-type': 'application/json' })
      return response.end(text)
    }
    const reply = answer({ ...asked, all: JSON.parse(text) as Item[] })
    return json(response, reply.body, reply.status ?? 200, { ...reply.headers })
  })
}

/** The records of a page, counted from `base`. */
export const pageOf = ({ all, page, size }: Asked, base = 1): readonly Item[] =>
  page < base ? [] : all.slice((page - base) * size, (page - base + 1) * size)

/** Whether records follow it. */
export const goesOn = ({ all, page, size }: Asked, base = 1): boolean => (page - base + 1) * size < all.length
