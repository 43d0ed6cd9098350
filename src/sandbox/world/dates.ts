// Calendar arithmetic on `YYYY-MM-DD` and on local date-times with the offset of a European harbour. Pure.

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
