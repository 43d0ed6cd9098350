// The one rule for freshness, which report.freshness decides by.

import { beforeEach, describe, expect, it } from 'vitest'
import { streams } from '../../src/catalog/catalog.ts'
import { noteWorker } from '../../src/database/presence.ts'
import { type Freshness, freshnessFacts, streamStatus } from '../../src/inspect/streams.ts'
import { finishRun, type RunStatus } from '../../src/sync/runs/runs.ts'
import { opened } from '../helpers/opened.ts'
import { openReports } from '../reports/support.ts'

const reports = opened(() => openReports())
beforeEach(async () => {
  await reports.pool.query('delete from sync.workers')
  await reports.pool.query(`update sync.runs set status = 'done' where status = 'running'`)
  await reports.pool.query(
    'update sync.streams set as_of = null, target_s = null, interval_s = null, last_run_id = null',
  )
})

/** Ages, targets and intervals in seconds; a stream is older than its age by what a test takes: far less than 30 s. */
type State = {
  readonly ageS: number | null
  readonly targetS?: number
  readonly intervalS?: number
  readonly ended?: RunStatus
}

async function addRun(stream: string, status: RunStatus): Promise<string> {
  const [run] = await reports.rows<{ id: string }>(
    `insert into sync.runs (stream, trigger, status) values ($1, 'test', $2) returning id`,
    [stream, status],
  )
  return run?.id ?? ''
}

async function put(stream: string, { ageS, targetS, intervalS, ended }: State): Promise<void> {
  await reports.pool.query(
    `update sync.streams set as_of = clock_timestamp() - $2 * interval '1 s', target_s = $3, interval_s = $4, last_run_id = $5
     where stream = $1`,
    [stream, ageS, targetS ?? null, intervalS ?? null, ended === undefined ? null : await addRun(stream, ended)],
  )
}

const stateOf = async (stream: string): Promise<{ state: Freshness; targetS: number | null } | undefined> =>
  (await freshnessFacts(reports.pool)).find((each) => each.stream === stream)

it('is being read, in the view as in status, while a stream is read for the first time', async () => {
  await put('cities', { ageS: null, intervalS: 60 })
  const run = await addRun('cities', 'running')
  expect(await stateOf('cities')).toMatchObject({ state: 'reading' })
  expect(await reports.rows(`select state from report.freshness where stream = 'cities'`)).toEqual([
    { state: 'reading' },
  ])
  expect((await streamStatus(reports.pool)).find(({ stream }) => stream === 'cities')).toMatchObject({
    state: 'reading',
  })
  await reports.pool.query(`update sync.runs set status = 'failed' where id = $1`, [run])
})

describe('a stream is', () => {
  const done = { ageS: 100, intervalS: 60, ended: 'done' } as const
  const cases: readonly { readonly name: string; readonly state: State; readonly is: Freshness }[] = [
    { name: 'fresh within three effective intervals', state: { ...done, ageS: 150 }, is: 'fresh' },
    { name: 'late after that', state: { ...done, ageS: 181 }, is: 'late' },
    { name: 'fresh within its own target', state: { ...done, ageS: 570, targetS: 600 }, is: 'fresh' },
    { name: 'late after its own target, however long the interval', state: { ...done, targetS: 99 }, is: 'late' },
    { name: 'fresh within its target without a schedule', state: { ageS: 100, targetS: 130 }, is: 'fresh' },
    { name: 'unknown before it was read', state: { ageS: null, intervalS: 60 }, is: 'unknown' },
    { name: 'unknown without schedule and target', state: { ageS: 100, ended: 'done' }, is: 'unknown' },
    { name: 'failing after a failed run, however fresh', state: { ...done, ended: 'failed' }, is: 'failing' },
    { name: 'failing after a run that left something out', state: { ...done, ended: 'partial' }, is: 'failing' },
    { name: 'failing when its first run failed', state: { ageS: null, ended: 'failed' }, is: 'failing' },
    { name: 'judged by its age while deletions are held', state: { ...done, ended: 'held' }, is: 'fresh' },
    { name: 'fresh when the clocks differ a little', state: { ...done, ageS: -30 }, is: 'fresh' },
  ]
  for (const { name, state, is } of cases)
    it(name, async () => {
      await put('rentals', state)
      expect(await stateOf('rentals')).toMatchObject({ state: is })
    })
})

