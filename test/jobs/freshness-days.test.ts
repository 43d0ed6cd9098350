// How long streams met their targets: report.freshness_history against a model that checks every single minute, and what a
// worker's check finds.

import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { freshnessHistory, streamHistory } from '../../src/inspect/streams.ts'
import { afterCheck, type FreshnessDay, type Look, minutesOfDay } from '../../src/jobs/freshness-minutes.ts'
import { checkFreshness, saveFreshnessDays, startFreshnessChecks } from '../../src/jobs/maintenance.ts'
import { runsOf } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { openMirror, quiet } from '../helpers/rows.ts'

const mirror = opened(openMirror)
beforeEach(() => mirror.all('truncate sync.freshness_days'))

type Seen = { readonly minute: number; readonly look: Look }
type Day = { minutes: number; met: number; gap: number }

/** What each day says, minute by minute: the first look in a minute counts, a minute without one is as good as missed. */
function modelOf(seen: readonly Seen[], now: number): ReadonlyMap<number, Day> {
  const first = new Map<number, Look>()
  let latest = Number.NEGATIVE_INFINITY
  for (const { minute, look } of seen) {
    const stillOff = look === 'off' && (first.get(latest) ?? 'off') === 'off' // which leaves no trace
    if (minute <= latest || stillOff) continue
    latest = minute
    first.set(minute, look)
  }
  const days = new Map<number, Day>()
  let [state, gap]: [Look, number] = ['off', 0]
  for (let minute = Math.min(...first.keys()); minute < Math.max(now, latest + 1); minute++) {
    const look = first.get(minute)
    state = look ?? (state === 'off' ? 'off' : 'missed')
    gap = state === 'missed' ? gap + 1 : 0
    if (state === 'off') continue
    const number = Math.floor(minute / minutesOfDay)
    const day = days.get(number) ?? { minutes: 0, met: 0, gap: 0 }
    day.minutes++
    if (state === 'met') day.met++
    day.gap = Math.max(day.gap, gap)
    days.set(number, day)
  }
  return days
}

/** The rows that looks leave behind. */
function rowsOf(seen: readonly Seen[]): readonly FreshnessDay[] {
  const days = new Map<number, FreshnessDay>()
  let last: FreshnessDay | null = null
  for (const { minute, look } of seen) {
    last = afterCheck(last, minute, look)
    if (last !== null) days.set(last.day, last)
  }
  return [...days.values()]
}

const segment = fc.record({
  look: fc.constantFrom<Look | 'nobody' | 'set back'>('met', 'met', 'missed', 'off', 'nobody', 'set back'),
  minutes: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 900 })),
  /** What a second worker finds in the same minutes, later. */
  other: fc.option(fc.constantFrom<Look>('met', 'missed', 'off')),
})

/** Looks that end at `now` at the latest. */
function looksOf(
  segments: readonly (typeof segment extends fc.Arbitrary<infer T> ? T : never)[],
  now: number,
): readonly Seen[] {
  const whole = segments.reduce((sum, { look, minutes }) => sum + (look === 'set back' ? 0 : minutes), 0)
  const seen: Seen[] = []
  let minute = now - whole
  for (const { look, minutes, other } of segments) {
    if (look === 'set back') minute -= Math.min(minutes, 90)
    else
      for (let end = minute + minutes; minute < end; minute++) {
        if (look === 'nobody') continue
        seen.push({ minute, look })
        if (other !== null) seen.push({ minute, look: other })
      }
  }
  return seen
}

const dateOf = (day: number): string => new Date(day * 86_400_000).toISOString().slice(0, 10)
const thisMinute = async (): Promise<number> =>
  Number((await mirror.all('select floor(extract(epoch from clock_timestamp()) / 60) as minute'))[0]?.minute)

