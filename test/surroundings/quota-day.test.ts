// A day of a worker under API_QUOTA=120000/day, minute by minute: the real schedule decides what is read when, and the real
// statement lends the requests, at a clock that is moved. 20,000 rentals, of which 10 % depart within 60 days, as many each
// day: 5 % within 30 days, and 1.2 % came back within a week. In full (`npm run surroundings`) a week.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRandom } from '../../sandbox/world/random.ts'
import { quotaRule } from '../../src/api/admission/quota.ts'
import { quotaValues } from '../../src/api/admission/request-budget.ts'
import {
  isDetailOnSchedule,
  parentOf,
  repeatsOf,
  streamNamed,
  streams,
  withAncestors,
} from '../../src/catalog/catalog.ts'
import { findTurn, turnName } from '../../src/catalog/turns.ts'
import type { StreamDef } from '../../src/catalog/types.ts'
import { readConfig } from '../../src/config.ts'
import { budgetPerDay } from '../../src/jobs/fit-schedule.ts'
import { wantedIntervals } from '../../src/jobs/schedule.ts'
import { isEnabled } from '../../src/sync/plan.ts'
import { type Ages, type QuotaSchedule, solveSchedule } from '../../src/sync/quota-schedule.ts'
import { type Costs, detailRequests, listRequests, recordsWithDetails } from '../../src/sync/read-costs.ts'
import { changedADay } from '../../src/sync/request-plan.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { isFull } from '../helpers/extent.ts'

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000]
const days = isFull ? 7 : 1
/** Details are checked once in this time: checking a hundred thousand takes most of the test. */
const detailsEveryMs = 5 * minuteMs
const ratePerSecond = 10
const quota = { hour: null, day: 120_000, month: null }
const rows: Readonly<Record<string, number>> = { rentals: 20_000, resources: 1_000, users: 10_000, companies: 100 }
/** Departing within 30 days, or back since less than seven. */
const soonShare = 0.05 + (0.1 * 7) / 60
/** Those, and what departs up to 60 days ahead. */
const hotShare = 0.1 + (0.1 * 7) / 60
/** Changes of ours, with all that is read for them. */
const changesADay = 300

const config = readConfig({ API_RATE_LIMIT: String(ratePerSecond), API_QUOTA: '120000/day' }, '/nonexistent')
const costs: Costs = { settings: config, rowsOf: (name) => rows[name] ?? null, needed: new Set() }
const { next: random } = createRandom(1, 'quota day')

/** The details of one stream: when each was read, and by when it is read again. */
class Details {
  readonly stream: StreamDef
  readonly each: number
  readonly soon: number
  readonly readAt: Float64Array
  readonly #share: Float64Array
  readonly changed = new Set<number>()
  /** What a turn that reads all has still to read. */
  readonly left = new Set<number>()
  /** The oldest that details of what is soon became, and the others. */
  oldest = { soon: 0, other: 0 }

  constructor(stream: StreamDef, ages: Ages) {
    this.stream = stream
    const count = Math.round(recordsWithDetails(stream, costs) ?? 0)
    this.each = detailRequests(stream, costs) + repeatsOf(stream).length * 2 * 0.02
    const holder = stream.reads.kind === 'list' ? stream : parentOf(stream)
    this.soon = holder?.eventful === undefined ? 0 : Math.round(count * soonShare)
    this.#share = Float64Array.from({ length: count }, () => 0.75 + 0.25 * random())
    // As they would be after weeks of this schedule.
    this.readAt = Float64Array.from({ length: count }, (_, index) => -random() * this.ageOf(index, ages))
  }

  ageOf(index: number, { maxAgeMs, soonMaxAgeMs }: Ages): number {
    return (index < this.soon ? soonMaxAgeMs : maxAgeMs) * (this.#share[index] ?? 1)
  }

  /** What is due. */
  due(now: number, ages: Ages): readonly number[] {
    const old: number[] = [...this.changed]
    if (!isDetailOnSchedule(this.stream)) return [...old, ...this.left]
    for (let index = 0; index < this.readAt.length; index++)
      if (now - (this.readAt[index] ?? 0) > this.ageOf(index, ages) && !this.changed.has(index)) old.push(index)
    return old
  }

  read(index: number, now: number): void {
    const age = now - (this.readAt[index] ?? 0)
    const which = index < this.soon ? 'soon' : 'other'
    this.oldest[which] = Math.max(this.oldest[which], age)
    this.readAt[index] = now
    this.changed.delete(index)
    this.left.delete(index)
  }
}

/** The day. */
class Day {
  readonly taken: { readonly at: number; readonly count: number; readonly by: string }[] = []
  /** By turn: when it last ended, and the longest time between two ends. */
  readonly ended = new Map<string, { at: number; longest: number }>()
  readonly details: ReadonlyMap<string, Details>
  readonly schedule: QuotaSchedule
  readonly #take: (priority: string, wanted: number, at: number) => Promise<number>
  readonly #nextAt = new Map<string, number>()
  /** Pages of lists that are being read. */
  #reading: { readonly turn: string; left: number }[] = []

