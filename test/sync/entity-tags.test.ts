// Pages of lists and details with entity tags: what is the same is not received again, and nothing is missed or lost for it.

import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Run } from '../../src/sync/runs/runs.ts'
import { firstOf } from '../helpers/extent.ts'
import { openTestMirror, type TestMirror, usualRanges } from '../helpers/mirror.ts'

let mirror: TestMirror
beforeAll(async () => {
  // 48 users are three pages; no user is deactivated, so that the second pass is an empty page.
  const env = { API_PAGE_SIZE: '20', API_PAGE_BASE: '1', SLOT_DURATIONS: '0', PRICE_DAYS: '0' }
  mirror = await openTestMirror({ size: 80, entityTags: true }, { ...usualRanges, ...env })
})
afterAll(() => mirror[Symbol.asyncDispose]())

/** Syncs the users; what the API answered for the pages of the list of active ones, and the run. */
async function sync(full = false): Promise<{ readonly statuses: readonly (number | null)[]; readonly run: Run }> {
  const before = mirror.sandbox.requests().length
  const [run] = await mirror.sync({ streams: ['users'], full })
  const asked = mirror.sandbox.requests().slice(before)
  const pages = asked
    .filter(({ template, query }) => template === 'GET /v3/users' && query.deactivated === undefined)
    // Several are under way at once, and arrive in any order.
    .sort((a, b) => Number(a.query.page) - Number(b.query.page))
  return { statuses: pages.map(({ status }) => status), run: run as Run }
}

const rows = async (): Promise<number> =>
  (await mirror.all('select id from mirror.users where _deleted_at is null')).length

describe('a list of three pages with entity tags', () => {
  beforeEach(async () => {
    await sync()
  })

  it('is received once; then its pages are told to be the same, and count as read', async () => {
    await mirror.all('delete from sync.list_pages')
    const first = await sync()
    expect(first.statuses).toEqual([200, 200, 200, 200])
    const second = await sync()
    expect(second.statuses).toEqual([304, 304, 304, 200])
    expect(second.run).toMatchObject({
      status: 'done',
      read: first.run.total,
      unchanged: first.run.total,
      total: first.run.total,
    })
    expect([second.run.inserted, second.run.updated, second.run.deleted]).toEqual(['0', '0', '0'])
    expect(Number(second.run.bytes)).toBeLessThan(Number(first.run.bytes) / 20)
  })

  it('brings a page on which something changed, and a record that is gone is found missing', async () => {
    const [user = { id: '' }] = await mirror.all<{ id: string }>(
      'select id::text from mirror.users where _deleted_at is null order by id offset 25 limit 1',
    )
    mirror.sandbox.mutate([{ record: 'users', op: 'update', id: user.id, set: { firstName: 'Changed' } }])
    expect((await sync()).statuses).toEqual([304, 200, 304, 200])
    expect(await mirror.all(`select id::text from mirror.users where first_name = 'Changed'`)).toEqual([user])
    const before = await rows()
    mirror.sandbox.mutate([{ record: 'users', op: 'delete', id: user.id }])
    const { statuses, run } = await sync()
    expect(statuses.slice(0, 2)).toEqual([304, 200])
    expect(run).toMatchObject({ status: 'done', deleted: '1' })
    expect(await rows()).toBe(before - 1)
  })

  const doubts: readonly (readonly [string, string])[] = [
    ['was made by an earlier version', 'update sync.records set projection = projection - 1'],
    ['is not known as the list told it', `update sync.records set list_hash = ''`],
    ['is gone', 'update mirror.users set _deleted_at = now()'],
    ['is known from inside another record', `update mirror.users set _source = 'GET /v3/rentals#user'`],
  ]
  for (const [what, sql] of firstOf(doubts))
    it(`brings a page whole of which one row ${what}`, async () => {
      const [first] = await mirror.all<{ id: string }>(
        'select min(id)::text as id from mirror.users where _deleted_at is null',
      )
      await mirror.all(
        `${sql} where ${sql.includes('mirror.users') ? `id = ${first?.id}` : `stream = 'users' and key = '${first?.id}'`}`,
      )
      expect((await sync()).statuses).toEqual([200, 304, 304, 200])
      expect((await sync()).statuses).toEqual([304, 304, 304, 200])
    })

  it('is received whole in a full sync, and where it was not for a DETAIL_MAX_AGE, whatever the API says', async () => {
    expect((await sync(true)).statuses).toEqual([200, 200, 200, 200])
    await mirror.all(`update sync.list_pages set read_at = now() - interval '25 h'`)
    expect((await sync()).statuses).toEqual([200, 200, 200, 200])
    expect((await sync()).statuses).toEqual([304, 304, 304, 200])
  })
})

