// Fields that the API shows and the catalog does not know.

import { expect, it } from 'vitest'
import { readDrift } from '../../src/sync/unknown-fields.ts'
import { openTestMirror } from '../helpers/mirror.ts'

it('lists unknown fields in catalog order, how often they were seen, with a sample that names no person', async () => {
  await using mirror = await openTestMirror({ size: 10 })
  const { pool } = mirror.app.database
  await mirror.sync({ streams: ['harbours', 'users'] })
  expect(await readDrift(pool)).toEqual([])

  const one = async (table: string): Promise<string> => {
    const { rows } = await pool.query<{ id: string }>(
      `select id from mirror.${table} where _source not like '%#%' limit 1`,
    )
    return rows[0]?.id ?? ''
  }
  mirror.sandbox.mutate([
    { record: 'users', op: 'update', id: await one('users'), set: { nickname: 'Ada' } },
    { record: 'harbours', op: 'update', id: await one('harbours'), set: { berths: 120 } },
  ])
  await mirror.sync({ streams: ['harbours', 'users'], full: true })
  const fields = await readDrift(pool)
  expect(fields.map(({ stream, path, sample }) => ({ stream, path, sample }))).toEqual([
    { stream: 'harbours', path: 'berths', sample: '120' },
    { stream: 'users', path: 'nickname', sample: 'text' },
  ])
  for (const { times, firstSeenAt, lastSeenAt } of fields) {
    expect(times).toBeGreaterThan(0)
    expect(lastSeenAt.getTime()).toBeGreaterThanOrEqual(firstSeenAt.getTime())
  }
})
