// Deletes are confirmed, and the next sync marks what is gone.

import { describe, expect, it, vi } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { applyWrites } from '../../src/mirror/writer.ts'
import { listRuns, type Run } from '../../src/sync/runs/runs.ts'
import { heldRuns } from '../../src/sync/runs/sweeps.ts'
import { isQuick } from '../helpers/extent.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'
import { startRelease } from '../helpers/release.ts'

const statusOf = (runs: readonly Run[], stream: string): string | undefined =>
  runs.find((run) => run.stream === stream)?.status

const liveRentals = async (mirror: TestMirror): Promise<readonly string[]> =>
  (await mirror.all('select id from mirror.rentals where _deleted_at is null order by id')).map(({ id }) => id)

const lists = { streams: ['rentals'] } as const

/** With `npm test`, the answer that looks most like a true one. */
const lies = isQuick ? (['half'] as const) : (['empty', 'half', 'forbidden'] as const)

describe('a list that lies', () => {
  for (const respond of lies)
    it(`that suddenly answers ${respond} deletes nothing and is reported`, async () => {
      await using mirror = await openTestMirror({ size: 46 }) // half of them is more than may always go
      await mirror.sync(lists)
      const before = await liveRentals(mirror)
      mirror.sandbox.fault({ op: 'GET /v3/rentals', respond })
      const runs = await mirror.sync(lists)
      expect(statusOf(runs, 'rentals')).toBe(respond === 'forbidden' ? 'failed' : 'held')
      expect(await liveRentals(mirror)).toEqual(before)
      mirror.sandbox.clearFaults()
      expect(statusOf(await mirror.sync(lists), 'rentals')).toBe('done')
      expect(await mirror.differences().then((all) => all.filter((each) => each.startsWith('rentals ')))).toEqual([])
    })

  it('that skips records because its pages shift loses none of them', async () => {
    await using mirror = await openTestMirror({ size: 40 }, { API_PAGE_SIZE: '10' })
    await mirror.sync(lists)
    const before = await liveRentals(mirror)
    mirror.sandbox.fault({ op: 'GET /v3/rentals', after: 2, times: 20, respond: 'shift' })
    await mirror.sync(lists)
    expect(await liveRentals(mirror)).toEqual(before)
  })
})

describe('records that are gone', () => {
  it('get a tombstone at the next sync, with all that hangs below them', async () => {
    await using mirror = await openTestMirror({ size: 20 })
    await mirror.sync({
      streams: ['rentals', 'rental_options', 'rental_payments', 'rental_crew_members', 'rental_resources'],
    })
    const gone = (await liveRentals(mirror)).slice(0, 3)
    mirror.sandbox.mutate(gone.map((id) => ({ record: 'rentals', op: 'delete' as const, id })))
    const runs = await mirror.sync(lists)
    expect(statusOf(runs, 'rentals')).toBe('done')
    const rows = await mirror.all<{ live: number }>(
      `select ((select count(*) from mirror.rentals where id = any($1) and _deleted_at is null)
        + (select count(*) from mirror.rental_payments where rental_id = any($1) and _deleted_at is null)
        + (select count(*) from mirror.rental_resources where rental_id = any($1) and _deleted_at is null))::int as live`,
      [gone],
    )
    expect(rows[0]?.live).toBe(0)
  })

  it('come back with what hangs below them, even when that was read in the moment in which they were gone', async () => {
    await using mirror = await openTestMirror({ size: 20 })
    const streams = ['rentals', 'rental_payments']
    await mirror.sync({ streams })
    const { database, clock } = mirror.app.syncContext
    const living = async (): Promise<unknown[]> => {
      const rows = await mirror.all(
        'select rental_id, id from mirror.rental_payments where _deleted_at is null order by 1, 2',
      )
      return rows
    }
    const before = await living()
    const rental = (await liveRentals(mirror))[0] ?? ''

    mirror.sandbox.fault({ op: 'GET /v3/rentals/{rentalId}/payments', respond: { delayMs: 2_000 } })
    mirror.sandbox.resetRequests()
    // The schedule reads payments alone: a read of the rental itself would rightly bring it back.
    const reading = mirror.sync({ streams: ['rental_payments'], full: true, trigger: 'schedule' })
    const isAsked = ({ path }: { readonly path: string }): boolean => path === `/v3/rentals/${rental}/payments`
    await vi.waitUntil(() => mirror.sandbox.requests().some(isAsked), { timeout: 20_000, interval: 20 })
    const gone = { stream: streamNamed('rentals'), keys: [[rental]], source: 'a mistake', readAt: clock.now() }
    await database.transaction((client) => applyWrites(client, { tombstones: [gone] }))
    expect(await living()).not.toEqual(before)
    await reading
    expect(await living(), 'nothing is alive below a record that is gone').not.toEqual(before)

    mirror.sandbox.clearFaults()
    const runs = await mirror.sync({ streams })
    expect(runs.map(({ stream, status }) => `${stream} ${status}`).sort()).toEqual([
      'rental_payments done',
      'rentals done',
    ])
    expect(await living()).toEqual(before)
  })

  it('wait for a person when they are too many, and go when the person releases them', async () => {
    await using mirror = await openTestMirror({ size: 50 })
    await mirror.sync(lists)
    const before = await liveRentals(mirror)
    mirror.sandbox.mutate(before.slice(0, 25).map((id) => ({ record: 'rentals', op: 'delete' as const, id })))
    expect(statusOf(await mirror.sync(lists), 'rentals')).toBe('held')
    expect((await liveRentals(mirror)).length).toBe(before.length)
    const [held] = await heldRuns(mirror.app.database.pool)
    expect(held).toMatchObject({ stream: 'rentals', held: 25 })
    expect(held?.plan).toMatchObject({ missing: 25, asked: 25, gone: 25, stillThere: 0 })

    if (held === undefined) throw new Error('Nothing is held.')
    const releasing = await startRelease(mirror, held.id)
    await vi.waitUntil(
      async () => {
        const runs = await listRuns(mirror.app.database.pool, { stream: 'rentals', limit: 1 })
        return runs[0]?.id === releasing && runs[0].status === 'done'
      },
      { timeout: 30_000, interval: 100 },
    )
    expect(await liveRentals(mirror)).toEqual(before.slice(25))
  })

  it('are erased when they are persons, and stay erased while a rental still names them', async () => {
    await using mirror = await openTestMirror({ size: 20 })
    // All that is read of persons and names them.
    const streams = ['users', 'user_identities', 'user_licenses', 'rentals', 'rental_crew_members']
    await mirror.sync({ streams })
    const rows = await mirror.all<{ id: string; last_name: string; email: string }>(
      `select u.id, u.last_name, u.email from mirror.users u join mirror.rentals r on r.user_id = u.id
       where u._deleted_at is null and r._deleted_at is null limit 1`,
    )
    const person = rows[0]
    if (person === undefined) throw new Error('No rental has a user.')
    mirror.sandbox.mutate([{ record: 'users', op: 'delete', id: person.id }])
    await mirror.sync({ streams })
    await mirror.sync({ streams, full: true })
    const traces = await mirror.app.database.pool.query<{ place: string }>(
      `select 'user' as place from mirror.users where id = $1 and (_deleted_at is null or email is not null or _payload::text like '%' || $2 || '%')
       union all select 'rental' from mirror.rentals where _payload::text like '%' || $2 || '%'
       union all select 'log' from mirror.change_log where diff::text like '%' || $2 || '%'
       union all select 'quarantine' from sync.quarantine where payload::text like '%' || $2 || '%'`,
      [person.id, person.email],
    )
    expect(traces.rows).toEqual([])
  })
})