describe('details with entity tags', () => {
  const calendars = 'resource_availability_years'
  const unavailabilities = 'resource_unavailabilities'
  const boat = async (): Promise<string> =>
    (await mirror.all<{ id: string }>('select min(id) as id from mirror.resources'))[0]?.id ?? ''

  /** Syncs a stream below records; how many requests below them ended how, and the run. */
  async function details(stream: string, path: RegExp): Promise<{ readonly told: string; readonly run: Run }> {
    const before = mirror.sandbox.requests().length
    const runs = await mirror.sync({ streams: [stream] })
    const statuses = mirror.sandbox
      .requests()
      .slice(before)
      .flatMap((each) => (path.test(each.path) ? each.status : []))
    const of = (status: number): number => statuses.filter((each) => each === status).length
    return { told: `${of(200)} whole, ${of(304)} same`, run: runs.find((run) => run.stream === stream) as Run }
  }
  const ofUnavailabilities = () => details(unavailabilities, /unavailabilities$/)
  const ofCalendars = () => details(calendars, /\/availabilities$/)

  let boats: number
  beforeAll(async () => {
    await mirror.sync({ streams: [unavailabilities, calendars, 'rental_options'] })
    boats = (await mirror.all('select id from mirror.resources')).length
  })
  // The tests of calendars make boats unavailable.
  beforeEach(async () => {
    await ofUnavailabilities()
  })

  it('are received once; then nothing is parsed or written, and they count as read', async () => {
    const { told, run } = await ofUnavailabilities()
    expect(told).toBe(`0 whole, ${boats} same`)
    expect(run).toMatchObject({ status: 'done', unchanged: run.read, inserted: '0', updated: '0', deleted: '0' })
    expect(Number(run.read)).toBeGreaterThan(0)
    expect(Number(run.bytes)).toBe(0)
    mirror.sandbox.mutate([{ record: unavailabilities, op: 'insert', parent: await boat() }])
    const changed = await ofUnavailabilities()
    expect([changed.told, changed.run.inserted]).toEqual([`1 whole, ${boats - 1} same`, '1'])
    expect((await ofUnavailabilities()).told).toBe(`0 whole, ${boats} same`)
  })

  const below = `stream = '${unavailabilities}' and key = (select min(id) from mirror.resources)`
  const doubts: readonly (readonly [string, string])[] = [
    [
      'were made by an earlier version',
      `update sync.records set projection = projection - 1, detail_hash = 'earlier' where ${below};
       update sync.detail_tags set detail_hash = 'earlier' where ${below}`,
    ],
    ['are no longer known', `update sync.records set detail_hash = null where ${below}`],
    ['are others by now', `update sync.records set detail_hash = 'other' where ${below}`],
    ['were not received for long', `update sync.detail_tags set read_at = now() - interval '25 h' where ${below}`],
    [
      'are compared with their rows, for their age',
      `update sync.records set detail_read_at = now() - interval '20 h' where ${below};
       update mirror.${unavailabilities} set _payload = '{}' where resource_id = (select min(id) from mirror.resources)`,
    ],
  ]
  for (const [what, sql] of firstOf(doubts, 2))
    it(`are received whole where they ${what}`, async () => {
      await mirror.all(sql)
      expect((await ofUnavailabilities()).told).toBe(`1 whole, ${boats - 1} same`)
      expect(await mirror.all(`select from mirror.${unavailabilities} where _payload = '{}'`)).toEqual([])
      expect((await ofUnavailabilities()).told).toBe(`0 whole, ${boats} same`)
    })

  it('are known again when all of them were received, where some of several answers were the same', async () => {
    await ofCalendars() // a boat has become unavailable above
    await ofCalendars()
    expect((await ofCalendars()).told).toBe(`0 whole, ${2 * boats} same`)
    const nextYear = new Date().getFullYear() + 1
    const set = { startDatetime: `${nextYear}-12-20T09:00:00Z`, endDatetime: `${nextYear}-12-22T17:00:00Z` }
    mirror.sandbox.mutate([{ record: unavailabilities, op: 'insert', parent: await boat(), set }])
    const { told } = await ofCalendars()
    expect(told).toBe(`1 whole, ${2 * boats - 1} same`)
    expect((await ofCalendars()).told).toBe(`2 whole, ${2 * boats - 2} same`)
    expect((await ofCalendars()).told).toBe(`0 whole, ${2 * boats} same`)
    expect((await mirror.differences()).filter((each) => each.startsWith('resource_availability_years'))).toEqual([])
  })

  it('leave the singles of their elements out where those tell nothing more, but for samples', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5)
    const endpoint = 'GET /v3/rentals/{rentalId}/options/{optionId}'
    const [rental] = await mirror.all<{ id: string }>(
      'select rental_id::text as id from mirror.rental_options where _deleted_at is null group by 1 having count(*) = 2 limit 1',
    )
    const id = rental?.id ?? ''
    const again = async (sampledAt: string): Promise<string> => {
      await mirror.all(
        `update sync.reads set state = 'redundant', sampled_at = ${sampledAt}, skipped = 0 where endpoint = '${endpoint}'`,
      )
      mirror.sandbox.mutate([{ record: 'rentals', op: 'update', id, set: { message: sampledAt } }])
      const { told } = await details('rental_options', new RegExp(`/${id}/options`))
      const [read] = await mirror.all<{ skipped: string }>(
        `select skipped from sync.reads where endpoint = '${endpoint}'`,
      )
      return `${told}, ${read?.skipped} left out`
    }
    expect(await again('now()')).toBe('0 whole, 1 same, 2 left out')
    expect(await again(`now() - interval '2 days'`)).toBe('2 whole, 0 same, 1 left out')
    vi.restoreAllMocks()
  })

  it('are received whole in a full sync', async () => {
    const before = mirror.sandbox.requests().length
    await mirror.sync({ streams: [unavailabilities], full: true })
    expect(
      new Set(
        mirror.sandbox
          .requests()
          .slice(before)
          .map(({ status }) => status),
      ),
    ).toEqual(new Set([200]))
  })
})
