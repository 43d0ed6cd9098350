// The styles that follow: an answer names the next page. API_PAGING=cursor takes a token, or a link that stands for it;
// API_PAGING=link takes an address, from the body or a Link header. A list without pages (`none`) is one request without
// a size, and continues only if its answer names a next page.

import { hash } from 'node:crypto'
import { pageNumber } from './count.ts'
import { looksLikeLink, mayMeanNone, resolveNextLink } from './next-link.ts'
import type { Served, Style } from './style.ts'

/** Our own token: where the page begins, and the list it belongs to. */
const tokenOf = (offset: number, list: string): string =>
  Buffer.from(`${offset} ${hash('sha256', list, 'hex').slice(0, 8)}`).toString('base64url')

const servedByToken: Served = {
  least: () => null,
  offsetOf: (token, { list }) => {
    const offset = Number(Buffer.from(token, 'base64url').toString().split(' ')[0])
    return Number.isSafeInteger(offset) && tokenOf(offset, list) === token ? offset : null
  },
  placeOf: (offset, { list }) => tokenOf(offset, list),
  firstPage: null,
  description: 'Cursor of the page.',
  nextHeader: 'X-Next-Cursor',
}

export const cursor: Style = {
  count: null,
  needsNext: true,
  advice: 'Set API_NEXT_PATH to the path of the next page in the answer, or set API_PAGING=page.',
  names: { anyLink: false, byToken: true },
  params: [
    ...['cursor', 'after', 'pageToken', 'page_token', 'starting_after', 'nextCursor', 'page'],
    ...['page[cursor]', 'page[after]', '$skiptoken'],
  ],
  sizeParam: 'limit',
  served: servedByToken,
  first: () => '',
  request: ({ paging: { pageParam, sizeParam, pageSize } }, cursor, prefix) => {
    if (looksLikeLink(cursor, prefix)) return { kind: 'link', link: cursor }
    return {
      kind: 'query',
      query: { [sizeParam]: String(pageSize), ...(cursor === '' ? {} : { [pageParam]: cursor }) },
    }
  },
  before: () => null,
  next: (_call, _cursor, { next, endCursor, more }, { base }) => {
    const place = next === undefined && more !== false ? endCursor : next
    if (place === null || place === undefined) return null
    return looksLikeLink(place, base.prefix) ? resolveNextLink(place, base) : place
  },
}

export const link: Style = {
  ...cursor,
  names: { anyLink: true, byToken: false },
  params: [],
  sizeParam: 'perPage',
  // The pages that its links lead to have numbers.
  served: pageNumber.served && { ...pageNumber.served, nextHeader: 'Link' },
  request: (call, link, prefix) => (link === '' ? cursor.request(call, '', prefix) : { kind: 'link', link }),
  next: (_call, _cursor, { next }, { base }) =>
    typeof next === 'string' && !mayMeanNone(next) ? resolveNextLink(next, base) : null,
}

export const none: Style = {
  ...cursor,
  needsNext: false,
  advice:
    'Set how this list is paged in the configuration file: lists.<stream>.paging, for example lists.harbours.paging: page.',
  names: { anyLink: false, byToken: false },
  sizeParam: 'perPage',
  served: null,
  request: ({ paging }, token, prefix) =>
    looksLikeLink(token, prefix)
      ? { kind: 'link', link: token }
      : { kind: 'query', query: token === '' ? {} : { [paging.pageParam]: token } },
  // Complete answers, too, contain the cursor of a page's end.
  next: (call, token, page, hints) => cursor.next(call, token, { ...page, endCursor: undefined }, hints),
}
