// Yearly calendars: one character per day, 0 free, 1 full
// (docs/sources.md, reference/retrieve-resource-availability-details/get-resource-availabilities).

import { isObject, type Json, stringifyJson } from '../../../api/wire/json.ts'
import { dateIn } from '../../../clock.ts'
import type { TableWrite } from '../../../mirror/rows.ts'
import { type Found, projected } from '../../change-set.ts'
import type { Reading } from '../../context.ts'
import { readOutcome } from '../single.ts'
import type { TaggedAnswers } from '../tagged-answers.ts'
import { type DetailRead, detailRead, notRead, parentValues } from './children.ts'

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
  reading: Reading<'calendar'>,
  parentKey: string,
  answers: TaggedAnswers,
): Promise<DetailRead> {
  const { context, stream, reads } = reading
  const { endpoint } = reads
  const { params, request } = parentValues(stream, parentKey)
  const { timeZone, calendarYears } = context.settings
  const thisYear = Number(dateIn(timeZone, context.clock.now()).slice(0, 4))
  const writes: TableWrite[] = []
  const findings: Found[] = []
  let startedAt = context.clock.now()
  for (let year = thisYear; year < thisYear + calendarYears; year++) {
    const { outcome, found } = await readOutcome(reading, {
      ...{ endpoint, params, query: { year: String(year) } },
      tagOf: answers.tagOf,
    })
    findings.push(found)
    if (outcome.kind === 'gone' || outcome.kind === 'failed') return notRead(outcome, findings, writes)
    const { body, startedAt: readAt, isSame } = outcome.value
    if (readAt < startedAt) startedAt = readAt
    if (isSame) {
      findings.push({ counts: { read: answers.noteSame(outcome.value) } })
      continue
    }
    answers.noteReceived(outcome.value, 1)
    const days = calendarDays(body)
    const values = { ...request, year: String(year), days }
    findings.push({ counts: { read: 1 } })
    if (days === null || days.length !== daysOf(year)) {
      const got = days === null ? 'no text of 365 or 366 characters of 0 and 1' : `${days.length} days`
      const reason = `days: expected ${daysOf(year)} characters of 0 and 1 for ${year}, got ${got}.`
      const key = JSON.stringify([parentKey, String(year)])
      const payload = stringifyJson(body)
      findings.push({ bad: [{ stream: stream.name, key, endpoint, payload, reason, request: values }] })
      continue
    }
    const own = projected({ stream, record: body, request: values, endpoint, timeZone })
    findings.push(own.found)
    if (own.row !== undefined)
      writes.push({ stream, mode: 'record', source: endpoint, readAt, rows: [own.row], replace: [] })
  }
  return detailRead(startedAt, writes, findings)
}
