// The paging styles by the names that API_PAGING takes (settings.ts lists them; the compiler wants one of each here).

import type { PagingStyle } from '../../settings.ts'
import { offset, pageNumber } from './count.ts'
import { cursor, link, none } from './follow.ts'
import type { Style } from './style.ts'

export const styles: Readonly<Record<PagingStyle, Style>> = { page: pageNumber, offset, cursor, link, none }
