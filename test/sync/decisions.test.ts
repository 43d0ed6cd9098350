import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readEndpoints, streamNamed, streams } from '../../src/catalog/catalog.ts'
import { readyRuns, statusOf } from '../../src/sync/advance.ts'
import { batches, mapConcurrently } from '../../src/sync/batches.ts'
import { judgeDeletions } from '../../src/sync/deletions/threshold.ts'
import { calendarDays, daysOf } from '../../src/sync/details/readers/calendar.ts'
import { priceEntries, priceRanges } from '../../src/sync/details/readers/prices.ts'
import { judgePass } from '../../src/sync/lists/progress.ts'
import {
  dependenciesOf,
  isInTheWay,
  type StreamProgress,
  startableStreams,
  streamsToRead,
  stretchFactor,
} from '../../src/sync/plan.ts'

const everything = { mirrorDocuments: true, slotDays: 3, slotDurations: 1, calendarYears: 2, priceDays: 90 }

describe('the fuse', () => {
  type Facts = Parameters<typeof judgeDeletions>[0]
  const judge = (facts: Pick<Facts, 'live' | 'seen' | 'missing'> & Partial<Facts>) =>
    judgeDeletions({ deletedLately: 0, limit: 0.1, ...facts })
  const cases: readonly [string, Parameters<typeof judge>[0], string][] = [
    ['one of a hundred missing is confirmed', { live: 100, seen: 99, missing: 1 }, 'confirm'],
    ['twenty may always go', { live: 100, seen: 80, missing: 20 }, 'confirm'],
    ['more than a tenth is held', { live: 100, seen: 79, missing: 21 }, 'hold'],
    ['what went within 24 hours counts', { live: 190, seen: 180, missing: 10, deletedLately: 15 }, 'hold'],
    ['an empty list of many is held', { live: 1000, seen: 0, missing: 1000 }, 'hold'],
    ['an empty list of few is asked for whole before anything goes', { live: 5, seen: 0, missing: 5 }, 'confirm-all'],
    ['a halved list of few likewise', { live: 10, seen: 5, missing: 5 }, 'confirm-all'],
    ['an empty list is held even when the limit allows all', { live: 1000, seen: 0, missing: 1000, limit: 1 }, 'hold'],
    ['a tenth exactly is confirmed', { live: 300, seen: 270, missing: 30 }, 'confirm'],
    ['more than twenty of many go', { live: 1000, seen: 979, missing: 21 }, 'confirm'],
    ['what went already is part of the base', { live: 200, seen: 198, missing: 2, deletedLately: 20 }, 'confirm'],
    ['a list of twenty that is empty is asked for whole', { live: 20, seen: 0, missing: 20 }, 'confirm-all'],
    [
      'a halved list of many is held even when the limit allows all',
      { live: 42, seen: 21, missing: 21, limit: 1 },
      'hold',
    ],
    [
      'a halved window of many is asked for whole',
      { live: 1000, seen: 500, missing: 20, limit: 1, inWindow: 40 },
      'confirm-all',
    ],
    ['a window of many that is empty is held', { live: 1000, seen: 5, missing: 30, limit: 1, inWindow: 30 }, 'hold'],
    [
      'of a window of few that is empty each record is asked for',
      { live: 1000, seen: 0, missing: 20, inWindow: 20 },
      'confirm',
    ],
    [
      'the limit counts against the list, not the window',
      { live: 1000, seen: 40, missing: 40, inWindow: 90 },
      'confirm',
    ],
    ['nothing missing is nothing to hold', { live: 0, seen: 0, missing: 0 }, 'confirm'],
  ]
  for (const [name, facts, expected] of cases) it(name, () => expect(judge(facts).kind).toBe(expected))

  it('says in numbers why it holds', () => {
    const reasons = [
      judge({ live: 190, seen: 180, missing: 10, deletedLately: 15 }),
      judge({ live: 5, seen: 0, missing: 5 }),
      judge({ live: 10, seen: 5, missing: 5 }),
    ]
    expect(reasons).toEqual([
      { kind: 'hold', reason: '25 of 205 records (12 %) would be deleted within 24 hours.' },
      { kind: 'confirm-all', reason: 'The list is suddenly empty.' },
      { kind: 'confirm-all', reason: 'The list suddenly shrank from 10 to 5 records.' },
    ])
  })

  it('never confirms more than the limit and more than twenty', () => {
    fc.assert(
      fc.property(
        fc.nat(10_000),
        fc.nat(10_000),
        fc.nat(1_000),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (live, seenRaw, deletedLately, limit) => {
          const seen = Math.min(seenRaw, live)
          const missing = live - seen
          if (judgeDeletions({ live, seen, missing, deletedLately, limit }).kind === 'confirm')
            expect(missing + deletedLately <= Math.max(20, limit * (live + deletedLately)) || missing === 0).toBe(true)
        },
      ),
    )
  })
})

