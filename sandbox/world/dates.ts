// Calendar arithmetic on `YYYY-MM-DD`, on local date-times with the offset of a European harbour, and on durations. Pure.
// The published pattern of a duration, `TYPE,VALUE`, refuses legal values, so it is not used
// (docs/sources.md, reference/retrieve-resource-availability-details/get-resource-availability).

export const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

/** Milliseconds of midnight UTC of a date. */
export const dayStart = (date: string): number => Date.parse(`${date}T00:00:00Z`)

/** The UTC date of an instant. */
export const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** Adds whole days to a date. */
export const addDays = (date: string, days: number): string => dateOf(dayStart(date) + days * DAY_MS)

/** Whole days from one date to another; negative when `to` is earlier. */
export const daysBetween = (from: string, to: string): number => Math.round((dayStart(to) - dayStart(from)) / DAY_MS)

/** True for an existing calendar date in the form `YYYY-MM-DD`. */
export function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const ms = dayStart(text)
  return !Number.isNaN(ms) && dateOf(ms) === text
}

/** 01:00 UTC of the last Sunday of a month (1 to 12): when all of Europe changes its clocks. */
function lastSunday(year: number, month: number): number {
  const lastDay = new Date(Date.UTC(year, month, 0))
  return lastDay.getTime() - lastDay.getUTCDay() * DAY_MS + HOUR_MS
}

/** Hours ahead of UTC at a wall-clock time (given as if it were UTC), for a place with this winter offset. */
function offsetHours(wallMs: number, winterOffset: number): number {
  const year = new Date(wallMs).getUTCFullYear()
  const utc = wallMs - winterOffset * HOUR_MS
  return utc >= lastSunday(year, 3) && utc < lastSunday(year, 10) ? winterOffset + 1 : winterOffset
}

/** RFC 3339 with offset, such as `2026-07-14T09:00:00+02:00`, of a wall-clock time given as if it were UTC. */
export function localDatetime(wallMs: number, winterOffset: number): string {
  const hours = offsetHours(wallMs, winterOffset)
  return `${new Date(wallMs).toISOString().slice(0, 19)}${hours === 0 ? 'Z' : `+${String(hours).padStart(2, '0')}:00`}`
}

/** The wall-clock time, as if it were UTC, of a date-time with or without offset; NaN when it is not one. */
export const wallTime = (datetime: unknown): number =>
  typeof datetime === 'string' ? Date.parse(`${datetime.slice(0, 19)}Z`) : Number.NaN

/** Days in a year, 365 or 366. */
export const daysInYear = (year: number): number => (Date.UTC(year + 1, 0, 1) - Date.UTC(year, 0, 1)) / DAY_MS

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
