// The API as a sync sees it: every record of an answer is protected before any code reads it.

import type { Api, ReadCall } from '../api/types.ts'
import type { Protection } from '../api/wire/elements.ts'
import { type Json, saysNothing } from '../api/wire/json.ts'
import { readsOf, streams } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { Privacy } from './privacy.ts'
import { throughText } from './protect.ts'

/** Which record a read answers. */
const answeredBy: ReadonlyMap<string, StreamDef> = new Map(
  streams.flatMap((stream) => {
    const { reads } = stream
    const related = reads.kind === 'list' ? (reads.related ?? []) : []
    const other = new Map(related.map((each) => [each.endpoint, streams.find(({ name }) => name === each.stream)]))
    return readsOf(stream).map((endpoint) => [endpoint, other.get(endpoint) ?? stream] as const)
  }),
)

/** Lists of records: what is read of them by `read` is compared with other pages, and never stored. */
const lists: ReadonlySet<string> = new Set(streams.flatMap(({ reads }) => (reads.kind === 'list' ? [reads.list] : [])))

const keptOf = (body: Json | undefined, { text }: Protection): Json | undefined =>
  body === undefined
    ? undefined
    : Array.isArray(body)
      ? body.map((each) => throughText(each, text))
      : throughText(body, text)

/** Protects what `read` and `list` answer. `send` passes: a change is the outbox's. */
export function protectedApi(api: Api, privacy: Privacy): Api {
  const protectionFor = ({ endpoint, params = {} }: ReadCall): Protection | null =>
    privacy.protectionFor(answeredBy.get(endpoint) ?? null, params)
  return {
    ...api,
    read: async (call) => {
      const answer = await api.read(call)
      const protection = lists.has(call.endpoint) ? null : protectionFor(call)
      if (protection === null) return answer
      const { elements, body } = answer
      return {
        ...answer,
        body: elements === undefined ? keptOf(body, protection) : body,
        saidNothing: saysNothing(body),
        ...(elements !== undefined && { elements: elements.protectedBy(protection) }),
      }
    },
    list: async function* (call) {
      for await (const page of api.list(call)) {
        const protection = protectionFor(call)
        yield protection === null ? page : { ...page, items: page.items.protectedBy(protection) }
      }
    },
  }
}
