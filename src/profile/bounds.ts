// The meaning of a window's days: whether the list's answer includes records of the first and of the last day. It is
// undocumented, and each hot run sends these windows: its answers prove it.

import type { Queryable } from '../database/sql.ts'
import { contradictDetected, readDetected, saveDetected } from './detected-settings.ts'

/** The name of the detected setting. */
const boundsSetting = (stream: string): string => `bounds:${stream}`

/** What the days of the records that were answered for a window say. */
type BoundsSeen = 'included' | 'contradicted' | 'unproven'

/**
 * Judges the answer for a window, by the days as the records write them: both bounds are included where records of both days
 * were answered, and none of a day outside. Pure.
 * @param asked the days of the query
 */
export function judgeBounds(days: Iterable<string>, asked: { readonly from: string; readonly to: string }): BoundsSeen {
  const seen = { first: false, last: false }
  for (const day of days) {
    if (day < asked.from || day > asked.to) return 'contradicted'
    if (day === asked.from) seen.first = true
    if (day === asked.to) seen.last = true
  }
  return seen.first && seen.last ? 'included' : 'unproven'
}

/** Whether both days of a window of this stream are known to be included. */
export const areBoundsIncluded = async (db: Queryable, stream: string): Promise<boolean> =>
  (await readDetected(db, boundsSetting(stream)))?.value === 'included'

/** Remembers what an answer proved, and what it contradicts. */
export async function noteBounds(db: Queryable, stream: string, seen: BoundsSeen): Promise<void> {
  if (seen === 'unproven') return
  const key = boundsSetting(stream)
  const isKnown = await areBoundsIncluded(db, stream)
  if (seen === 'included' && !isKnown) await saveDetected(db, key, 'included')
  if (seen === 'contradicted' && isKnown)
    await contradictDetected(db, key, 'The list returned a record of a day outside the requested days.')
}
