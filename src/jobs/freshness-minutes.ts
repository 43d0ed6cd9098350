// How long a stream met its target, day by day, from one check a minute. Pure. Times are whole minutes since 1970 in UTC,
// and a day has 1,440 of them.
//
// A minute is met when its first check finds the stream within its target. Every other minute since the first check is
// missed, also one without a check because no worker ran. So only checks that meet the target are written down. While a
// stream is switched off, or has no target, its minutes do not count; checks that find it so again leave no trace.
//
// Example: a stream first checked at 10:00, and within its target except at 10:02:
//   10:00 met, 10:01 met, 10:02 missed, 10:03 met    counted from 10:00, 3 met, longest gap 1
//   no worker until 10:10, then met                  4 met, longest gap 6: 10:04 to 10:09
// A gap that began on an earlier day counts in full on each day it touches.

/** The result of a check. `off`: the stream is switched off, has no target, or was never read completely. */
export type Look = 'met' | 'missed' | 'off'

/** The newest day of a stream. */
export type FreshnessDay = {
  /** Since 1970-01-01. */
  readonly day: number
  /** The last minute of the day with a check. */
  readonly lookedAt: number
  /** Minutes of the day that count, without those since `countsFrom`. */
  readonly counted: number
  /** Since when all minutes of the day count; null: they do not. */
  readonly countsFrom: number | null
  readonly met: number
  /** The minute after the last one that was met, or that did not count; null: minutes do not count. */
  readonly missedFrom: number | null
  /** In minutes, of the gaps that ended on this day. */
  readonly longestGap: number
}

export const minutesOfDay = 1_440

const dayOf = (minute: number): number => Math.floor(minute / minutesOfDay)

/** The day at its first minute, before any check. */
const newDay = (day: number, last: FreshnessDay | null): FreshnessDay => {
  const counts = last !== null && last.countsFrom !== null
  const countsFrom = counts ? day * minutesOfDay : null
  return { day, lookedAt: 0, counted: 0, countsFrom, met: 0, missedFrom: last?.missedFrom ?? null, longestGap: 0 }
}

/** The longest gap of a day if the present one ends before this minute. A gap that ended with the previous day does not count. */
const gapBefore = ({ day, missedFrom, longestGap }: FreshnessDay, minute: number): number =>
  missedFrom === null || minute === day * minutesOfDay ? longestGap : Math.max(longestGap, minute - missedFrom)

/** The newest day of a stream after a check; `last` itself if the check adds nothing. Only the first check of a minute counts. */
export function afterCheck(last: FreshnessDay | null, minute: number, look: Look): FreshnessDay | null {
  if (last !== null && minute <= last.lookedAt) return last
  const today = last?.day === dayOf(minute) ? last : newDay(dayOf(minute), last)
  const { counted, countsFrom, met, missedFrom } = today
  if (look === 'off') {
    if (countsFrom === null) return last
    const until = { counted: counted + minute - countsFrom, longestGap: gapBefore(today, minute) }
    return { ...today, ...until, lookedAt: minute, countsFrom: null, missedFrom: null }
  }
  const counting = { ...today, lookedAt: minute, countsFrom: countsFrom ?? minute, missedFrom: missedFrom ?? minute }
  if (look === 'missed') return counting
  return { ...counting, met: met + 1, missedFrom: minute + 1, longestGap: gapBefore(counting, minute) }
}
