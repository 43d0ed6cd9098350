// Reads that repeat what lists show: skipped from the first sync on, and read when a sample returns more.

import { describe, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { sampledKeys } from '../../src/sync/due/due.ts'
import type { RepeatingRead } from '../../src/sync/due/reads.ts'
import { repeatingReads } from '../../src/sync/due/reads.ts'
import { firstOf, isQuick } from '../helpers/extent.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'

const rental = 'GET /v3/rentals/{rentalId}'
const payment = 'GET /v3/rentals/{rentalId}/payments/{paymentId}'

const stateOf = async (mirror: TestMirror, endpoint: string): Promise<RepeatingRead['state'] | undefined> =>
  (await repeatingReads(mirror.app.database.pool)).find((read) => read.endpoint === endpoint)?.state

/** Syncs these streams; how often each endpoint was called. */
async function calls(
  mirror: TestMirror,
  streams: readonly string[],
  full = false,
): Promise<(endpoint: string) => number> {
  mirror.sandbox.resetRequests()
  await mirror.sync({ streams, full })
  const templates = mirror.sandbox.requests().map(({ template }) => template)
  return (endpoint) => templates.filter((template) => template === endpoint).length
}

const differences = async (mirror: TestMirror, stream: string): Promise<readonly string[]> =>
  (await mirror.differences()).filter((line) => line.startsWith(`${stream} `) && !line.includes('resource_id'))

describe('singles that repeat their list', () => {
  it('are skipped except for samples, repaired from the list, and read again where they are needed', async () => {
    await using mirror = await openTestMirror({ size: 150 })
    const streams = ['rentals']
    expect(await stateOf(mirror, rental)).toBe('redundant')
    // A fifth, for which the rentals' users are compared as well, and three to see whether the list is a summary.
    expect((await calls(mirror, streams))(rental)).toBe(33)
    expect(await stateOf(mirror, rental)).toBe('redundant')
    expect(await differences(mirror, 'rentals')).toEqual([])
    // A sample of 2 % at the next run, then none for a day.
    expect((await calls(mirror, streams))(rental)).toBe(3)
    expect((await calls(mirror, streams))(rental)).toBe(0)

    // Rows that were spoilt by hand are compared with the list when their details would have been read again.
    await mirror.all(`update mirror.rentals set message = 'spoilt'`)
    await mirror.all(`update sync.records set listed_at = now() - interval '2 days', detail_read_at = null`)
    expect((await calls(mirror, streams))(rental)).toBe(0)
    expect(await differences(mirror, 'rentals')).toEqual([])

    // A rental whose list shows a change is not read, either.
    const [{ id }] = (await mirror.all<{ id: string }>('select id from mirror.rentals limit 1')) as [{ id: string }]
    mirror.sandbox.mutate([{ record: 'rentals', op: 'update', id, set: { message: 'changed' } }])
    expect((await calls(mirror, streams))(rental)).toBe(0)
    expect(await differences(mirror, 'rentals')).toEqual([])

    // If one differs, what was skipped is due at once.
    mirror.sandbox.richSingles('rentals', 5)
    expect(await stateOf(mirror, rental)).toBe('redundant')
    expect((await calls(mirror, streams, true))(rental)).toBeGreaterThanOrEqual(150)
    expect(await stateOf(mirror, rental)).toBe('needed')
    expect(await differences(mirror, 'rentals')).toEqual([])
    await mirror.all(`update sync.records set detail_read_at = null`)
    expect((await calls(mirror, streams))(rental)).toBe(150)
  })

  it('are sampled as often as wanted from a small table, every time', async () => {
    await using mirror = await openTestMirror({ size: 150 })
    await mirror.sync({ streams: ['rentals'] })
    const { pool } = mirror.app.database
    const settings = {
      scope: 'sync',
      maxAgeMs: 86_400_000,
      before: new Date(Date.now() - 86_400_000),
      from: '2026-01-01',
      to: '2026-01-01',
      leavesOut: false,
      since: null,
    } as const
    const drawn = new Set<number>()
    for (let draw = 0; draw < 100; draw++)
      drawn.add((await sampledKeys(pool, streamNamed('rentals'), settings, 3)).length)
    expect([...drawn]).toEqual([3])
  })

  it.each(firstOf([5, 1]))('are all read by the first sync where one in %i returns more', async (oneIn) => {
    await using mirror = await openTestMirror({ size: 150 })
    mirror.sandbox.richSingles('rentals', oneIn)
    const called = (await calls(mirror, ['rentals']))(rental)
    expect(called).toBeGreaterThanOrEqual(150)
    // None is read twice, except the three that show whether the list is a summary, and of the sample, a fifth, what was not
    // committed yet when one of it differed: how much that is depends on the machine.
    expect(called).toBeLessThanOrEqual(150 + 3 + 30)
    expect(await stateOf(mirror, rental)).toBe('needed')
    expect(await differences(mirror, 'rentals')).toEqual([])
  })

  // With `npm test`, `shared-work.test.ts` and `late-commits.test.ts` read with it off.
  it.skipIf(isQuick)('are all read with READ_ECONOMY=off, and nothing is left out that was', async () => {
    await using mirror = await openTestMirror({ size: 70 }, { READ_ECONOMY: 'off' })
    const streams = ['rentals', 'rental_payments']
    const payments = mirror.sandbox.truth().rental_payments?.length
    const called = await calls(mirror, streams)
    expect([called(rental), called(payment)]).toEqual([73, payments])
    await mirror.all(`update sync.reads set state = 'redundant'`)
    await mirror.all(`update sync.records set partly = true where stream = 'rental_payments'`)
    expect((await calls(mirror, streams))(payment)).toBe(payments)
  })
})

describe('singles that repeat their collection', () => {
  it('are skipped except for samples, and all read in the run in which one differs', async () => {
    await using mirror = await openTestMirror({ size: 150 })
    const streams = ['rentals', 'rental_payments']
    const payments = mirror.sandbox.truth().rental_payments?.length ?? 0
    expect((await calls(mirror, streams))(payment)).toBeLessThan(payments / 2)
    expect(await stateOf(mirror, payment)).toBe('redundant')
    expect(await differences(mirror, 'rental_payments')).toEqual([])
    const rows = await mirror.all(`select _source, count(*)::int from mirror.rental_payments group by 1 order by 1`)
    expect(rows).toHaveLength(2)

    // The payments of one rental are read again, and one of them as the sample of the day.
    await mirror.all(`update sync.records set partly = true where stream = 'rental_payments'`)
    mirror.sandbox.richSingles('rental_payments', 1)
    await mirror.all(`update sync.reads set sampled_at = now() - interval '2 days' where endpoint = $1`, [payment])
    const some = await mirror.all<{ id: string }>('select rental_id::text as id from mirror.rental_payments limit 1')
    mirror.sandbox.mutate([{ record: 'rentals', op: 'update', id: some[0]?.id ?? '', set: { message: 'changed' } }])
    expect((await calls(mirror, streams))(payment)).toBeGreaterThanOrEqual(payments)
    expect(await stateOf(mirror, payment)).toBe('needed')
    expect(await differences(mirror, 'rental_payments')).toEqual([])
    expect((await calls(mirror, streams))(payment)).toBe(0)
    await mirror.all(`update sync.reads set since = now() - interval '8 days' where endpoint = $1`, [payment])
    await calls(mirror, streams)
    expect(await stateOf(mirror, payment)).toBe('redundant')
  })
})
