// Puts the texts of a list into one of the usual wrappers. Pure: texts in, text out.

import type { Envelope } from '../options.ts'

export interface ListFacts {
  /** Undefined: the total is not told. */
  readonly total?: number | undefined
  /** Only in the cursor style; null after the last page. */
  readonly nextCursor?: string | null | undefined
  /** Absolute address of the next page, null after the last one; undefined where the wrapper shows none. */
  readonly nextUrl?: string | null | undefined
}

/** True for wrappers that carry the next address in every style but cursor, as their kind does. */
export const carriesNextUrl = (envelope: Envelope): boolean => envelope === 'results' || envelope === 'hydra'

const members = (entries: Readonly<Record<string, unknown>>): string => {
  const json = JSON.stringify(entries)
  return json === '{}' ? '' : `,${json.slice(1, -1)}`
}

/** JSON text of a list: `[…]`, or an object around it. */
export function wrapList(envelope: Envelope, texts: readonly string[], facts: ListFacts = {}): string {
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
