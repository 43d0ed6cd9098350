// Fields that the API shows and the catalog does not know.

import { expect, it } from 'vitest'
import { listUnknownFields, readDrift } from '../../src/sync/unknown-fields.ts'
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

  // Acknowledged once: it needs no attention any more, until the stream shows another new field.
  const news = async () => (await listUnknownFields(pool)).filter(({ isNew }) => isNew).map(({ stream }) => stream)
  expect(await news()).toEqual(['harbours', 'users'])
  const plan = async () =>
    (await pool.query(`select plan from sync.stream_plans where stream = 'harbours'`)).rows[0].plan
  const seen = await plan()
  await pool.query(`insert into sync.unknown_fields (stream, path, times) values ('harbours', 'depth', 1)`)
  await expect(pool.query(`select sync.acknowledge('harbours', $1)`, [seen])).rejects.toMatchObject({ code: 'PT412' })
  await pool.query(`select sync.acknowledge('harbours', $1)`, [await plan()])
  expect(await news()).toEqual(['users'])
  await expect(pool.query(`select sync.acknowledge('harbours')`)).rejects.toMatchObject({ code: '55000' })
  await pool.query(`insert into sync.unknown_fields (stream, path, times) values ('harbours', 'tide', 1)`)
  expect(await news()).toEqual(['harbours', 'users'])
  const { rows } = await pool.query(`select what, target, via from sync.decisions`)
  expect(rows).toEqual([{ what: 'acknowledge', target: 'stream:harbours', via: 'sql' }])
})
