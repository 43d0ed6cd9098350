// API_PAGING=cursor: an answer names a token that leads to the next page, or stands for it with a link.

import { looksLikeLink, resolveNextLink } from './next-link.ts'
import type { Style } from './style.ts'

export const cursor: Style = {
  usualBase: null,
  needsNext: true,
  advice: 'Set API_NEXT_PATH to the path of the next page in the answer, or set API_PAGING=page.',
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
