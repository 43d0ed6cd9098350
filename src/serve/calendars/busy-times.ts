// When a boat is not free, as far as the mirror knows. Pure. A time is shown as free only where the API's calendar
// says so and nothing known contradicts it; unknown times are shown as taken.

import { addDays } from '../../clock.ts'

/** A stretch that something takes, by instants and by the days of the place, the last included. */
export type Stay = {
  readonly uid: string
  readonly kind: 'rental' | 'pending' | 'block'
  readonly from: Date
  readonly to: Date
  readonly firstDay: string
  readonly lastDay: string
  readonly changedAt: Date
}

/** A year of the API's calendar: one character a day from 1 January, 0 free, 1 full. */
export type CalendarYear = { readonly year: number; readonly days: string; readonly changedAt: Date }

export type BoatFacts = {
  readonly resourceId: string
  readonly isRentable: boolean
  /** When the resource last changed. */
  readonly changedAt: Date
  readonly stays: readonly Stay[]
  readonly years: readonly CalendarYear[]
}

export type BusyTime = {
  readonly uid: string
  /**
   * `full`: according to the API's calendar · `held`: the same, only because of a pending rental · `unknown`: beyond
   * what was read · `closed`: not for rent.
   */
  readonly kind: Stay['kind'] | DayKind
  /** Instants, or days of the place as midnights in UTC; the end is not included. */
  readonly from: Date
  readonly to: Date
  readonly wholeDays: boolean
  readonly changedAt: Date
}

type DayKind = 'full' | 'held' | 'unknown' | 'closed'
type Day = { readonly day: string; readonly kind: DayKind; readonly changedAt: Date }

/** So many years after the present one are shown; programs that read calendars look no further ahead. */
const yearsAhead = 10

/** Everything that takes the boat from today on, in the order of time. @param today the present day where the boat is, `YYYY-MM-DD` */
export function busyTimes(facts: BoatFacts, today: string): readonly BusyTime[] {
  const stays = facts.stays
    .filter(({ lastDay }) => lastDay >= today)
    .map(({ uid, kind, from, to, changedAt }): BusyTime => ({ uid, kind, from, to, wholeDays: false, changedAt }))
  const runs = runsOf(daysOf(facts, today)).filter(({ lastDay }) => lastDay >= today)
  const days = runs.map(
    ({ kind, firstDay, lastDay, changedAt }): BusyTime => ({
      uid: `${kind}-${firstDay}-${facts.resourceId}`,
      kind,
      from: midnight(firstDay),
      to: midnight(addDays(lastDay, 1)),
      wholeDays: true,
      changedAt,
    }),
  )
  return [...stays, ...days].sort((a, b) => a.from.getTime() - b.from.getTime() || (a.uid < b.uid ? -1 : 1))
}

const midnight = (day: string): Date => new Date(`${day}T00:00:00Z`)

/** The days that are not free as a whole. They begin with the year, so that a run keeps its first day as time goes by. */
function daysOf(facts: BoatFacts, today: string): readonly Day[] {
  const { isRentable, stays, changedAt } = facts
  const thisYear = Number(today.slice(0, 4))
  const found: Day[] = []
  for (let year = thisYear; year <= thisYear + yearsAhead; year++) {
    const known = facts.years.find((each) => each.year === year)
    for (let [day, place] = [`${year}-01-01`, 0]; day <= `${year}-12-31`; day = addDays(day, 1), place++) {
      const sign = known?.days[place]
      if (!isRentable) found.push({ day, kind: 'closed', changedAt })
      else if (sign !== '0' && sign !== '1')
        found.push({ day, kind: 'unknown', changedAt: known?.changedAt ?? changedAt })
      else if (sign === '1' && known !== undefined && !isWithin(day, stays))
        found.push({ day, kind: isHeld(day, stays) ? 'held' : 'full', changedAt: known.changedAt })
    }
  }
  return found
}

/** Is the whole day within something that takes it for sure? */
const isWithin = (day: string, stays: readonly Stay[]): boolean =>
  stays.some(({ kind, firstDay, lastDay }) => kind !== 'pending' && firstDay < day && day < lastDay)

/** Does a pending rental touch the day, and nothing else that is known? */
function isHeld(day: string, stays: readonly Stay[]): boolean {
  const touching = stays.filter(({ firstDay, lastDay }) => firstDay <= day && day <= lastDay)
  return touching.length > 0 && touching.every(({ kind }) => kind === 'pending')
}

type Run = {
  readonly kind: DayKind
  readonly firstDay: string
  lastDay: string
  readonly changedAt: Date
}

/** Days of one kind that follow each other. */
function runsOf(days: readonly Day[]): readonly Run[] {
  const runs: Run[] = []
  for (const { day, kind, changedAt } of days) {
    const last = runs.at(-1)
    if (last !== undefined && last.kind === kind && addDays(last.lastDay, 1) === day) last.lastDay = day
    else runs.push({ kind, firstDay: day, lastDay: day, changedAt })
  }
  return runs
}

/** The last day of which the API's calendar says whether it is full, without a gap from today on; null: not even today. */
export function knownUntil({ years }: Pick<BoatFacts, 'years'>, today: string): string | null {
  const isKnown = (day: string): boolean => {
    const first = `${day.slice(0, 4)}-01-01`
    const place = (midnight(day).getTime() - midnight(first).getTime()) / 86_400_000
    const sign = years.find(({ year }) => year === Number(day.slice(0, 4)))?.days[place]
    return sign === '0' || sign === '1'
  }
  let last: string | null = null
  for (let day = today; isKnown(day); day = addDays(day, 1)) last = day
  return last
}
