// Reads dates and date-times of the API. All code that compares or stores them uses this file, so that the time zone of the process
// has no effect: a text without offset is in the configured zone. Pure, except for the rules of zones, which come from the database.

/** A date-time in every spelling of RFC 3339, and some other common ones: a space, `+00`, `+0000`, no seconds. */
const dateTimePattern =
  /^(\d{4}-\d{2}-\d{2})[Tt ]((?:[01]\d|2[0-3]):[0-5]\d)(?::([0-5]\d|60)(?:\.(\d+))?)?\s?([Zz]|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?$/

const datePattern = /^\d{4}-\d{2}-\d{2}/

/** Postgres refuses offsets of 16 hours and more, which RFC 3339 allows. */
const widestOffsetHours = 15

/** Digits of a fraction that are used: Postgres refuses very long texts, and keeps six. */
const fractionDigits = 15

const daysInMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Parts of a date-time as written. */
type Parts = {
  readonly day: string
  /** Hours and minutes, `09:30`. */
  readonly time: string
  readonly seconds: string
  /** Digits after the point; none: an empty text. */
  readonly fraction: string
  /** Undefined: the configured zone is meant. */
  readonly offset: string | undefined
}

/** Whether a text begins with a day that exists in the calendar; Postgres has no year 0000. */
function startsWithDay(text: string): boolean {
  if (!datePattern.test(text)) return false
  const year = Number(text.slice(0, 4))
  const month = Number(text.slice(5, 7))
  const day = Number(text.slice(8, 10))
  if (year === 0) return false
  const leap = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return day >= 1 && day <= (daysInMonth[month - 1] ?? 0) + (leap ? 1 : 0)
}

function partsOf(text: string): Parts | null {
  const match = dateTimePattern.exec(text)
  if (match === null || !startsWithDay(text)) return null
  const [, day = '', time = '', seconds = '00', fraction = '', offset] = match
  return { day, time, seconds, fraction: fraction.slice(0, fractionDigits), offset: offset?.toUpperCase() }
}

/** The calendar day of a date or date-time, `YYYY-MM-DD`, in its own offset; null for any other text. */
export const dayOf = (text: string): string | null =>
  startsWithDay(text) && (text.length === 10 || dateTimePattern.test(text)) ? text.slice(0, 10) : null

/**
 * A date-time in the form that Postgres takes for timestamptz, to all its digits.
 * @param timeZone IANA zone of texts without offset
 * @returns null for any text that is no date-time
 */
export function dateTimeForSql(text: string, timeZone: string): string | null {
  const parts = partsOf(text)
  return parts === null ? null : partsForSql(parts, timeZone)
}

/** The clock time of a date-time as written, without its zone, for Postgres's timestamp; null for any text that is no date-time. */
export function wallClockForSql(text: string): string | null {
  const parts = partsOf(text)
  return parts === null ? null : partsForSql({ ...parts, offset: 'Z' }, 'UTC')
}

function partsForSql(parts: Parts, timeZone: string): string | null {
  const { day, time, seconds, fraction, offset } = parts
  const isBeyondPostgres =
    (seconds === '60' && fraction !== '') || (offset !== undefined && hoursOf(offset) > widestOffsetHours)
  if (isBeyondPostgres) return inUtc(parts, timeZone)
  return `${day} ${time}:${seconds}${fraction === '' ? '' : `.${fraction}`} ${offset ?? timeZone}`
}

/**
 * The instant of a date-time, in milliseconds since 1970, as Postgres reads it: to the microsecond until 2248.
 * @param timeZone IANA zone of texts without offset
 * @returns null for any text that is no date-time
 */
export function instantOf(text: string, timeZone: string): number | null {
  const parts = partsOf(text)
  return parts === null ? null : secondOf(parts, timeZone) + microseconds(parts.fraction) / 1_000
}

/** The instant without its fraction, in milliseconds. */
function secondOf({ day, time, seconds, offset }: Parts, timeZone: string): number {
  // A whole minute in UTC is the form that every JavaScript engine reads alike.
  const wall = Date.parse(`${day}T${time}:00.000Z`) + Number(seconds) * 1_000
  return offset === undefined ? wallToInstant(wall, timeZone) : wall - offsetMs(offset)
}

/** Rounds as Postgres does: half to even. */
function microseconds(fraction: string): number {
  if (fraction === '') return 0
  const exact = Number(`0.${fraction}`) * 1_000_000
  const below = Math.floor(exact)
  if (exact - below !== 0.5) return Math.round(exact)
  return below % 2 === 0 ? below : below + 1
}

const hoursOf = (offset: string): number => (offset === 'Z' ? 0 : Number(offset.slice(1, 3)))

function offsetMs(offset: string): number {
  if (offset === 'Z') return 0
  const minutes = hoursOf(offset) * 60 + Number(offset.slice(3).replace(':', ''))
  return (offset.startsWith('-') ? -minutes : minutes) * 60_000
}

const dayMs = 86_400_000

/** The instant at which clocks in a zone show a time. As in Postgres, a skipped time has the offset before the change, a repeated one that after it. */
function wallToInstant(wall: number, timeZone: string): number {
  const [before, after] = [zoneOffset(wall - dayMs, timeZone), zoneOffset(wall + dayMs, timeZone)]
  const later = wall - after
  if (before === after || zoneOffset(later, timeZone) === after) return later
  return wall - before
}

/** Creating a format takes as long as a hundred uses of it. */
const formats = new Map<string, Intl.DateTimeFormat>()

function formatFor(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known !== undefined) return known
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    era: 'short',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  formats.set(timeZone, made)
  return made
}

/** Offset of a zone from an instant on, both in milliseconds; null: not known. */
type ZoneRule = { readonly from: number; readonly offset: number | null }

/** Postgres's rules of zones, in the order of time, where Node has others. */
export const postgresZones = new Map<string, readonly ZoneRule[]>()

/** How far clocks in a zone are ahead of UTC at an instant, in milliseconds. */
export const zoneOffset = (instant: number, timeZone: string): number =>
  postgresZones.get(timeZone)?.findLast(({ from }) => from <= instant)?.offset ?? nodeOffset(instant, timeZone)

/** The same by the rules of Node. */
export function nodeOffset(instant: number, timeZone: string): number {
  const shown = new Map(
    formatFor(timeZone)
      .formatToParts(instant)
      .map(({ type, value }) => [type, value]),
  )
  const part = (type: Intl.DateTimeFormatPartTypes): number => Number(shown.get(type))
  const year = shown.get('era') === 'BC' ? 1 - part('year') : part('year')
  const wall = new Date(0)
  wall.setUTCFullYear(year, part('month') - 1, part('day'))
  wall.setUTCHours(part('hour'), part('minute'), part('second'))
  return wall.getTime() - Math.floor(instant / 1_000) * 1_000
}

/** The instant in UTC for Postgres; null if its year has not four digits. */
function inUtc(parts: Parts, timeZone: string): string | null {
  const micros = microseconds(parts.fraction)
  const text = new Date(secondOf(parts, timeZone) + Math.floor(micros / 1_000_000) * 1_000).toISOString()
  if (!startsWithDay(text)) return null
  return `${text.slice(0, 10)} ${text.slice(11, 19)}.${String(micros % 1_000_000).padStart(6, '0')} Z`
}
