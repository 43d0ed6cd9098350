// A boat's busy times, and their calendar read back by another library: without a database.

import fc from 'fast-check'
import ICAL from 'ical.js'
import { describe, expect, it } from 'vitest'
import { addDays } from '../../../src/clock.ts'
import { type BoatFacts, busyTimes, knownUntil, type Stay } from '../../../src/serve/calendars/busy-times.ts'
import { calendarText } from '../../../src/serve/calendars/calendar-text.ts'
import { runsOf } from '../../helpers/extent.ts'

const today = '2027-03-10'
const changedAt = new Date('2027-01-02T03:04:05Z')
const daysOfYear = (year: number): number => (year % 4 === 0 ? 366 : 365)
const dayNumber = (day: string): number => Date.parse(`${day}T00:00:00Z`) / 86_400_000

const stay = fc
  .record({
    number: fc.integer({ min: 0, max: 10_000 }),
    kind: fc.constantFrom('rental' as const, 'pending' as const, 'block' as const),
    day: fc.integer({ min: -5, max: 60 }),
    fromHour: fc.integer({ min: 0, max: 23 }),
    hours: fc.integer({ min: 1, max: 200 }),
  })
  .map(({ number, kind, day, fromHour, hours }): Stay => {
    const from = new Date(Date.parse(`${addDays(today, day)}T00:00:00Z`) + fromHour * 3_600_000)
    const to = new Date(from.getTime() + hours * 3_600_000)
    const days = { firstDay: from.toISOString().slice(0, 10), lastDay: to.toISOString().slice(0, 10) }
    return { uid: `${kind}-${number}`, kind, from, to, ...days, changedAt }
  })

const bits = (year: number) =>
  fc
    .array(fc.tuple(fc.constantFrom('0', '1', '?'), fc.integer({ min: 1, max: 40 })), { minLength: 1, maxLength: 20 })
    .map((runs) => ({
      ...{ year, changedAt },
      days: runs
        .map(([sign, length]) => sign.repeat(length))
        .join('')
        .padEnd(daysOfYear(year), '0')
        .slice(0, daysOfYear(year)),
    }))

const boats: fc.Arbitrary<BoatFacts> = fc.record({
  resourceId: fc.constant('1005-13'),
  isRentable: fc.boolean(),
  changedAt: fc.constant(changedAt),
  stays: fc.uniqueArray(stay, { maxLength: 8, selector: ({ uid }) => uid }),
  years: fc.subarray([2027, 2028]).chain((years) => fc.tuple(...years.map(bits))),
})

/** The sign of a day in the API's calendar. */
const signOf = ({ years }: BoatFacts, day: string): string | undefined => {
  const year = Number(day.slice(0, 4))
  return years.find((each) => each.year === year)?.days[dayNumber(day) - dayNumber(`${year}-01-01`)]
}

type Event = { readonly uid: string; readonly from: number; readonly to: number; readonly status: string }

/** The events of a calendar as another library reads them; whole days as midnights in UTC. */
function eventsIn(text: string): readonly Event[] {
  const component = new ICAL.Component(ICAL.parse(text))
  return component.getAllSubcomponents('vevent').map((each) => {
    const { uid, startDate, endDate } = new ICAL.Event(each)
    const ms = (time: ICAL.Time): number =>
      time.isDate ? Date.UTC(time.year, time.month - 1, time.day) : time.toUnixTime() * 1_000
    return { uid, from: ms(startDate), to: ms(endDate), status: String(each.getFirstPropertyValue('status')) }
  })
}

const daysToCome = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => addDays(today, n))

