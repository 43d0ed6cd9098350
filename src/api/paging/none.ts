// A list without pages: one request, without a size. If the answer names a next page, reading continues there.

import { cursor } from './cursor.ts'
import { looksLikeLink } from './next-link.ts'
import type { Style } from './style.ts'

export const none: Style = {
  ...cursor,
  needsNext: false,
  advice:
    'Set how this list is paged in the configuration file: lists.<stream>.paging, for example lists.harbours.paging: page.',
  request: ({ paging }, token, prefix) =>
    looksLikeLink(token, prefix)
      ? { kind: 'link', link: token }
      : { kind: 'query', query: token === '' ? {} : { [paging.pageParam]: token } },
  // Complete answers, too, contain the cursor of a page's end.
  next: (call, token, page, hints) => cursor.next(call, token, { ...page, endCursor: undefined }, hints),
}
