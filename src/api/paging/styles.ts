// The paging styles by the names that API_PAGING takes (settings.ts lists them; the compiler wants one of each here).

import type { PagingStyle } from '../../settings.ts'
import { cursor } from './cursor.ts'
import { link } from './link.ts'
import { none } from './none.ts'
import { offset } from './offset.ts'
import { pageNumber } from './page-number.ts'
import type { Style } from './style.ts'

export const styles: Readonly<Record<PagingStyle, Style>> = { page: pageNumber, offset, cursor, link, none }