  constructor(take: (priority: string, wanted: number, at: number) => Promise<number>) {
    this.#take = take
    const pages = new Map([['rentals', listRequests(streamNamed('rentals'), rows.rentals ?? 0, config)]])
    const wanted = wantedIntervals(config, { ratePerSecond, pages, unexpected: new Set() })
    const size = { soonShare, hotShare, changedADay, measured: new Map<string, number>() }
    const input = { ...costs, settings: config, wanted, ...size }
    this.schedule = solveSchedule(input, budgetPerDay((quota.day ?? 0) / 24, ratePerSecond))
    this.details = new Map(
      streams
        .filter((stream) => stream.reads.kind !== 'inside' && stream.reads.kind !== 'list' && isEnabled(stream, config))
        .map((stream) => [stream.name, new Details(stream, this.agesOf(stream.name))] as const),
    )
    for (const [turn, intervalMs] of this.schedule.intervals) {
      this.#nextAt.set(turn, intervalMs * random())
      this.ended.set(turn, { at: 0, longest: 0 })
    }
  }

  agesOf(name: string): Ages {
    return this.schedule.ages.get(name) ?? { maxAgeMs: config.detailMaxAgeMs, soonMaxAgeMs: config.detailMaxAgeMs / 4 }
  }

  change(rental: number): void {
    for (const [name, details] of this.details) {
      if (withAncestors(streamNamed(name)).some((each) => each.name === 'rentals')) details.changed.add(rental)
      if (details.stream.dueBy?.stream === 'rentals') details.changed.add(rental % (rows.resources ?? 1))
    }
  }

  async minute(now: number): Promise<void> {
    let left = ratePerSecond * 60
    const take = async (priority: string, wanted: number): Promise<number> => {
      if (wanted <= 0) return 0
      const granted = await this.#take(priority, Math.min(wanted, left), now)
      left -= granted
      if (granted > 0) this.taken.push({ at: now, count: granted, by: priority })
      return granted
    }
    if (random() < changesADay / 1_440) await take('write', 4)
    this.#begin(now)
    let granted = await take(
      'read',
      this.#reading.reduce((sum, { left: pages }) => sum + pages, 0),
    )
    for (const run of this.#reading) {
      const read = Math.min(granted, run.left)
      granted -= read
      run.left -= read
      if (run.left === 0) this.#end(run.turn, now)
    }
    this.#reading = this.#reading.filter(({ left: pages }) => pages > 0)
    if (now % detailsEveryMs !== 0) return
    left = (ratePerSecond * detailsEveryMs) / 1_000
    const wanted = [...this.details.values()].flatMap((details) => {
      const isFirst = (index: number): boolean => index < details.soon || details.changed.has(index)
      const due = details.due(now, this.agesOf(details.stream.name))
      return due.map((index) => ({ details, index, rank: isFirst(index) ? 0 : 1 }))
    })
    wanted.sort((a, b) => a.rank - b.rank)
    let free = await take('detail', Math.ceil(wanted.reduce((sum, { details }) => sum + details.each, 0)))
    for (const { details, index } of wanted) {
      if (free < details.each) break
      free -= details.each
      details.read(index, now)
    }
  }

  /** Begins the turns that are due. */
  #begin(now: number): void {
    for (const [turn, intervalMs] of this.schedule.intervals) {
      const due = this.#nextAt.get(turn) ?? 0
      if (due > now || this.#reading.some((run) => run.turn === turn)) continue
      this.#nextAt.set(turn, Math.max(due, now - intervalMs) + intervalMs)
      const { stream: name, hot } = findTurn(turn) ?? { stream: '', hot: false }
      const stream = streamNamed(name)
      if (stream.reads.kind !== 'list') {
        const details = this.details.get(name)
        if (!hot && details !== undefined && !isDetailOnSchedule(stream))
          for (const index of details.readAt.keys()) details.left.add(index)
        continue
      }
      const records = rows[name] ?? 60
      const pages = hot ? 1 + listRequests(stream, records * hotShare, config) : listRequests(stream, records, config)
      this.#reading.push({ turn, left: pages })
    }
  }

