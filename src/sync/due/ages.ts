// How old details may be, as SQL: DETAIL_MAX_AGE, times a share of 0.75 to 1 that follows from the key, so that records that
// were read together do not fall due together. There are 32 shares, and an index (`records_read`) finds for each of them
// what was read too long ago, whatever DETAIL_MAX_AGE is at the time.

import type { StreamDef } from '../../catalog/types.ts'

/** The number of shares. */
export const shareCount = 32

/** Which of the shares belongs to a key: as in the index. */
export const shareOf = (key: string): string => `(get_byte(decode(md5(${key}), 'hex'), 0) & ${shareCount - 1})`

/** The age that a share allows, as an interval. */
export const ageOf = (share: string, maxAgeMs: string): string =>
  `${maxAgeMs} * (0.75 + 0.25 * (${share} + 0.5) / ${shareCount}) * interval '1 ms'`

/**
 * Rentals about to depart or just back, which are read four times as often. Undefined: the stream has no such
 * records, as they have no dates.
 */
export const isSoon = ({ eventful }: StreamDef, row: string): string | undefined =>
  eventful &&
  `(${row}.${eventful.begin} between now() and now() + interval '30 days'
    or ${row}.${eventful.end} between now() - interval '7 days' and now())`

/** The share of DETAIL_MAX_AGE at which they are. A quota may allow them more. */
export const usualSoonShare = 0.25

type Aged = {
  readonly row: string
  readonly key: string
  readonly maxAgeMs: string
  /** What rentals about to depart or just back are allowed of it, as SQL. */
  readonly soonShare?: string
}

/** When details of a row of `stream`, read at this instant, are too old, as SQL. */
export function oldAt(instant: string, stream: StreamDef, aged: Aged): string {
  const { row, key, maxAgeMs, soonShare = String(usualSoonShare) } = aged
  const soon = isSoon(stream, row)
  const sooner = soon === undefined ? '' : ` * case when ${soon} then ${soonShare} else 1 end`
  return `${instant} + ${ageOf(shareOf(key), maxAgeMs)}${sooner}`
}
