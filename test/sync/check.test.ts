// A check carries out the tasks of a sync and compares: it finds what differs, and writes nothing.

import { describe, expect, it } from 'vitest'
import type { Comparison } from '../../src/mirror/comparison.ts'
import { CheckTally, checkStreams, isDifferent } from '../../src/sync/check.ts'
import { streamsToRead } from '../../src/sync/plan.ts'
import { openTestMirror } from '../helpers/mirror.ts'

it('finds nothing after a sync, then what is missing, different and only here, and leaves everything as it is', async () => {
  await using mirror = await openTestMirror({ size: 6 })
  const { app } = mirror
  const context = { ...app.syncContext, onTasks: () => {} }
  const { pool } = app.database
  const names = streamsToRead([], context.settings)
  const check = () => checkStreams(context, names, { signal: AbortSignal.timeout(100_000) })
  const runs = await mirror.sync()
  expect(runs.filter(({ status }) => status !== 'done')).toEqual([])
  expect(await mirror.differences()).toEqual([])
  const equal = await check()
  expect(equal.map(({ stream }) => stream)).toEqual(expect.arrayContaining([...names]))
  expect(equal.find(({ stream }) => stream === 'rentals')?.compared).toBeGreaterThan(0)
  expect(equal.filter(isDifferent)).toEqual([])

  const { rows: rentals } = await pool.query<{ id: string }>(
    'select id from mirror.rentals where _deleted_at is null order by id limit 2',
  )
  const [changed, lost] = rentals.map(({ id }) => id)
  await pool.query(`update mirror.rentals set status = 'CHANGED' where id = $1`, [changed])
  await pool.query('delete from mirror.rentals where id = $1', [lost])
  await pool.query(`insert into mirror.harbours (id, name, _payload, _source, _read_at)
    values (987654, 'Nowhere', '{}', 'GET /v3/harbours', now())`)
  const logged = 'select count(*)::int as changes from mirror.change_log'
  const { rows: before } = await pool.query(logged)
  const found = (await check()).filter(isDifferent)
  expect(found.map(({ stream, missing, different, deleted }) => [stream, missing, different, deleted])).toEqual([
    ['harbours', 0, 0, 1],
    ['rentals', 1, 1, 0],
  ])
  expect(found.flatMap(({ samples }) => samples.map(({ kind, key }) => [kind, ...key])).sort()).toEqual(
    [
      ['deleted', '987654'],
      ['different', changed],
      ['missing', lost],
    ].sort(),
  )
  expect((await pool.query(logged)).rows).toEqual(before)
  expect((await pool.query('select name from mirror.harbours where id = 987654')).rows).toEqual([{ name: 'Nowhere' }])
})

const found = (stream: string, from: number, count: number): Comparison => ({
  stream,
  missing: 1,
  different: count,
  deleted: 2,
  samples: Array.from({ length: count }, (_, n) => ({ stream, key: [`${from + n}`], kind: 'different', columns: {} })),
})

describe('a tally', () => {
  it('adds up by stream, in the order in which streams were named', () => {
    const tally = new CheckTally()
    tally.of('users').compared += 3
    tally.add([found('rentals', 0, 2), found('users', 0, 1), found('rentals', 2, 1)])
    expect(tally.all()).toMatchObject([
      { stream: 'users', compared: 3, missing: 1, different: 1, deleted: 2 },
      { stream: 'rentals', compared: 0, missing: 2, different: 3, deleted: 4 },
    ])
    expect(tally.all()[1]?.samples.map(({ key }) => key)).toEqual([['0'], ['1'], ['2']])
  })

  it('keeps the first twenty differences and problems of a stream, and counts all', () => {
    const tally = new CheckTally()
    for (let from = 0; from < 45; from += 15) tally.add([found('users', from, 15)])
    for (let n = 0; n < 30; n++) tally.problem('users', `problem ${n}`)
    const [users] = tally.all()
    expect(users?.different).toBe(45)
    const firstTwenty = Array.from({ length: 20 }, (_, n) => n)
    expect(users?.samples.map(({ key }) => Number(key[0]))).toEqual(firstTwenty)
    expect(users?.problems).toEqual(firstTwenty.map((n) => `problem ${n}`))
  })

  it('differs for each kind of finding, but not for records that cannot be mirrored', () => {
    const none = new CheckTally().of('users')
    expect(isDifferent({ ...none, compared: 9, bad: 1 })).toBe(false)
    for (const facts of [{ missing: 1 }, { different: 1 }, { deleted: 1 }, { problems: ['no answer'] }])
      expect(isDifferent({ ...none, ...facts }), JSON.stringify(facts)).toBe(true)
  })
})
