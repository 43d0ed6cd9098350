// A day of the worker, minute by minute: the real intervals, costs and stretching decide what runs; what Postgres decides in
// the program (which details are older than allowed, which records changed) is a table of instants here.

import { expect, it } from 'vitest'
import { createRandom } from '../../sandbox/world/random.ts'
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
import { wantedIntervals } from '../../src/jobs/schedule.ts'
import { dailySample } from '../../src/sync/economy.ts'
import { stretchFactor } from '../../src/sync/plan.ts'
import { type Costs, detailRequests, listRequests, recordsWithDetails } from '../../src/sync/read-costs.ts'
import { changedADay, soonShare } from '../../src/sync/request-plan.ts'

const minuteMs = 60_000
const dayMs = 1_440 * minuteMs
const ratePerSecond = 10
const rows: Readonly<Record<string, number>> = { rentals: 20_000, resources: 1_000, users: 10_000, companies: 100 }

const config = readConfig({ API_RATE_LIMIT: String(ratePerSecond) }, '/nonexistent')
const costs: Costs = { settings: config, rowsOf: (name) => rows[name] ?? null, needed: new Set() }
const { next: random } = createRandom(1, 'day')

/** The details of one stream. */
class Details {
  readonly stream: StreamDef
  readonly requestsEach: number
  /** When each is due by its age, and until when it may be. */
  readonly #dueAt: Float64Array
  readonly #ages: Float64Array
  /** Records below which a change was seen. */
  readonly changed = new Set<number>()
  /** By how much details were read later than their age allows, at most. */
  latest = 0

  constructor(stream: StreamDef) {
    this.stream = stream
    const count = Math.round(recordsWithDetails(stream, costs) ?? 0)
    // Of the two elements of a collection, whose singles are skipped, a share is sampled.
    this.requestsEach = detailRequests(stream, costs) + repeatsOf(stream).length * 2 * 0.02
    const holder = stream.reads.kind === 'list' ? stream : parentOf(stream)
    const soon = holder?.eventful === undefined ? 0 : soonShare
    this.#ages = Float64Array.from({ length: count }, (_, index) => {
      return config.detailMaxAgeMs * (index < count * soon ? 0.25 : 1) * (0.75 + 0.25 * random())
    })
    this.#dueAt = this.#ages.map((age) => age * random())
  }

  /** Reads what is due, all of it or what changed. Returns the requests. */
  read(now: number, which: 'all' | 'due' | 'changed'): number {
    let count = this.changed.size
    if (which !== 'changed')
      for (let index = 0; index < this.#dueAt.length; index++) {
        const late = now - (this.#dueAt[index] ?? 0)
        if (which === 'due' && late < 0 && !this.changed.has(index)) continue
        if (!this.changed.has(index)) count += 1
        this.latest = Math.max(this.latest, late)
        this.#dueAt[index] = now + (this.#ages[index] ?? 0)
      }
    this.changed.clear()
    return count * this.requestsEach
  }
}

/** Everything that the worker would know of its mirror. */
class Day {
  readonly #details = new Map(
    streams
      .filter(({ reads }) => reads.kind !== 'inside' && reads.kind !== 'list')
      .map((stream) => [stream.name, new Details(stream)] as const),
  )
  readonly #nextAt = new Map<string, number>()
  /** Requests of the last ten runs, by turn. */
  readonly #lately = new Map<string, number[]>()
  readonly #sampled = new Set<string>()
  requests = 0
  stretch = 1

  get latest(): number {
    return Math.max(
      ...[...this.#details.values()].filter(({ stream }) => isDetailOnSchedule(stream)).map((each) => each.latest),
    )
  }

  /** A rental changes upstream, and its list shows it within the minute. */
  change(rental: number): void {
    for (const [name, details] of this.#details) {
      if (withAncestors(streamNamed(name)).some((each) => each.name === 'rentals')) details.changed.add(rental)
      if (details.stream.dueBy?.stream === 'rentals') details.changed.add(rental % (rows.resources ?? 1))
    }
  }

  /** The intervals as the worker fits them. */
  fit(): ReadonlyMap<string, number> {
    const pages = new Map([['rentals', listRequests(streamNamed('rentals'), rows.rentals ?? 0, config)]])
    const wanted = wantedIntervals(config, { ratePerSecond, pages, unexpected: new Set() })
    const costOf = (turn: string): number => {
      const lately = this.#lately.get(turn) ?? [1]
      return lately.reduce((sum, each) => sum + each, 0) / lately.length
    }
    const factor = stretchFactor(
      [...wanted].map(([turn, intervalMs]) => ({ intervalMs, cost: costOf(turn) })),
      ratePerSecond,
    )
    this.stretch = Math.max(this.stretch, factor)
    return new Map([...wanted].map(([turn, intervalMs]) => [turn, intervalMs * factor]))
  }

  /** The turns that are due. */
  minute(now: number, intervals: ReadonlyMap<string, number>): void {
    for (const [turn, intervalMs] of intervals) {
      const due = this.#nextAt.get(turn) ?? intervalMs * random()
      this.#nextAt.set(turn, due <= now ? due + intervalMs : due)
      if (due > now) continue
      const requests = this.#run(turn, now)
      this.requests += requests
      // A turn that finds nothing due is no run.
      if (requests > 0) this.#lately.set(turn, [requests, ...(this.#lately.get(turn) ?? [])].slice(0, 10))
    }
  }

  #run(turn: string, now: number): number {
    const { stream: name, hot } = findTurn(turn) ?? { stream: '', hot: false }
    const stream = streamNamed(name)
    const details = this.#details.get(name)
    if (details !== undefined) return details.read(now, hot ? 'changed' : isDetailOnSchedule(stream) ? 'due' : 'all')
    const records = rows[name] ?? 0
    if (hot) return 1 + listRequests(stream, records * soonShare, config)
    const isFirst = !this.#sampled.has(name)
    this.#sampled.add(name)
    const samples = isFirst ? repeatsOf(stream).length * dailySample(records) : 0
    return listRequests(stream, records, config) + samples
  }
}

it('stretches no interval at ten requests a second, and takes no more than 330,000, for 20,000 rentals, 1,000 boats and 10,000 users', () => {
  const day = new Day()
  const changes = Array.from({ length: (rows.rentals ?? 0) * changedADay }, () => random() * dayMs).sort(
    (a, b) => a - b,
  )
  let intervals = day.fit()
  for (let now = 0; now < dayMs; now += minuteMs) {
    while ((changes[0] ?? dayMs) <= now) {
      changes.shift()
      day.change(Math.floor(random() * (rows.rentals ?? 0)))
    }
    if (now % (5 * minuteMs) === 0) intervals = day.fit()
    day.minute(now, intervals)
  }
  expect(intervals.has(turnName({ stream: 'rentals', hot: true }))).toBe(true)
  expect(day.stretch).toBe(1)
  expect(day.requests).toBeGreaterThan(200_000)
  expect(day.requests).toBeLessThanOrEqual(330_000)
  // What has reached its age is read within the hour, which is the longest interval of what is read so.
  expect(day.latest).toBeLessThanOrEqual(60 * minuteMs)
})