describe('a pass', () => {
  type Facts = Parameters<typeof judgePass>[0]
  const judge = (answered: number, distinct: number, totals: readonly number[], more: Partial<Facts> = {}) =>
    judgePass({ pass: 1, answered, distinct, totals, keyless: 0, keylessDistinct: 0, ...more })
  const cases: readonly [string, ReturnType<typeof judge>, string][] = [
    ['without a total and without repeats is complete', judge(3, 3, []), 'complete'],
    ['with an agreeing total is complete', judge(3, 3, [3]), 'complete'],
    ['with a record that came twice is read again', judge(4, 3, []), 'again'],
    [
      'whose end nothing proves is partial at once: another would end so, too',
      judge(3, 3, [], { unproven: 'so' }),
      'partial',
    ],
    ['whose end nothing proves is read again where records came twice', judge(4, 3, [], { unproven: 'so' }), 'again'],
    ['whose total moved is read again', judge(4, 4, [3, 4], { pass: 2 }), 'again'],
    ['that lacks records is partial after three tries', judge(2, 2, [3], { pass: 3 }), 'partial'],
    [
      'is complete when records without a key fill the total',
      judge(3, 3, [5], { keyless: 2, keylessDistinct: 2 }),
      'complete',
    ],
    [
      'is complete when the total counts equal ones of them once',
      judge(3, 3, [4], { keyless: 3, keylessDistinct: 1 }),
      'complete',
    ],
    ['or each', judge(3, 3, [6], { keyless: 3, keylessDistinct: 1 }), 'complete'],
    [
      'with those, and too few all the same, is read again',
      judge(3, 3, [5], { keyless: 1, keylessDistinct: 1 }),
      'again',
    ],
    [
      'is read again: they do not make up for those that came twice',
      judge(4, 3, [5], { keyless: 1, keylessDistinct: 1 }),
      'again',
    ],
  ]
  for (const [name, { kind }, expected] of cases) it(name, () => expect(kind).toBe(expected))

  it('says in numbers why it is read again', () => {
    expect([judge(4, 4, [3, 4]), judge(5, 3, []), judge(2, 2, [3, 3])]).toEqual([
      { kind: 'again', reason: expect.stringMatching(/^The total changed from 3 to 4 .*API_TOTAL_PATH=none/) },
      { kind: 'again', reason: 'The API returned 2 records twice: the list changed while it was read.' },
      {
        kind: 'again',
        reason: expect.stringMatching(/^The API reported a total of 3, but returned 2 records\. .*API_TOTAL_PATH=none/),
      },
    ])
  })
})

