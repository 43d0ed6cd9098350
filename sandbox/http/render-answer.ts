// Turns an answer of a handler into status, headers and body text: summaries, pages, envelopes, links.

import type { Answer, Call } from '../call.ts'
import type { Envelope, SandboxOptions } from '../options.ts'
import { type Entity, keyLiteral, tableKeys } from '../world/entity.ts'
import type { FaultAction } from './faults.ts'
import { cutPage, distortItems, type Page } from './paging.ts'

export interface HttpAnswer {
  readonly status: number
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Where a request came in, to build the next address from. */
interface RequestAddress {
  readonly origin: string
  readonly path: string
}

interface ListFacts {
  /** Undefined: the total is not shown. */
  readonly total?: number | undefined
  /** Only in the cursor style; null after the last page. */
  readonly nextCursor?: string | null | undefined
  /** Absolute address of the next page, null after the last one; undefined where the wrapper shows none. */
  readonly nextUrl?: string | null | undefined
}

/** True for wrappers that carry the next address in every style but cursor, as their kind does. */
const carriesNextUrl = (envelope: Envelope): boolean => envelope === 'results' || envelope === 'hydra'

const members = (entries: Readonly<Record<string, unknown>>): string => {
  const json = JSON.stringify(entries)
  return json === '{}' ? '' : `,${json.slice(1, -1)}`
}

/** JSON text of a list: `[…]`, or an object around it. */
function wrapList(envelope: Envelope, texts: readonly string[], facts: ListFacts = {}): string {
  const array = `[${texts.join(',')}]`
  const { total, nextCursor, nextUrl } = facts
  switch (envelope) {
    case 'bare':
      return array
    case 'data':
      return `{"data":${array},"meta":${JSON.stringify({ total, nextCursor })}${nextUrl === undefined ? '' : `,"links":${JSON.stringify({ next: nextUrl })}`}}`
    case 'items':
      return `{"items":${array}${members({ total, nextCursor, next: nextUrl })}}`
    case 'results':
      return `{"results":${array}${members({ count: total, nextCursor, next: nextUrl })}}`
    case 'nested':
      return `{"data":{"items":${array}},"meta":${JSON.stringify({ total, nextCursor, next: nextUrl })}}`
    case 'hydra':
      return `{"@type":"hydra:Collection","hydra:member":${array}${members({
        'hydra:totalItems': total,
        nextCursor,
        ...(nextUrl !== undefined && {
          'hydra:view': { '@type': 'hydra:PartialCollectionView', 'hydra:next': nextUrl ?? undefined },
        }),
      })}}`
  }
}

/** JSON text of a summary: the key and the named fields; complete where a raw text replaces the record. */
function summaryText(entity: Entity, fields: readonly string[], whole: string): string {
  if (entity.raw !== null) return whole
  const { field } = tableKeys[entity.table]
  const own = JSON.stringify(Object.fromEntries(fields.map((name) => [name, entity.own[name]])))
  return `{"${field}":${keyLiteral(entity)}${own === '{}' ? '' : `,${own.slice(1, -1)}`}}`
}

function pageHeaders(page: Page, nextUrl: string | null, options: SandboxOptions): Record<string, string> {
  const { paging, envelope, totalHeader } = options
  const cursorInHeader = paging === 'cursor' && envelope === 'bare' && page.nextCursor !== null
  return {
    ...(totalHeader && { [totalHeader]: String(page.total) }),
    ...(cursorInHeader && { 'X-Next-Cursor': page.nextCursor ?? '' }),
    ...(nextUrl && (paging === 'link' || cursorInHeader) && { Link: `<${nextUrl}>; rel="next"` }),
  }
}

/** What the wrapper contains about a page: the address only where its kind or the link style shows one. */
function factsOf(page: Page, nextUrl: string | null, options: SandboxOptions): ListFacts {
  const { paging, envelope, totals } = options
  const showsUrl = paging === 'link' || (paging !== 'cursor' && carriesNextUrl(envelope))
  return {
    total: totals ? page.total : undefined,
    nextCursor: paging === 'cursor' ? page.nextCursor : undefined,
    nextUrl: showsUrl ? nextUrl : undefined,
  }
}

function nextUrlOf(page: Page, call: Call, address: RequestAddress, pageParam: string): string | null {
  if (!page.next) return null
  const replaced = new Set(['cursor', 'offset', 'limit', pageParam])
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(call.query)) {
    if (value !== undefined && !replaced.has(name)) query.set(name, value)
  }
  for (const [name, value] of Object.entries(page.next)) query.set(name, value)
  return `${address.origin}${address.path}?${query}`
}

interface Rendering {
  readonly options: SandboxOptions
  readonly address: RequestAddress
  readonly fault?: FaultAction | undefined
}

/** Status 204 for nothing, else 200: creations and updates are documented with 200 too. */
export function renderAnswer(answer: Answer, call: Call, { options, address, fault }: Rendering): HttpAnswer {
  const { envelope, envelopeEverywhere, summary, pageReferences, totals } = options
  const sublist = envelopeEverywhere ? envelope : 'bare'
  if (answer.kind === 'nothing') return { status: 204, body: '' }
  if (answer.kind === 'record') return { status: 200, body: answer.text }
  if (answer.kind === 'texts') {
    const end = fault === 'empty' ? 0 : fault === 'half' ? answer.texts.length >> 1 : answer.texts.length
    return { status: 200, body: wrapList(sublist, answer.texts.slice(0, end)) }
  }
  const textOf = (entity: Entity): string => {
    const whole = call.world.text(entity)
    return summary ? summaryText(entity, answer.summary, whole) : whole
  }
  if (answer.paging === 'paginated' || (answer.paging === 'reference' && pageReferences)) {
    const page = cutPage(answer, call.query, options, fault)
    const nextUrl = nextUrlOf(page, call, address, options.pageParam)
    return {
      status: 200,
      headers: pageHeaders(page, nextUrl, options),
      body: wrapList(envelope, page.items.map(textOf), factsOf(page, nextUrl, options)),
    }
  }
  const items = distortItems(answer.items, fault)
  const wrapper = answer.paging === 'reference' ? envelope : sublist
  const total = totals ? items.length : undefined
  return { status: 200, body: wrapList(wrapper, items.slice(0, items.length).map(textOf), { total }) }
}
