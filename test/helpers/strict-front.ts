// An API that answers 400 to query parameters it does not know, in front of a sandbox that takes them all.

import { startServer } from '../api/http-server.ts'
import type { Front } from './mirror.ts'

export type StrictFront = Front & {
  /** What was refused: path and parameter, in order. */
  readonly refused: string[]
}

/** Lists, and what they take besides their pages. */
const taken: Readonly<Record<string, RegExp>> = {
  '/v3/users': /^(page|perPage)$/,
  '/v3/rentals': /^(page|perPage|resourceId)$/,
}

/** Hands everything on to the sandbox, but refuses unknown parameters of these lists. */
export async function openStrictFront(sandboxUrl: string): Promise<StrictFront> {
  const refused: string[] = []
  const server = await startServer(async (response, { method, url, body }) => {
    const target = new URL(url, sandboxUrl)
    const pattern = method === 'GET' ? taken[target.pathname] : undefined
    const unknown = [...target.searchParams.keys()].find((name) => pattern?.test(name) === false)
    if (unknown !== undefined) {
      refused.push(`${target.pathname} ${unknown}`)
      response.writeHead(400, { 'content-type': 'application/json' })
      return response.end(JSON.stringify({ message: `unknown parameter ${unknown}` }))
    }
    const headers = { 'content-type': 'application/json' }
    const options = { method, ...(method === 'GET' ? {} : { body, headers }) }
    const answer = await fetch(target, options).catch(() => null)
    if (answer === null) return response.destroy() // what is lost behind it is lost before it
    response.writeHead(answer.status, { 'content-type': 'application/json' })
    return response.end(await answer.text())
  })
  return { url: server.url, refused, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}
