// A small client for the sandbox's own tests: a fixed world in summer 2026, and requests with JSON both ways.

import { createSandbox, type Sandbox, type SandboxOptions, type TruthRow } from '../../sandbox/index.ts'

/** The instant at which test worlds stand still: a Wednesday in season. */
export const now = new Date('2026-06-10T08:00:00Z')
export const today = '2026-06-10'

/** A small world whose clock stands still. */
export const openSandbox = (options: Partial<SandboxOptions> = {}): Promise<Sandbox> =>
  createSandbox({ size: 30, seed: 7, now, ...options })

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The parsed body; null for an empty one. */
  readonly body: unknown
}

/** Sends `METHOD /path` with an optional JSON body. */
export async function send(sandbox: Sandbox, operation: string, body?: unknown, headers = {}): Promise<Reply> {
  const [method = 'GET', path = '/'] = operation.split(' ')
  const response = await fetch(path.startsWith('http') ? path : `${sandbox.url}${path}`, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: text === '' ? null : JSON.parse(text) }
}

export type Fields = Record<string, unknown>

/** The body as one record. */
export function fields(reply: Reply): Fields {
  if (typeof reply.body !== 'object' || reply.body === null || Array.isArray(reply.body)) {
    throw new TypeError(`Expected a record, got ${reply.text}`)
  }
  return reply.body as Fields
}

/** The body as a list of records. */
export function list(reply: Reply): Fields[] {
  if (!Array.isArray(reply.body)) throw new TypeError(`Expected a list, got ${reply.text}`)
  return reply.body as Fields[]
}

/** One record that is surely there. */
export function first<T>(items: readonly T[] | undefined, test: (item: T) => boolean = () => true): T {
  const found = items?.find(test)
  if (found === undefined) throw new Error('There is no such record')
  return found
}

/** The truth of one table. */
export const truthOf = (sandbox: Sandbox, table: string): readonly TruthRow[] =>
  sandbox.truth({ only: [table] })[table] ?? []

/** A slot that is free now, of the first resource that has one on a date. */
export async function freeSlot(sandbox: Sandbox, date = '2026-06-20'): Promise<{ resourceId: string; slotId: string }> {
  for (const { record } of truthOf(sandbox, 'resources')) {
    const [duration] = record.durations as { type: string; value: string }[]
    const resourceId = String(record.id)
    const query = `date=${date}&duration=${duration?.type},${duration?.value}`
    const slots = list(await send(sandbox, `GET /v3/resources/${resourceId}/slots?${query}`))
    const single = slots.find((slot) => slot.nbResourcesAvailable === 1)
    if (single) return { resourceId, slotId: String(single.id) }
  }
  throw new Error(`No slot is free on ${date}`)
}

/** A rental made through the API. */
export async function bookRental(sandbox: Sandbox, extra: Fields = {}, date?: string): Promise<Fields> {
  return fields(await send(sandbox, 'POST /v3/rentals', { ...(await freeSlot(sandbox, date)), ...extra }))
}

/** A user's body with all that a user needs. */
export const userBody = {
  civility: 'MS',
  firstName: 'Ada',
  lastName: 'Lovelace',
  email: 'ada@example.com',
  addressCity: 'London',
  addressCountry: { code: 'GB' },
  nationality: { code: 'GB' },
  language: { code: 'en' },
  organizationType: 'INDIVIDUAL',
  mobilePhone: '+44 1',
}
