// Calendars by the grammar of RFC 5545: content lines (3.1), what a calendar is made of and in which order (3.4, 3.6), and
// which properties an event has (3.6.1).

import { expect, it } from 'vitest'
import type { BusyTime } from '../../../src/serve/calendars/busy-times.ts'
import { calendarText } from '../../../src/serve/calendars/calendar-text.ts'

/** contentline = name *(";" param) ":" value CRLF */
const contentLine =
  /^(?<name>[A-Za-z0-9-]+)(?:;[A-Za-z0-9-]+=(?:"[^"\p{Cc}]*"|[^";:,\p{Cc}]*)(?:,(?:"[^"\p{Cc}]*"|[^";:,\p{Cc}]*))*)*:(?<value>[^\p{Cc}]*)$/u

type Line = { readonly name: string; readonly value: string }

function linesOf(text: string): readonly Line[] {
  expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
  for (const line of text.split('\r\n')) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75)
  const unfolded = text.replace(/\r\n[ \t]/g, '').replace(/\r\n$/, '')
  return unfolded.split('\r\n').map((line) => {
    const { name, value } = contentLine.exec(line)?.groups ?? {}
    if (name === undefined || value === undefined) throw new Error(`no content line: ${line}`)
    return { name: name.toUpperCase(), value }
  })
}

const once = { calendar: ['PRODID', 'VERSION'], event: ['UID', 'DTSTAMP'] }
const atMostOnce = {
  calendar: [...once.calendar, 'CALSCALE', 'METHOD', 'NAME'],
  event: [
    ...once.event,
    ...['DTSTART', 'DTEND', 'DURATION', 'SUMMARY', 'STATUS', 'TRANSP', 'LAST-MODIFIED', 'SEQUENCE'],
  ],
}

function assertProperties(kind: 'calendar' | 'event', names: readonly string[]): void {
  for (const name of once[kind]) expect(names.filter((each) => each === name)).toEqual([name])
  for (const name of atMostOnce[kind]) expect(names.filter((each) => each === name).length).toBeLessThanOrEqual(1)
  for (const name of names) expect(name.startsWith('X-') || atMostOnce[kind].includes(name), name).toBe(true)
}

/** icalobject = "BEGIN:VCALENDAR" calprops 1*component "END:VCALENDAR". @returns the names of the calendar's properties */
function parseCalendar(text: string): readonly string[] {
  const rest = [...linesOf(text)]
  const take = (): Line => rest.shift() ?? { name: '', value: '' }
  const is = (name: string, value: string): boolean => rest[0]?.name === name && rest[0]?.value === value
  const properties = (): readonly string[] => {
    const names: string[] = []
    while (rest.length > 0 && rest[0]?.name !== 'BEGIN' && rest[0]?.name !== 'END') names.push(take().name)
    return names
  }
  expect(take()).toEqual({ name: 'BEGIN', value: 'VCALENDAR' })
  const own = properties()
  assertProperties('calendar', own)
  expect(is('BEGIN', 'VEVENT')).toBe(true)
  while (is('BEGIN', 'VEVENT')) {
    take()
    assertProperties('event', properties())
    expect(take()).toEqual({ name: 'END', value: 'VEVENT' })
  }
  expect(take()).toEqual({ name: 'END', value: 'VCALENDAR' })
  expect(rest).toEqual([])
  return own
}

const time = (kind: BusyTime['kind'], wholeDays: boolean): BusyTime => ({
  uid: `${kind}-1`,
  kind,
  from: new Date('2027-07-14T00:00:00Z'),
  to: new Date('2027-07-15T00:00:00Z'),
  wholeDays,
  changedAt: new Date('2027-01-01T00:00:00Z'),
})

it('have their own properties before the first event, whatever the boat is called', () => {
  const times = [time('rental', false), time('pending', false), time('full', true), time('unknown', true)]
  for (const name of ['Mistral', 'BEGIN:VEVENT', 'a\r\nBEGIN:VEVENT', 'Ÿacht; of, many\\names '.repeat(9), ''])
    for (const known of ['2028-12-31', null])
      expect(parseCalendar(calendarText(name, times, known))).toContain('X-BOAT-MIRROR-KNOWN-UNTIL')
  expect(calendarText('a', times, '2028-12-31')).toMatch(/^X-BOAT-MIRROR-KNOWN-UNTIL:20281231\r$/m)
})
