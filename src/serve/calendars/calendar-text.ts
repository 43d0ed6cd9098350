// A boat's busy times as iCalendar (RFC 5545). Nothing personal: no names, no numbers of people, no prices. Pure: the same times make
// the same text.

import ical, { ICalCalendarMethod, ICalEventStatus, ICalEventTransparency } from 'ical-generator'
import { oneLine } from '../../text.ts'
import type { BusyTime } from './busy-times.ts'

const summaries: Readonly<Record<BusyTime['kind'], string>> = {
  rental: 'Booked',
  pending: 'On hold',
  block: 'Not available',
  full: 'Not available',
  held: 'On hold',
  unknown: 'Not known yet',
  closed: 'Not for rent',
}

/** The library writes the name as it is: line ends would begin another property, and these characters have a meaning. */
const escaped = (text: string): string => text.replace(/[\\;,]/g, '\\$&')

/** What may still become free. */
const tentative: readonly BusyTime['kind'][] = ['pending', 'held', 'unknown']

/**
 * The calendar of a boat.
 * @param knownUntil the last day that the API's calendar knows; null: not even today
 */
export function calendarText(name: string, times: readonly BusyTime[], knownUntil: string | null): string {
  const calendar = ical({
    name: escaped(oneLine(name, 200)),
    prodId: { company: 'boat-mirror', product: 'calendar', language: 'EN' },
    method: ICalCalendarMethod.PUBLISH,
  })
  for (const { uid, kind, from, to, wholeDays, changedAt } of times)
    calendar.createEvent({
      id: `${encodeURIComponent(uid)}@boat-mirror`,
      start: from,
      end: to,
      allDay: wholeDays,
      summary: summaries[kind],
      status: tentative.includes(kind) ? ICalEventStatus.TENTATIVE : ICalEventStatus.CONFIRMED,
      transparency: ICalEventTransparency.OPAQUE,
      stamp: changedAt,
      lastModified: changedAt,
    })
  // The library would write it behind the events, where the grammar has no more properties of a calendar (RFC 5545, 3.6).
  const known = `X-BOAT-MIRROR-KNOWN-UNTIL:${knownUntil?.replaceAll('-', '') ?? 'NOTHING'}\r\n`
  return calendar.toString().replace(/^(BEGIN:VEVENT|END:VCALENDAR)/m, `${known}$1`)
}
