// Rows below records that their answers do not bring any more: few are deleted at once, many need a decision.

import { afterEach, describe, expect, it, vi } from 'vitest'
import { listRuns, type Run } from '../../src/sync/runs/runs.ts'
import { type HeldRun, heldRuns } from '../../src/sync/runs/sweeps.ts'
import { isQuick } from '../helpers/extent.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'
import { startRelease } from '../helpers/release.ts'

const parts = ['rental_options', 'rental_payments', 'rental_crew_members'] as const
const lists = ['options', 'payments', 'crewMembers'].map((list) => `GET /v3/rentals/{rentalId}/${list}`)
const empty = { status: 200, body: '[]' }

let mirror: TestMirror
afterEach(() => mirror?.[Symbol.asyncDispose]())

const open = async (streams: readonly string[], size = 40): Promise<void> => {
  mirror = await openTestMirror({ size }, { MIRROR_DOCUMENTS: 'on' })
  await mirror.sync({ streams })
}

async function living(stream: string): Promise<number> {
  const rows = await mirror.all<{ count: number }>(
    `select count(*)::int as count from mirror.${stream} where _deleted_at is null`,
  )
  return rows[0]?.count ?? 0
}

const statuses = (runs: readonly Run[]): Record<string, string> =>
  Object.fromEntries(runs.map(({ stream, status }) => [stream, status]))

const held = (stream: string): Promise<HeldRun | undefined> =>
  heldRuns(mirror.app.database.pool).then((runs) => runs.find((run) => run.stream === stream))

async function release({ id, stream }: HeldRun): Promise<Run | undefined> {
  const releasing = await startRelease(mirror, id)
  let run: Run | undefined
  await vi.waitUntil(
    async () => {
      const runs = await listRuns(mirror.app.database.pool, { stream, limit: 1 })
      run = runs[0]
      return run?.id === releasing && run.status !== 'running'
    },
    { timeout: 30_000, interval: 50 },
  )
  return run
}

/** So many rows may go in 24 hours, whatever their share. */
const always = 20

describe('all lists below rentals that are suddenly empty', () => {
  it('delete a few rows, then none until a person releases them, run after run', async () => {
    await open(parts)
    const before = await Promise.all(parts.map(living))
    for (const op of lists) mirror.sandbox.fault({ op, respond: empty })
    expect(statuses(await mirror.sync({ streams: parts, full: true }))).toMatchObject(
      Object.fromEntries(parts.map((stream) => [stream, 'held'])),
    )
    const left = await Promise.all(parts.map(living))
    for (const [index, count] of left.entries()) expect(count).toBeGreaterThanOrEqual((before[index] ?? 0) - always)
    // The next run asks for what is due, and does not take it for read.
    expect(statuses(await mirror.sync({ streams: parts }))).toMatchObject({ rental_payments: 'held' })
    expect(await Promise.all(parts.map(living))).toEqual(left)

    const run = await held('rental_payments')
    expect(run).toMatchObject({ held: left[1], plan: { rows: left[1], reason: expect.stringContaining('24 hours') } })
    if (run === undefined) throw new Error('Nothing is held.')
    expect(await release(run)).toMatchObject({ status: 'done', deleted: String(left[1]) })
    expect(await Promise.all(parts.map(living))).toEqual([left[0], 0, left[2]])
    expect(await held('rental_payments')).toBeUndefined()
    expect(await held('rental_options')).toMatchObject({ held: left[0] })
  })

  // With `npm test`, `losses-property.test.ts` shows what may go, and what a release does.
  it.skipIf(isQuick)(
    'are asked for again by a release, which deletes nothing when they are back; the next run brings back what went',
    async () => {
      await open(['rental_payments'])
      const before = await living('rental_payments')
      mirror.sandbox.fault({ op: lists[1] ?? '', respond: empty })
      await mirror.sync({ streams: ['rental_payments'], full: true })
      const run = await held('rental_payments')
      mirror.sandbox.clearFaults()
      if (run === undefined) throw new Error('Nothing is held.')
      expect(await release(run)).toMatchObject({ status: 'done', deleted: '0' })
      expect(statuses(await mirror.sync({ streams: ['rental_payments'] }))).toMatchObject({ rental_payments: 'done' })
      expect(await living('rental_payments')).toBe(before)
      expect(
        await mirror.differences().then((all) => all.filter((each) => each.startsWith('rental_payments '))),
      ).toEqual([])
    },
  )
})

describe('what may go', () => {
  it('goes at once: few rows, those of rentals that are gone, and slots that are sold out', async () => {
    await open(['rental_payments', 'resource_slots'], 60)
    const rows = await mirror.all<{ id: string }>(
      `select rental_id as id from mirror.rental_payments where _deleted_at is null group by 1 order by count(*), 1 limit 3`,
    )
    for (const { id } of rows)
      mirror.sandbox.fault({ op: lists[1] ?? '', match: { rentalId: String(id) }, respond: empty })
    mirror.sandbox.fault({ op: 'GET /v3/resources/{resourceId}/slots', respond: empty })
    const runs = await mirror.sync({ streams: ['rental_payments', 'resource_slots'], full: true })
    expect(statuses(runs)).toMatchObject({ rental_payments: 'done', resource_slots: 'done' })
    expect(await living('resource_slots')).toBe(0)
    const left = await mirror.all(
      'select 1 from mirror.rental_payments where rental_id = any($1) and _deleted_at is null',
      [rows.map(({ id }) => id)],
    )
    expect(left).toEqual([])
  })
})

describe('documents of users and what stands inside boats', () => {
  // A world of its own; what is held is decided as for the lists above.
  it.skipIf(isQuick)('wait for a person, too, when all of them are gone at once', async () => {
    await open(['user_identities', 'resources'], 60)
    const [identities, equipments] = [await living('user_identities'), await living('resource_equipments')]
    expect(Math.min(identities, equipments)).toBeGreaterThan(20)
    mirror.sandbox.fault({ op: 'GET /v3/users/{userId}/identity', respond: { status: 204, body: '' } })
    const boats = (mirror.sandbox.truth({ only: ['resources'] }).resources ?? []).map(({ record }) => record)
    const bare = boats.map((boat) => ({ ...boat, equipments: [] }))
    mirror.sandbox.fault({ op: 'GET /v3/resources', respond: { status: 200, body: JSON.stringify(bare) } })
    const runs = await mirror.sync({ streams: ['user_identities', 'resources'], full: true })
    expect(statuses(runs)).toMatchObject({ user_identities: 'held', resources: 'held' })
    expect(await living('user_identities')).toBeGreaterThanOrEqual(identities - always)
    expect(await living('resource_equipments')).toBe(equipments)
    // What is held is checked again, even if its list has not changed since.
    expect(statuses(await mirror.sync({ streams: ['resources'] }))).toMatchObject({ resources: 'held' })
    const run = await held('resources')
    if (run === undefined) throw new Error('Nothing is held.')
    for (const boat of bare)
      mirror.sandbox.fault({
        ...{ op: 'GET /v3/resources/{resourceId}', match: { resourceId: String((boat as { id?: unknown }).id) } },
        respond: { status: 200, body: JSON.stringify(boat) },
      })
    expect(await release(run)).toMatchObject({ status: 'done' })
    expect(await living('resource_equipments')).toBe(0)
  })
})
