// Stands in front of an API and rewrites its answers: the same records, as another server would write them.

import { startServer } from '../api/http-server.ts'
import type { Front } from './mirror.ts'

const notPassedOn = new Set(['content-length', 'content-encoding', 'transfer-encoding', 'connection'])

type Answer = { readonly path: string; readonly text: string }

/** Passes everything on to `target`, and the bodies of its answers of 200 back as `alter` writes them, with these headers. */
export function openAlteringFront(
  target: string,
  alter: (answer: Answer) => string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): Promise<Front> {
  return startServer(async (response, { method, url, headers: asked, body }) => {
    const { authorization } = asked
    const answer = await fetch(`${target}${url}`, {
      method,
      headers: { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) },
      ...(body !== '' && { body }),
    })
    const kept = [...answer.headers].filter(([name]) => !notPassedOn.has(name))
    const text = await answer.text()
    const isAltered = answer.status === 200 && text !== ''
    response.writeHead(answer.status, { ...Object.fromEntries(kept), ...(isAltered && headers) })
    response.end(isAltered ? alter({ path: url.replace(/\?.*/, ''), text }) : text)
  })
}
