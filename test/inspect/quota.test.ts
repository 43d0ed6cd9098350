// What status, pages and alerts say of API_QUOTA, and that details follow the ages that it asks for.

import { describe, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { readConfig } from '../../src/config.ts'
import { whatNeedsPeople } from '../../src/inspect/attention.ts'
import { type QuotaStatus, quotaStatus } from '../../src/inspect/quota.ts'
import { waitsForQuota } from '../../src/outbox/quota-room.ts'
import { type DueSettings, dueKeys } from '../../src/sync/due/due.ts'
import { saveIntervals } from '../../src/sync/due/stream-state.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'
import { statusFacts } from './status-facts.ts'

const nothing: QuotaStatus = {
  windows: [
    { window: 'day', allowed: 1_000, used: 100, elapsed: 0 },
    { window: 'month', allowed: 10_000, used: 8_100, elapsed: 0.82 },
  ],
  readsStopped: false,
  waitingChanges: 0,
  waitingSince: null,
  notKept: [],
}
const told = (wishes: Partial<QuotaStatus>) =>
  whatNeedsPeople(statusFacts({ quota: { ...nothing, ...wishes } }), []).map(({ kind, about }) => [kind, ...about])

describe('a quota', () => {
  it('is no matter while all of it goes as it should', () => {
    expect(told({})).toEqual([])
    expect(whatNeedsPeople(statusFacts(), [])).toEqual([])
  })

  it('is one when reads or changes wait, and when streams cannot be kept fresh', () => {
    expect(told({ readsStopped: true })).toEqual([['quota', 'reads']])
    expect(told({ waitingChanges: 2 })).toEqual([['quota', 'changes']])
    expect(told({ notKept: ['rentals', 'users'] })).toEqual([['quota', 'rentals', 'users']])
  })

  it('is one when 80 % and 95 % of a window are used before its time', () => {
    const month = (used: number, elapsed: number) =>
      told({ windows: [{ window: 'month', allowed: 100, used, elapsed }] })
    expect(month(79, 0)).toEqual([])
    expect(month(80, 0.5)).toEqual([['quota', 'month at 80 %']])
    expect(month(96, 0.5)).toEqual([
      ['quota', 'month at 80 %'],
      ['quota', 'month at 95 %'],
    ])
    expect(month(96, 0.9)).toEqual([['quota', 'month at 95 %']])
    expect(month(96, 0.96)).toEqual([])
  })
})

const database = opened(() => createTestDatabase())

it('what is used of it and waits for it is read from the database', async () => {
  const { pool } = database
  expect(await quotaStatus(pool, readConfig({}, '/nonexistent'))).toBe(null)
  const config = readConfig({ API_QUOTA: '100/hour,1000/day' }, '/nonexistent')
  expect(await quotaStatus(pool, config)).toMatchObject({
    windows: [
      { window: 'hour', allowed: 100, used: 0, elapsed: 0 },
      { window: 'day', allowed: 1_000, used: 0, elapsed: 0 },
    ],
    ...{ readsStopped: false, waitingChanges: 0, waitingSince: null, notKept: [] },
  })
  await pool.query(
    `insert into sync.request_counts values (date_trunc('minute', now()) - interval '3 hours', 500), (date_trunc('minute', now()), 590)`,
  )
  await pool.query(`select outbox.enqueue('rental.delete', '{"rentalId": 7}')`)
  await pool.query('update outbox.queue set error = $1', [waitsForQuota])
  await saveIntervals(pool, [
    { stream: 'users', intervalS: 86_400, targetS: null, maxAgeS: 30 * 86_400, soonMaxAgeS: 86_400 },
  ])
  expect(await quotaStatus(pool, config)).toMatchObject({
    windows: [{ used: 90 }, { used: 590 }],
    ...{ readsStopped: true, waitingChanges: 1, waitingSince: expect.any(Date), notKept: ['users'] },
  })
})

it('details are due by the age that it asks for', async () => {
  const { pool } = database
  await pool.query(`insert into mirror.users (id, _payload, _source, _read_at, _changed_at) select id, '{}', 'GET /v3/users', now(), now() - interval '2 days' from generate_series(1, 2) id;
    insert into sync.records (stream, key, detail_read_at, changed_at) select s, id::text, now() - id * interval '30 hours', now() - interval '9 days'
      from generate_series(1, 2) id, unnest(array['users', 'user_identities']) s`)
  const settings: DueSettings = {
    ...{
      scope: 'schedule',
      maxAgeMs: 86_400_000,
      before: null,
      from: '2026-01-01',
      to: '2026-01-02',
      leavesOut: true,
      since: null,
    },
  }
  const due = async (): Promise<readonly string[]> =>
    (await dueKeys(pool, streamNamed('user_identities'), settings)).map(({ key }) => key)
  expect(await due()).toEqual(['1', '2'])
  const stream = 'user_identities'
  await saveIntervals(pool, [{ stream, intervalS: 300, targetS: null, maxAgeS: 45 * 3_600, soonMaxAgeS: 3_600 }])
  expect(await due()).toEqual(['2'])
  await saveIntervals(pool, [{ stream, intervalS: 300, targetS: null }])
  expect(await due()).toEqual(['1', '2'])
})
