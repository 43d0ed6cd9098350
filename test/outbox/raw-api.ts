// An API whose records are bytes that a test gives, and in which a PUT replaces every writable field: what it omits is
// gone. Keeps every character and digit of what is put; shares no code with the program.

import { isLosslessNumber, LosslessNumber, parse, stringify } from 'lossless-json'
import { writes } from '../../src/catalog/writes.ts'
import { type Respond, type Seen, startServer } from '../api/http-server.ts'

export type Members = Record<string, unknown>

const exactly = (text: string): Members => parse(text, null, (digits) => new LosslessNumber(digits)) as Members

type Stored = { readonly bytes: Buffer; readonly contentType: string }

export type RawApi = AsyncDisposable & {
  readonly url: string
  /** Bodies of the PUTs, oldest first, as they came. */
  readonly puts: readonly string[]
  /** What a path shows from now on. */
  show(path: string, record: string | Buffer, contentType?: string): void
  /** A member of a record as JSON text with all its digits; undefined where it is absent. */
  member(path: string, name: string): string | undefined
  /** The next PUT takes effect, and its connection breaks before the answer. */
  loseNextAnswer(): void
  /** The next PUT is refused with 400 and this body. */
  refuseNext(body: object): void
}

const writable = (path: string): readonly string[] => {
  const update = writes.find(
    ({ kind, endpoint }) =>
      kind === 'update' && new RegExp(`^PUT ${endpoint.slice(4).replace(/\{\w+\}/g, '[^/]+')}$`).test(`PUT ${path}`),
  )
  return (update?.body ?? []).map((field) => field.name)
}

export async function startRawApi(): Promise<RawApi> {
  const records = new Map<string, Stored>()
  const puts: string[] = []
  let losing = false
  let refusal: object | null = null

  const put = (path: string, stored: Stored, body: string): void => {
    const given = exactly(body)
    const kept = Object.entries(exactly(stored.bytes.toString('utf8'))).filter(
      // An omitted status stays, as documented; every other field goes.
      ([name]) => !writable(path).includes(name) || (name === 'status' && path.startsWith('/v3/rentals/')),
    )
    const record = { ...Object.fromEntries(kept), ...given }
    records.set(path, { bytes: Buffer.from(String(stringify(record))), contentType: 'application/json' })
  }

  const respond: Respond = (response, { method, url, body }: Seen) => {
    const path = url.split('?', 1)[0] ?? url
    const stored = records.get(path)
    if (stored === undefined) return response.writeHead(404).end()
    if (method === 'PUT') {
      puts.push(body)
      if (refusal !== null) {
        const text = JSON.stringify(refusal)
        refusal = null
        return response.writeHead(400, { 'content-type': 'application/json' }).end(text)
      }
      put(path, stored, body)
      if (losing) {
        losing = false
        return response.destroy()
      }
    }
    const { bytes, contentType } = records.get(path) ?? stored
    return response.writeHead(200, { 'content-type': contentType }).end(bytes)
  }
  const server = await startServer(respond)
  return {
    url: server.url,
    puts,
    show: (path, record, contentType = 'application/json') =>
      void records.set(path, { bytes: Buffer.from(record), contentType }),
    member: (path, name) => {
      const record = exactly(records.get(path)?.bytes.toString('utf8') ?? '{}')
      return Object.hasOwn(record, name) ? stringify(record[name]) : undefined
    },
    loseNextAnswer: () => {
      losing = true
    },
    refuseNext: (body) => {
      refusal = body
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

/** A JSON text with all its digits, to compare with. */
export const canonical = (text: string): string => {
  const value = parse(text, null, (digits) => new LosslessNumber(digits))
  return isLosslessNumber(value) ? value.value : String(stringify(value))
}