describe('the plan', () => {
  it('calls each of the reads in a complete sync', () => {
    const names = streamsToRead([], everything)
    const called = names.flatMap((name) =>
      readEndpoints.filter((endpoint) => JSON.stringify(streamNamed(name).reads).includes(`"${endpoint}"`)),
    )
    expect([...new Set(called)].sort()).toEqual([...readEndpoints].sort())
  })

  it('reads parents and what a stream needs with it', () => {
    expect(streamsToRead(['rental_options'], everything)).toEqual(['rentals', 'rental_options'])
    expect(streamsToRead(['resource_slot_tides'], everything)).toEqual([
      'resources',
      'resource_durations',
      'resource_slots',
      'resource_slot_tides',
    ])
    expect(streamsToRead(['resource_equipments'], everything)).toEqual(['resources'])
  })

  it('has no circle: every stream of a complete sync gets its turn', () => {
    const progress = new Map<string, StreamProgress>(streamsToRead([], everything).map((name) => [name, 'waiting']))
    for (let round = 0; round < streams.length; round++)
      for (const name of startableStreams(progress)) progress.set(name, 'finished')
    expect([...progress.values()].every((state) => state === 'finished')).toBe(true)
  })

  it('lets details start when the list above them is read, and documents when the user is', () => {
    const startable = (request: Readonly<Record<string, StreamProgress>>) =>
      startableStreams(new Map(Object.entries(request)))
    expect(startable({ rentals: 'swept', rental_options: 'waiting' })).toEqual(['rental_options'])
    expect(startable({ rentals: 'running', rental_options: 'waiting' })).toEqual([])
    expect(startable({ users: 'swept', user_identities: 'waiting' })).toEqual([])
    expect(dependenciesOf(streamNamed('rentals')).map((each) => each.stream)).toEqual(['harbours', 'harbours', 'users'])
  })

  it('starts one run for all requests that wait for the same stream', () => {
    const open = { run_id: null, run_status: null, swept: false }
    const row = { trigger: 'manual', full_read: false, hot: false, stream: 'countries', ...open }
    const ready = readyRuns([
      { ...row, request_id: '1' },
      { ...row, request_id: '2' },
      { ...row, request_id: '3', hot: true },
    ])
    expect(ready.map(({ hot, requests }) => [hot, requests.map((each) => each.request_id)])).toEqual([
      [false, ['1', '2']],
      [true, ['3']],
    ])
  })

  it('lets a hot run and a complete one overlap as soon as the sweep of the first is over, and no others', () => {
    const run = { stream: 'rentals', hot: false, swept: false }
    const hot = { stream: 'rentals', hot: true }
    expect(isInTheWay(run, hot)).toBe(true)
    expect(isInTheWay({ ...run, swept: true }, hot)).toBe(false)
    expect(isInTheWay({ ...run, swept: true }, { ...hot, hot: false })).toBe(true)
    expect(isInTheWay({ ...run, stream: 'users' }, hot)).toBe(false)
  })

  const statuses: readonly [string, Parameters<typeof statusOf>[0], string][] = [
    ['a failed list is a failed run', { held: 0, error: 'x', read: 10, failedKinds: ['sweep'] }, 'failed'],
    ['held deletions make it held', { held: 3, error: null, read: 10, failedKinds: [] }, 'held'],
    ['a few unread details make it partial', { held: 0, error: 'x', read: 10, failedKinds: [] }, 'partial'],
    ['nothing read at all is a failure, never a success', { held: 0, error: 'x', read: 0, failedKinds: [] }, 'failed'],
    ['everything read is done', { held: 0, error: null, read: 0, failedKinds: [] }, 'done'],
  ]
  for (const [name, run, expected] of statuses) it(name, () => expect(statusOf(run)).toBe(expected))
})

describe('the budget', () => {
  it('stretches intervals so that scheduled reads take at most 60 % of the rate', () => {
    const turns = [{ stream: 'rentals', intervalMs: 60_000, cost: 600 }]
    expect(stretchFactor(turns, 10)).toBeCloseTo(10 / 6)
    expect(stretchFactor(turns, 100)).toBe(1)
    expect(stretchFactor(turns, 0)).toBe(1)
  })
})

