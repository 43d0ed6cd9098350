// Requests for each read of the catalog, at records that the server itself lists: which one, a number says.

import type { ReadEndpoint } from '../../src/catalog/types.ts'

/** A JSON answer of 200. */
export type Drawn = { readonly url: string; readonly body: unknown }

/** Where to ask, and what goes with each request. */
export type Served = {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly today: string
  /** How many durations of each boat are served, the first ones; default: all. */
  readonly durations?: number
}

type Listed = { readonly id?: unknown; readonly code?: unknown; readonly type?: unknown; readonly value?: unknown }

const rotated = <T>(values: readonly T[], draw: number): readonly T[] => {
  const first = values.length === 0 ? 0 : draw % values.length
  return [...values.slice(first), ...values.slice(0, first)]
}

async function get({ url, headers = {} }: Served, path: string): Promise<Drawn | null> {
  const answer = await fetch(`${url}${path}`, { headers })
  return answer.status === 200 ? { url: path, body: await answer.json() } : null
}

const listedIn = (answer: Drawn | null): readonly Listed[] =>
  Array.isArray(answer?.body) ? (answer.body as readonly Listed[]) : []

/** A duration that the resource has, as a query takes it. */
async function durationAt(served: Served, resource: string, draw: number): Promise<string | null> {
  const [duration] = rotated(listedIn(await get(served, `${resource}/durations`)).slice(0, served.durations), draw)
  return duration === undefined ? null : encodeURIComponent(`${duration.type},${duration.value}`)
}

/** The query that a read cannot do without; null: this record has no answer to it. */
async function queryOf(served: Served, path: string, draw: number): Promise<string | null> {
  const { today } = served
  if (path.endsWith('/resources/availabilities')) {
    const [first] = rotated(listedIn(await get(served, '/v3/resources')), draw)
    const duration = await durationAt(served, `/v3/resources/${first?.id}`, draw)
    return `?resourceIds=${first?.id}&date=${today}&duration=${duration}`
  }
  if (path.endsWith('/availabilities')) return `?year=${today.slice(0, 4)}`
  if (path.endsWith('/pricetable')) return `?from=${today}&to=${today}`
  if (!path.endsWith('/slots') && !path.endsWith('/availability')) return ''
  const duration = await durationAt(served, path.slice(0, path.lastIndexOf('/')), draw)
  return duration === null ? null : `?date=${today}&duration=${duration}`
}

/** Paths of an endpoint, each `{parameter}` taken from the list before it. */
async function* pathsOf(
  served: Served,
  segments: readonly string[],
  base: string,
  draw: number,
): AsyncGenerator<string> {
  const [segment, ...rest] = segments
  if (segment === undefined) yield base
  else if (!segment.startsWith('{')) yield* pathsOf(served, rest, `${base}/${segment}`, draw)
  else {
    const query = await queryOf(served, base, draw)
    const listed = query === null ? [] : listedIn(await get(served, `${base}${query}`))
    for (const record of rotated(listed, draw))
      yield* pathsOf(served, rest, `${base}/${encodeURIComponent(String(record.id ?? record.code))}`, draw)
  }
}

/** The answer of a read at the drawn record, or at the next one that has an answer with something in it. */
export async function drawnAnswer(served: Served, endpoint: ReadEndpoint, draw: number): Promise<Drawn> {
  const segments = endpoint.slice('GET /'.length).split('/')
  for await (const path of pathsOf(served, segments, '', draw)) {
    const query = await queryOf(served, path, draw)
    const answer = query === null ? null : await get(served, `${path}${query}`)
    if (answer !== null && !(Array.isArray(answer.body) && answer.body.length === 0)) return answer
  }
  throw new Error(`No record has an answer to ${endpoint}.`)
}