  #end(turn: string, now: number): void {
    const before = this.ended.get(turn) ?? { at: 0, longest: 0 }
    this.ended.set(turn, { at: now, longest: Math.max(before.longest, now - before.at) })
  }
}

let database: TestDatabase
let day: Day
beforeAll(async () => {
  database = await createTestDatabase()
  const client = await database.pool.connect()
  await client.query(`begin; truncate sync.request_counts; select setval('sync.details_paced_until', 1)`)
  const begin = Date.UTC(2026, 0, 10)
  day = new Day(async (priority, wanted, at) => {
    const { rows: lent } = await client.query('select granted from sync.take_from_quota($1, $2, $3, 0, null, $4)', [
      quotaValues(quota),
      priority,
      wanted,
      new Date(begin + at),
    ])
    return lent[0].granted
  })
  const changes = Array.from({ length: (rows.rentals ?? 0) * changedADay * days }, () => random() * dayMs * days)
  changes.sort((a, b) => a - b)
  for (let now = 0; now < dayMs * days; now += minuteMs) {
    while ((changes[0] ?? Number.POSITIVE_INFINITY) <= now) {
      changes.shift()
      day.change(Math.floor(random() * (rows.rentals ?? 0)))
    }
    await day.minute(now)
  }
  await client.query('rollback')
  client.release()
})
afterAll(() => database[Symbol.asyncDispose]())

/** The most that was taken within any window. */
function mostWithin(taken: readonly { readonly at: number; readonly count: number }[], windowMs: number): number {
  let [sum, first, most] = [0, 0, 0]
  for (const { at, count } of taken) {
    sum += count
    for (let oldest = taken[first]; oldest !== undefined && oldest.at <= at - windowMs; oldest = taken[++first])
      sum -= oldest.count
    most = Math.max(most, sum)
  }
  return most
}

describe('under 120,000 requests a day', () => {
  it('no window takes more, and reads leave a tenth', () => {
    expect(mostWithin(day.taken, dayMs)).toBeLessThanOrEqual(120_000)
    const reads = day.taken.filter(({ by }) => by !== 'write')
    expect(mostWithin(reads, dayMs)).toBeLessThanOrEqual(120_000 * quotaRule.forReads)
    // The schedule takes what it was solved for, and no less than it could.
    const perDay = day.taken.reduce((sum, { count }) => sum + count, 0) / days
    expect(perDay).toBeLessThanOrEqual(120_000 * 0.75)
    expect(perDay).toBeGreaterThan(120_000 * 0.5)
    expect(day.schedule.isKept).toBe(true)
  })

  it('companies, resources, rentals and users are complete at least hourly, reference lists daily', () => {
    const longest = (turn: string): number => day.ended.get(turn)?.longest ?? Number.POSITIVE_INFINITY
    for (const name of ['companies', 'resources', 'rentals', 'users']) {
      expect(longest(name)).toBeGreaterThan(0)
      expect(longest(name)).toBeLessThanOrEqual(hourMs)
    }
    for (const stream of streams)
      if (stream.reads.kind === 'list' && !stream.reads.paged)
        expect(day.schedule.intervals.get(stream.name)).toBeLessThanOrEqual(dayMs)
  })

  it('what departs within 30 days is listed every five minutes, and its details are no older than twelve hours', () => {
    expect(day.ended.get(turnName({ stream: 'rentals', hot: true }))?.longest).toBeLessThanOrEqual(5 * minuteMs)
    for (const [name, { soon, oldest }] of day.details)
      if (soon > 0) expect([name, oldest.soon <= 12 * hourMs]).toEqual([name, true])
    expect([...day.details.values()].filter(({ soon }) => soon > 0).length).toBeGreaterThanOrEqual(4)
  })

  it('the rest is stretched', () => {
    const ages = day.agesOf('rental_payments')
    expect(ages.maxAgeMs).toBeGreaterThan(config.detailMaxAgeMs)
    expect(day.schedule.intervals.get('rentals.hot')).toBeLessThanOrEqual(4 * minuteMs)
  })
})
