// Pages of lists with entity tags: what is the same is not received again, and nothing is missed or lost for it.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Run } from '../../src/state/runs.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'

let mirror: TestMirror
beforeAll(async () => {
  // 48 users are three pages; no user is deactivated, so that the second pass is an empty page.
  mirror = await openTestMirror({ size: 80, entityTags: true }, { API_PAGE_SIZE: '20', API_PAGE_BASE: '1' })
})
afterAll(() => mirror[Symbol.asyncDispose]())

const query = async <R extends object>(sql: string): Promise<R[]> => (await mirror.app.database.pool.query<R>(sql)).rows

/** Syncs the users; what the API answered for the pages of the list of active ones, and the run. */
async function sync(full = false): Promise<{ readonly statuses: readonly (number | null)[]; readonly run: Run }> {
  const before = mirror.sandbox.requests().length
  const [run] = await mirror.sync({ streams: ['users'], full })
  const asked = mirror.sandbox.requests().slice(before)
  const pages = asked.filter(({ template, query }) => template === 'GET /v3/users' && query.deactivated === undefined)
  return { statuses: pages.map(({ status }) => status), run: run as Run }
}

const rows = async (): Promise<number> => (await query('select id from mirror.users where _deleted_at is null')).length

describe('a list of three pages with entity tags', () => {
  beforeEach(async () => {
    await sync()
  })

  it('is received once; then its pages are told to be the same, and count as read', async () => {
    await query('delete from sync.list_pages')
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
    const [user = { id: '' }] = await query<{ id: string }>(
      'select id::text from mirror.users where _deleted_at is null order by id offset 25 limit 1',
    )
    mirror.sandbox.mutate([{ record: 'users', op: 'update', id: user.id, set: { firstName: 'Changed' } }])
    expect((await sync()).statuses).toEqual([304, 200, 304, 200])
    expect(await query(`select id::text from mirror.users where first_name = 'Changed'`)).toEqual([user])
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
  for (const [what, sql] of doubts)
    it(`brings a page whole of which one row ${what}`, async () => {
      const [first] = await query<{ id: string }>(
        'select min(id)::text as id from mirror.users where _deleted_at is null',
      )
      await query(
        `${sql} where ${sql.includes('mirror.users') ? `id = ${first?.id}` : `stream = 'users' and key = '${first?.id}'`}`,
      )
      expect((await sync()).statuses).toEqual([200, 304, 304, 200])
      expect((await sync()).statuses).toEqual([304, 304, 304, 200])
    })

  it('is received whole in a full sync, and where it was not for a DETAIL_MAX_AGE, whatever the API says', async () => {
    expect((await sync(true)).statuses).toEqual([200, 200, 200, 200])
    await query(`update sync.list_pages set read_at = now() - interval '25 h'`)
    expect((await sync()).statuses).toEqual([200, 200, 200, 200])
    expect((await sync()).statuses).toEqual([304, 304, 304, 200])
  })
})
