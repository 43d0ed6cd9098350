// API_PAGING=offset: a page begins after so many records.

import { counting } from './page-number.ts'

export const offset = counting(
  0,
  (records) => records,
  // From the last record on.
  ({ records, longest }) =>
    records < 2 ? null : { at: records - 1, size: Math.max(1, longest - 1), skip: records - 1 },
)