describe('overlap', () => {
  const counting = async function* (to: number): AsyncGenerator<number> {
    for (let i = 0; i < to; i++) yield i
  }

  it('yields everything in order, never more than the limit at once', async () => {
    const seen: number[] = []
    for await (const batch of batches(counting(1_000), { limit: 7, lingerMs: 0 })) {
      expect(batch.length).toBeLessThanOrEqual(7)
      seen.push(...batch)
    }
    expect(seen).toEqual(Array.from({ length: 1_000 }, (_, i) => i))
  })

  it('waits for company no longer than until the batch is full or the source has ended', async () => {
    const sizes: number[] = []
    for await (const batch of batches(counting(25), { limit: 10, lingerMs: 3_600_000 })) sizes.push(batch.length)
    expect(sizes).toEqual([10, 10, 5])
  })

  it('waits for no company with the first batch, where it starts at once', async () => {
    const sizes: number[] = []
    const source = async function* (): AsyncGenerator<number> {
      yield 0
      await new Promise((resolve) => setImmediate(resolve))
      yield* counting(19)
    }
    for await (const batch of batches(source(), { limit: 10, lingerMs: 3_600_000, startsAtOnce: true }))
      sizes.push(batch.length)
    expect(sizes).toEqual([1, 10, 9])
  })

  it('passes on an error after what arrived before it', async () => {
    const failing = async function* (): AsyncGenerator<number> {
      yield 1
      throw new Error('cut')
    }
    const seen: number[] = []
    await expect(
      (async () => {
        for await (const batch of batches(failing(), { limit: 5, lingerMs: 0 })) seen.push(...batch)
      })(),
    ).rejects.toThrow('cut')
    expect(seen).toEqual([1])
  })

  it('ends its source when the consumer leaves early', async () => {
    let ended = false
    const source = async function* (): AsyncGenerator<number> {
      try {
        for (let i = 0; ; i++) yield i
      } finally {
        ended = true
      }
    }
    for await (const batch of batches(source(), { limit: 3, lingerMs: 0 })) if (batch.length > 0) break
    expect(ended).toBe(true)
  })

  it('keeps at most so many under way', async () => {
    let running = 0
    let most = 0
    const work = async (n: number): Promise<number> => {
      most = Math.max(most, ++running)
      await new Promise((resolve) => setImmediate(resolve))
      running--
      return n
    }
    const results: number[] = []
    for await (const result of mapConcurrently([...Array(50).keys()], 4, work)) results.push(result)
    expect(results.sort((a, b) => a - b)).toEqual([...Array(50).keys()])
    expect(most).toBe(4)
  })
})

describe('answers of published shapes', () => {
  it('finds the calendar as text, in an object, and in a list of one', () => {
    const days = `${'01'.repeat(182)}0`
    for (const body of [days, { availability: days, year: '2026' }, [days], [{ bits: days }]])
      expect(calendarDays(body)).toBe(days)
    expect(calendarDays({ a: days, b: days })).toBeNull()
    expect(calendarDays('0101')).toBeNull()
    expect([daysOf(2026), daysOf(2028), daysOf(2100), daysOf(2000)]).toEqual([365, 366, 365, 366])
  })

  it('covers the price horizon once, in keyBatches of a month', () => {
    const ranges = priceRanges('2026-02-27', 90)
    expect(ranges).toEqual([
      { from: '2026-02-27', to: '2026-03-29' },
      { from: '2026-03-30', to: '2026-04-29' },
      { from: '2026-04-30', to: '2026-05-27' },
    ])
  })

  it('keeps what stands beside the prices with each price', () => {
    const body = {
      resourceId: 'r',
      currency: 'EUR',
      results: [{ date: '2026-07-01', season: 'high', pricetable: [{ duration: 'DAYS,1', base_price: 90 }] }],
    }
    expect(priceEntries(body)).toEqual([
      { resourceId: 'r', currency: 'EUR', date: '2026-07-01', season: 'high', duration: 'DAYS,1', base_price: 90 },
    ])
    expect(priceEntries({ other: 1 })).toBeNull()
  })
})
