// Yearly calendars: one character per day, 0 free, 1 full
// (docs/sources.md, reference/retrieve-resource-availability-details/get-resource-availabilities).

import { isObject, type Json, stringifyJson } from '../../../api/wire/json.ts'
import type { StreamDef } from '../../../catalog/types.ts'
import { dateIn } from '../../../clock.ts'
import type { TableWrite } from '../../../mirror/rows.ts'
import type { SyncContext } from '../../context.ts'
import { projectInto, type Work } from '../../work.ts'
import { readOutcome } from '../single.ts'
import { parentValues } from './collection.ts'
import type { DetailRead } from './detail.ts'

const bits = /^[01]{365,366}$/

/** Days of a year. Pure. */
export const daysOf = (year: number): number => ((year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 366 : 365)

/** The calendar in an answer of undocumented shape: a text of 0 and 1, an object with one, or an array of one. Pure. */
export function calendarDays(body: Json): string | null {
  if (typeof body === 'string') return bits.test(body) ? body : null
  if (Array.isArray(body)) return body.length === 1 ? calendarDays(body[0] ?? null) : null
  if (!isObject(body)) return null
  const found = Object.values(body).filter((value) => typeof value === 'string' && bits.test(value))
  return found.length === 1 ? String(found[0]) : null
}

/** Reads this year's calendar of a resource and those of the following CALENDAR_YEARS - 1 years. */
export async function readCalendar(
  context: SyncContext,
  stream: StreamDef,
  holderKey: string,
  work: Work,
  signal: AbortSignal,
): Promise<DetailRead> {
  if (stream.reads.kind !== 'calendar') throw new Error(`${stream.name} is no calendar.`)
  const { endpoint } = stream.reads
  const { params, request } = parentValues(stream, holderKey)
  const { timeZone, calendarYears } = context.settings
  const thisYear = Number(dateIn(timeZone, context.clock.now()).slice(0, 4))
  const writes: TableWrite[] = []
  let startedAt = context.clock.now()
  for (let year = thisYear; year < thisYear + calendarYears; year++) {
    const outcome = await readOutcome(context, work, { endpoint, params, query: { year: String(year) }, signal })
    if (outcome.kind === 'gone' || outcome.kind === 'failed') return { outcome, writes }
    if (outcome.kind === 'absent') continue
    if (outcome.value.startedAt < startedAt) startedAt = outcome.value.startedAt
    const { body } = outcome.value
    work.counts.read += 1
    const days = calendarDays(body)
    const values = { ...request, year: String(year), days }
    if (days === null || days.length !== daysOf(year)) {
      const found = days === null ? 'no text of 365 or 366 characters of 0 and 1' : `${days.length} days`
      const reason = `days: expected ${daysOf(year)} characters of 0 and 1 for ${year}, got ${found}.`
      work.bad.push({
        stream: stream.name,
        key: JSON.stringify([holderKey, String(year)]),
        endpoint,
        payload: stringifyJson(body),
        reason,
        request: values,
      })
      continue
    }
    const projected = projectInto(work, stream, body, values, endpoint, timeZone)
    if (projected.ok)
      writes.push({
        stream,
        mode: 'record',
        source: endpoint,
        readAt: outcome.value.startedAt,
        rows: [projected.row],
        replace: [],
      })
  }
  return { outcome: { kind: 'there', value: { startedAt } }, writes }
}
