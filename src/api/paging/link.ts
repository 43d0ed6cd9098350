// API_PAGING=link: an answer names the address of the next page, in its body or in a Link header.

import { cursor } from './cursor.ts'
import { mayMeanNone, resolveNextLink } from './next-link.ts'
import type { Style } from './style.ts'

export const link: Style = {
  ...cursor,
  request: (call, link, prefix) => (link === '' ? cursor.request(call, '', prefix) : { kind: 'link', link }),
  next: (_call, _cursor, { next }, { base }) =>
    typeof next === 'string' && !mayMeanNone(next) ? resolveNextLink(next, base) : null,
}
