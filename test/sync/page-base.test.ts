// Whether lists are numbered from 0 or from 1 is found out once and remembered. What is remembered may be wrong.

import { expect, it } from 'vitest'
import { entries, readEntry, readProfile } from '../../src/profile/profile.ts'
import { openTestMirror } from '../helpers/mirror.ts'

it('a numbering that was found out while the API lied is found out again when its first page is refused', async () => {
  await using mirror = await openTestMirror({ size: 12, beforeFirst: 'refuse' }, { API_PAGE_SIZE: '5' })
  const { pool } = mirror.app.database
  await (await readProfile(pool)).found(entries.pageBase, '', 0)
  const streams = ['countries', 'harbours', 'rentals']
  const runs = await mirror.sync({ streams })
  expect(runs.map(({ stream, status }) => `${stream} ${status}`).sort()).toEqual(streams.map((name) => `${name} done`))
  expect(await readEntry(pool, entries.pageBase)).toBe(1)
  const rows = await mirror.all('select count(*)::int as rentals from mirror.rentals where _deleted_at is null')
  expect(rows).toEqual([{ rentals: 12 }])
})

it('a numbering from 0 is found out again where page 0 repeats page 1: a record was added while it was probed', async () => {
  await using mirror = await openTestMirror({ size: 12, beforeFirst: 'first' }, { API_PAGE_SIZE: '5' })
  const { pool } = mirror.app.database
  await (await readProfile(pool)).found(entries.pageBase, '', 0)
  expect(await mirror.sync({ streams: ['rentals'] })).toMatchObject([{ status: 'done', inserted: '12' }])
  expect(await readEntry(pool, entries.pageBase)).toBe(1)
})

it('a list that is refused for another reason is asked for once more, and fails with what the API said', async () => {
  await using mirror = await openTestMirror({ size: 12 }, { API_PAGE_SIZE: '5' })
  mirror.sandbox.fault({ op: 'GET /v3/rentals', respond: { status: 400, body: { message: 'not today' } } })
  const [run] = await mirror.sync({ streams: ['rentals'] })
  expect(run).toMatchObject({ status: 'failed', error: expect.stringContaining('GET /v3/rentals answered 400') })
  mirror.sandbox.clearFaults()
  const [next] = await mirror.sync({ streams: ['rentals'] })
  expect(next).toMatchObject({ status: 'done', inserted: expect.anything() })
})
