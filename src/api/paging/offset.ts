// API_PAGING=offset: a page begins after so many records.

import { counting } from './page-number.ts'

export const offset = counting(0, (records) => records)