it('is failing after a failed run, also when held deletions are released after it', async () => {
  await put('rentals', { ageS: 100, intervalS: 60, ended: 'failed' })
  const [release] = await reports.rows<{ id: string }>(
    `insert into sync.runs (stream, trigger, status) values ('rentals', 'release', 'running') returning id`,
  )
  await finishRun(reports.pool, { id: release?.id ?? '', stream: 'rentals', status: 'done', error: null })
  expect(await stateOf('rentals')).toMatchObject({ state: 'failing' })
})

describe('a late stream', () => {
  const worker = { id: 'h:1:x', host: 'h', pid: 1, version: '1' }
  const late = { ageS: 300, intervalS: 60, ended: 'done' } as const
  /** A worker that has been there for so long, and was heard of so long ago. */
  const work = async (sinceS: number, seenS = 0): Promise<void> => {
    await noteWorker(reports.pool, worker)
    const times = `started_at = clock_timestamp() - $1 * interval '1 s', seen_at = clock_timestamp() - $2 * interval '1 s'`
    await reports.pool.query(`update sync.workers set ${times}`, [sinceS, seenS])
  }
  const stateInStatus = async (): Promise<string | undefined> =>
    (await streamStatus(reports.pool)).find(({ stream }) => stream === 'rentals')?.state
  beforeEach(() => put('rentals', late))
  it('is late without a worker, and with one that is not heard of', async () => {
    expect(await stateOf('rentals')).toMatchObject({ state: 'late' })
    await work(60, 31)
    expect(await stateOf('rentals')).toMatchObject({ state: 'late' })
  })
  it('is being read while a worker that began catches up, until its target has passed once more', async () => {
    await work(60)
    expect([await stateOf('rentals'), await stateInStatus()]).toMatchObject([{ state: 'reading' }, 'reading'])
    await work(181)
    expect([await stateOf('rentals'), await stateInStatus()]).toMatchObject([{ state: 'late' }, 'late'])
  })
  it('is late again once it had its turn', async () => {
    await work(60)
    await reports.pool.query(
      `update sync.runs set finished_at = clock_timestamp() - interval '50 s'
       where id = (select last_run_id from sync.streams where stream = 'rentals')`,
    )
    expect(await stateOf('rentals')).toMatchObject({ state: 'late' })
  })
  it('gets the same time from a worker that came back', async () => {
    await work(600, 40)
    await noteWorker(reports.pool, worker)
    expect(await stateOf('rentals')).toMatchObject({ state: 'reading' })
    await work(600, 20)
    await noteWorker(reports.pool, worker)
    expect(await stateOf('rentals')).toMatchObject({ state: 'late' })
  })
})

describe('report.freshness', () => {
  it('has a row for each stream', async () => {
    const names = (await freshnessFacts(reports.pool)).map(({ stream }) => stream)
    expect(names).toEqual(streams.map(({ name }) => name).sort())
  })

  it('measures what is read inside another stream by the schedule of that one', async () => {
    const inside = streams.filter(({ reads, parent }) => reads.kind === 'inside' && parent !== undefined)
    expect(inside.length).toBeGreaterThan(0)
    for (const { name, parent = '' } of inside) {
      await put(name, { ageS: 100 })
      await put(parent, { ageS: null, intervalS: 60 })
      expect(await stateOf(name), name).toMatchObject({ state: 'fresh', targetS: 180 })
      await put(parent, { ageS: null, intervalS: 20 })
      expect(await stateOf(name), name).toMatchObject({ state: 'late', targetS: 60 })
      await put(parent, { ageS: null })
      expect(await stateOf(name), name).toMatchObject({ state: 'unknown', targetS: null })
    }
  })

  it('is what `status` shows, beside the last run, which may be running', async () => {
    await put('rentals', { ageS: 400, intervalS: 60, ended: 'done' })
    await addRun('rentals', 'running')
    await put('users', { ageS: 10, targetS: 600, ended: 'failed' })
    const status = await streamStatus(reports.pool)
    expect(status.map(({ stream }) => stream)).toEqual(streams.map(({ name }) => name).sort())
    const of = (name: string) => status.find(({ stream }) => stream === name)
    expect(of('rentals')).toMatchObject({ state: 'late', intervalS: 60, targetS: 180, lastRunStatus: 'running' })
    expect(of('users')).toMatchObject({ state: 'failing', intervalS: null, targetS: 600, lastRunStatus: 'failed' })
    expect(of('harbours')).toMatchObject({ state: 'unknown', asOf: null, targetS: null, lastRunStatus: null })
  })
})