it('what report.freshness_history says is what each minute says by itself, whatever gaps, days, clocks and workers do', async () => {
  const histories = fc.sample(fc.array(segment, { minLength: 1, maxLength: 12 }), {
    numRuns: runsOf(150),
    seed: 20_261_125,
  })
  for (;;) {
    const now = await thisMinute()
    // Some end ahead of the clock, on the same day or another: it was set back since.
    const ahead = [200, 0, 0, 1_500, 0]
    const looks = histories.map((segments, index) => looksOf(segments, now + (ahead[index % ahead.length] ?? 0)))
    const rows = looks.flatMap((seen, index) => rowsOf(seen).map((day) => ({ stream: `s${index}`, ...day })))
    await mirror.all('truncate sync.freshness_days')
    await saveFreshnessDays(mirror.db.pool, rows)
    const found = await mirror.all<{ stream: string; day: string; minutes: number; met: number; gap: number }>(
      `select stream, day::text as day, minutes, minutes_within_target as met, longest_gap as gap
       from report.freshness_history where share = round(minutes_within_target::numeric / minutes, 4)`,
    )
    if ((await thisMinute()) !== now) continue // the view went on by a minute
    const wanted = looks.flatMap((seen, index) =>
      [...modelOf(seen, now)].map(([day, facts]) => ({ stream: `s${index}`, day: dateOf(day), ...facts })),
    )
    const inOrder = <T extends { stream: string; day: string }>(facts: readonly T[]): readonly T[] =>
      [...facts].sort((a, b) => `${a.stream} ${a.day}`.localeCompare(`${b.stream} ${b.day}`))
    expect(wanted.length).toBeGreaterThan(runsOf(150))
    expect(inOrder(found)).toEqual(inOrder(wanted))
    return
  }
})

describe('a look', () => {
  const put = (stream: string, ageS: number | null, targetS: number | null): Promise<unknown> =>
    mirror.all(
      `update sync.streams set as_of = clock_timestamp() - $2 * interval '1 s', target_s = $3 where stream = $1`,
      [stream, ageS, targetS],
    )
  const found = () =>
    mirror.all('select stream, met, missed_from is not null as counts from sync.freshness_days order by stream')

  it('goes by the age alone, and leaves out what is switched off, has no target or was never read completely', async () => {
    await mirror.all('update sync.streams set as_of = null, target_s = null, interval_s = null')
    await put('rentals', 50, 60)
    await put('users', 70, 60)
    await put('cities', null, 60)
    await put('types', 50, null)
    await put('user_licenses', 50, 60)
    const [run] = await mirror.all<{ id: string }>(
      `insert into sync.runs (stream, trigger, status) values ('rentals', 'test', 'partial') returning id`,
    )
    await mirror.all(`update sync.streams set last_run_id = $1 where stream = 'rentals'`, [run?.id])
    await checkFreshness(mirror.db, ['user_licenses'])
    expect(await found()).toEqual([
      { stream: 'rentals', met: 1, counts: true },
      { stream: 'users', met: 0, counts: true },
    ])
  })

  it('is one a minute, however many workers look, and status sums it up', async () => {
    await mirror.all('update sync.streams set as_of = null, target_s = null, interval_s = null')
    await put('rentals', 1, 3_600)
    const config = readConfig({ DATABASE_URL: mirror.url }, '/nonexistent')
    const began = await thisMinute()
    const workers = [1, 2, 3].map(() => startFreshnessChecks({ database: mirror.db, config, log: quiet }))
    await expect.poll(found).toHaveLength(1)
    await Promise.all(workers.map((each) => each[Symbol.asyncDispose]()))
    await checkFreshness(mirror.db, [])
    const ended = await thisMinute()
    const [{ met } = { met: 0 }] = (await found()) as { met: number }[]
    expect(met).toBeGreaterThanOrEqual(1)
    expect(met).toBeLessThanOrEqual(ended - began + 1)
    const { days, streams } = await freshnessHistory(mirror.db.pool)
    expect(streams).toMatchObject([{ stream: 'rentals', minutesWithinTarget: met }])
    expect(days.reduce((sum, each) => sum + each.minutesWithinTarget, 0)).toBe(met)
    expect((await streamHistory(mirror.db.pool, 'rentals')).map(({ day }) => day)).toEqual(days.map(({ day }) => day))
  })
})