describe('the calendar of a boat', () => {
  it('covers every day that is full, not known or not for rent, and no day that is free', () => {
    fc.assert(
      fc.property(boats, (facts) => {
        const events = eventsIn(calendarText('Alizé', busyTimes(facts, today), null))
        for (const day of daysToCome(800)) {
          const from = dayNumber(day) * 86_400_000
          const to = from + 86_400_000
          const covering = events.filter((event) => event.from <= from && event.to >= to)
          const touching = events.filter((event) => event.from < to && event.to > from)
          if (signOf(facts, day) !== '0' || !facts.isRentable) expect(covering.length, day).toBeGreaterThan(0)
          else {
            const known = facts.stays.filter((each) => each.from.getTime() < to && each.to.getTime() > from)
            expect(touching.length, day).toBe(known.length)
          }
        }
      }),
      { numRuns: runsOf(20) },
    )
  })

  it('shows each rental and unavailability that is not over with its times, and what is pending as tentative', () => {
    fc.assert(
      fc.property(boats, (facts) => {
        const events = eventsIn(calendarText('Alizé', busyTimes(facts, today), null))
        for (const { uid, kind, from, to, lastDay } of facts.stays) {
          const shown = events.filter((event) => event.uid === `${uid}@boat-mirror`)
          const status = kind === 'pending' ? 'TENTATIVE' : 'CONFIRMED'
          const expected = { uid: `${uid}@boat-mirror`, from: from.getTime(), to: to.getTime(), status }
          expect(shown).toEqual(lastDay >= today ? [expected] : [])
        }
        expect(new Set(events.map(({ uid }) => uid)).size).toBe(events.length)
      }),
      { numRuns: runsOf(20) },
    )
  })

  it('is the same text for the same facts, and the next day keeps the events that are not over', () => {
    fc.assert(
      fc.property(boats, (facts) => {
        const text = calendarText('Alizé', busyTimes(facts, today), knownUntil(facts, today))
        expect(calendarText('Alizé', busyTimes(facts, today), knownUntil(facts, today))).toBe(text)
        const tomorrow = busyTimes(facts, addDays(today, 1))
        const kept = busyTimes(facts, today).filter(({ uid }) => tomorrow.some((each) => each.uid === uid))
        expect(tomorrow).toEqual(kept)
      }),
      { numRuns: runsOf(15) },
    )
  })

  it('marks a full day as on hold where only a pending rental touches it', () => {
    const days = '0'.repeat(365).split('')
    days[dayNumber('2027-04-01') - dayNumber('2027-01-01')] = '1'
    const pending: Stay = {
      ...{ uid: 'rental-1', kind: 'pending', firstDay: '2027-04-01', lastDay: '2027-04-01', changedAt },
      ...{ from: new Date('2027-04-01T09:00:00Z'), to: new Date('2027-04-01T18:00:00Z') },
    }
    const facts = {
      resourceId: 'r',
      isRentable: true,
      changedAt,
      years: [{ year: 2027, days: days.join(''), changedAt }],
    }
    const kinds = (stays: readonly Stay[]) =>
      busyTimes({ ...facts, stays }, today)
        .filter(({ from }) => from.toISOString().startsWith('2027'))
        .map(({ kind }) => kind)
    expect(kinds([pending])).toEqual(['held', 'pending'])
    expect(kinds([pending, { ...pending, uid: 'block-1', kind: 'block' }])).toEqual(['full', 'block', 'pending'])
    expect(kinds([])).toEqual(['full'])
  })

  it('says how far the calendar of the API is known', () => {
    const year = (days: string) => ({ years: [{ year: 2027, days, changedAt }] })
    const place = dayNumber(today) - dayNumber('2027-01-01')
    expect(knownUntil({ years: [] }, today)).toBeNull()
    expect(knownUntil(year('0'.repeat(place)), today)).toBeNull()
    expect(knownUntil(year('0'.repeat(place + 3)), today)).toBe('2027-03-12')
    expect(knownUntil(year('1'.repeat(365)), today)).toBe('2027-12-31')
    const text = calendarText('Alizé', [], '2027-12-31')
    expect(new ICAL.Component(ICAL.parse(text)).getFirstPropertyValue('x-boat-mirror-known-until')).toBe('20271231')
  })

  it('carries any name, and nothing of a name becomes an event', () => {
    // The parser undoes what a text escapes only if the value is declared as a text.
    const read = (name: string) => {
      const text = calendarText(name, [], null).replace('X-WR-CALNAME:', 'X-WR-CALNAME;VALUE=TEXT:')
      const component = new ICAL.Component(ICAL.parse(text))
      expect(component.getAllSubcomponents()).toEqual([])
      return component.getFirstPropertyValue('x-wr-calname')
    }
    fc.assert(
      fc.property(fc.oneof(fc.string({ minLength: 1 }), fc.constant('a\r\nBEGIN:VEVENT\r\nUID:x')), (name) => {
        const shown = read(name)
        if (/^[\x20-\x7e]+$/.test(name)) expect(shown).toBe(name)
      }),
    )
    expect(read('Alizé; 2, C:\\n')).toBe('Alizé; 2, C:\\n')
  })
})
