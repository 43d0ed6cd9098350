// Where an answer has what a list is made of, so that the list can be answered in the same shape. Pure.

import { isObject, type Json } from '../wire/json.ts'
import { stepsTo, valueAt } from './answer-signs.ts'
import type { Envelope } from './envelope.ts'

/** Names of the members on the way to a value, or `header:NAME`. */
export type Position = readonly string[] | string

export type ListShape = {
  /** Names of the members on the way to the records; none: the answer is their array. */
  readonly items: readonly string[]
  /** Where the number of all records stands; null: nowhere. */
  readonly total: Position | null
  /**
   * Where the next page is named, null: nowhere; and how. `kind` is null if the answer says that there is no next page.
   */
  readonly next: { readonly at: Position; readonly kind: 'link' | 'number' | 'text' | null } | null
}

/**
 * The shape of an answer.
 * @param how `isLink`: whether a next page is named by an address; `byToken`: whether the list continues with any text
 */
export function shapeOf(
  body: Json | undefined,
  { envelope, totalAt, next, nextShownAt }: Envelope,
  how: { readonly isLink: (next: string) => boolean; readonly byToken: boolean },
): ListShape {
  const positionOf = (path: string | null): Position | null =>
    path === null || path.startsWith('header:') ? path : (stepsTo(body, path) ?? null)
  const value = nextShownAt === null ? undefined : valueAt(body, nextShownAt)
  // A link may be an object of its own, such as {"href": …}.
  const at = positionOf(isObject(value) ? `${nextShownAt}.href` : nextShownAt)
  const kindOf = (text: string) => (how.isLink(text) ? 'link' : typeof value === 'number' ? 'number' : 'text')
  const kind = typeof next === 'string' ? kindOf(next) : null
  // Beside numbered pages, a token belongs to a paging that is not in use.
  const isForeign = kind === 'text' && !how.byToken && !/^\d+$/.test(next ?? '')
  return {
    items: Array.isArray(body) ? [] : (stepsTo(body, envelope) ?? []),
    total: positionOf(totalAt),
    next: at === null || isForeign ? null : { at, kind },
  }
}
