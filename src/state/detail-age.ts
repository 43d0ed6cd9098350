// How old details may be, as SQL.

import type { StreamDef } from '../catalog/types.ts'

/** A number from 0 to 1 that follows from the key, so that records of one age do not fall due together. */
const spread = (key: string): string => `(('x' || substr(md5(${key}), 1, 4))::bit(16)::int / 65536.0)`

/** Rentals about to depart or just back are read four times as often. */
const soonerFor = ({ eventful }: StreamDef, alias: string): string =>
  eventful === undefined
    ? '1'
    : `case when ${alias}.${eventful.begin} between now() and now() + interval '30 days'
        or ${alias}.${eventful.end} between now() - interval '7 days' and now() then 0.25 else 1 end`

/** Is this instant longer ago than the age allowed to a row of `stream`, as SQL? Ages are spread over their last quarter. */
export const isOlder = (
  instant: string,
  stream: StreamDef,
  { row, key, maxAgeMs }: { readonly row: string; readonly key: string; readonly maxAgeMs: string },
): string =>
  `${instant} < now() - ${maxAgeMs} * ${soonerFor(stream, row)} * (0.75 + 0.25 * ${spread(key)}) * interval '1 ms'`
