// The duration parameter `TYPE,VALUE` and the times of day it stands for. Pure. The published pattern refuses legal values,
// so it is not used (docs/sources.md, reference/retrieve-resource-availability-details/get-resource-availability).

import { addDays, DAY_MS, dayStart, daysBetween, isDate } from './dates.ts'

const MINUTE_MS = 60_000

export interface Duration {
  readonly type: 'MINUTES' | 'PERIODS' | 'DAYS' | 'WEEKS' | 'DATE'
  /** Minutes, days or weeks; 1 for a period. */
  readonly count: number
  readonly value: string
}

/** A wall-clock time span, milliseconds as if UTC. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** First and last minute of the day of each period. */
const periods: Readonly<Record<string, readonly [number, number]>> = {
  MORNING: [9 * 60, 13 * 60],
  AFTERNOON: [14 * 60, 18 * 60],
  EVENING: [18 * 60 + 30, 22 * 60],
}

/** Reads `TYPE,VALUE`; null when it is not a duration. */
export function parseDuration(text: string): Duration | null {
  const [type, value, ...rest] = text.split(',')
  if (value === undefined || rest.length > 0) return null
  if (type === 'PERIODS') return value in periods ? { type, count: 1, value } : null
  if (type === 'DATE') return isDate(value) ? { type, count: 1, value } : null
  if (type !== 'MINUTES' && type !== 'DAYS' && type !== 'WEEKS') return null
  if (!/^[1-9]\d{0,3}$/.test(value)) return null
  return { type, count: Number(value), value }
}

/** Approximate length in minutes, to compare durations with. */
export function lengthInMinutes(duration: Duration, date?: string): number {
  if (duration.type === 'MINUTES') return duration.count
  if (duration.type === 'PERIODS') return 240
  if (duration.type === 'DAYS') return duration.count * 1440
  if (duration.type === 'WEEKS') return duration.count * 7 * 1440
  return date ? (daysBetween(date, duration.value) + 1) * 1440 : 1440
}

/** When a boat leaves and returns for a duration that starts on a date: one or two choices; none if the end is before the start. */
export function spansOf(duration: Duration, date: string, twoDepartures: boolean): Span[] {
  const at = (day: string, minutes: number): number => dayStart(day) + minutes * MINUTE_MS
  if (duration.type === 'PERIODS') {
    const [from, to] = periods[duration.value] ?? [0, 0]
    return [{ from: at(date, from), to: at(date, to) }]
  }
  if (duration.type === 'MINUTES') {
    const starts = twoDepartures ? [10 * 60, 14 * 60] : [10 * 60]
    return starts.map((start) => ({ from: at(date, start), to: at(date, start + duration.count) }))
  }
  if (duration.type === 'WEEKS') {
    return [{ from: at(date, 14 * 60), to: at(addDays(date, duration.count * 7), 10 * 60) }]
  }
  const lastDay = duration.type === 'DATE' ? duration.value : addDays(date, duration.count - 1)
  if (lastDay < date) return []
  const starts = twoDepartures ? [9 * 60, 10 * 60] : [9 * 60]
  return starts.map((start) => ({ from: at(date, start), to: at(lastDay, start + 9 * 60) }))
}

/** The part of a day that makes it count as full in the yearly calendar: 09:00 to 18:00. */
export const daytime = (dayMs: number): Span => ({ from: dayMs + DAY_MS * (9 / 24), to: dayMs + DAY_MS * (18 / 24) })
