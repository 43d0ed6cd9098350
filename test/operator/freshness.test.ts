// One rule for freshness: its cases, and that the view report.freshness says the same.

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { streams } from '../../src/catalog/catalog.ts'
import { type Freshness, type FreshnessState, freshness, scheduledStream } from '../../src/inspect/freshness.ts'
import { lastEndedRuns } from '../../src/inspect/report-queries.ts'
import type { RunStatus } from '../../src/state/runs.ts'
import { openReports, type Reports } from './report-support.ts'

const now = new Date('2026-07-14T12:00:00Z')
const ago = (seconds: number): Date => new Date(now.getTime() - seconds * 1_000)
const done = { asOf: ago(100), targetS: null, intervalS: 60, lastRunStatus: 'done' } as const

describe('a stream is', () => {
  const cases: readonly { readonly name: string; readonly state: FreshnessState; readonly is: Freshness }[] = [
    { name: 'fresh within three effective intervals', state: { ...done, asOf: ago(180) }, is: 'fresh' },
    { name: 'late after that', state: { ...done, asOf: ago(181) }, is: 'late' },
    { name: 'fresh within its own target', state: { ...done, asOf: ago(600), targetS: 600 }, is: 'fresh' },
    { name: 'late after its own target, however long the interval', state: { ...done, targetS: 99 }, is: 'late' },
    { name: 'unknown before it was read', state: { ...done, asOf: null, lastRunStatus: null }, is: 'unknown' },
    { name: 'unknown without schedule and target', state: { ...done, intervalS: null }, is: 'unknown' },
    { name: 'failing after a failed run, however fresh', state: { ...done, lastRunStatus: 'failed' }, is: 'failing' },
    {
      name: 'failing after a run that left something out',
      state: { ...done, lastRunStatus: 'partial' },
      is: 'failing',
    },
    {
      name: 'failing when its first run failed',
      state: { ...done, asOf: null, lastRunStatus: 'failed' },
      is: 'failing',
    },
    { name: 'judged by its age while deletions are held', state: { ...done, lastRunStatus: 'held' }, is: 'fresh' },
    { name: 'fresh when the clocks differ a little', state: { ...done, asOf: ago(-1) }, is: 'fresh' },
  ]
  for (const { name, state, is } of cases) it(name, () => expect(freshness(state, now)).toBe(is))
})

describe('report.freshness', () => {
  let reports: Reports
  beforeAll(async () => {
    reports = await openReports()
  })
  afterAll(() => reports[Symbol.asyncDispose]())

  it('has a row for each stream', async () => {
    const rows = await reports.rows<{ stream: string }>('select stream from report.freshness order by stream')
    expect(rows.map(({ stream }) => stream)).toEqual(streams.map(({ name }) => name).sort())
  })

  it('says what the rule says, for any state of a stream and of the one it is read inside', async () => {
    const status = fc.constantFrom<RunStatus | null>('done', 'partial', 'held', 'failed', null)
    // Whole minutes, so that the moments between two clocks decide nothing; 30 s keep clear of the edge.
    const minutes = fc.option(fc.integer({ min: 1, max: 20 }))
    const state = fc.record({ ageMin: minutes, targetMin: minutes, intervalMin: minutes, status })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...streams), state, minutes, async ({ name }, own, parentMin) => {
        const parent = scheduledStream(name)
        if (own.status !== null)
          await reports.pool.query(
            `with r as (insert into sync.runs (stream, trigger, status, finished_at) values ($1, 'test', $2, now()) returning id)
             update sync.streams s set last_run_id = r.id from r where s.stream = $1`,
            [name, own.status],
          )
        else await reports.pool.query('update sync.streams set last_run_id = null where stream = $1', [name])
        await reports.pool.query(
          `update sync.streams set as_of = clock_timestamp() - $2 * interval '1 min' + interval '30 s', target_s = $3 * 60,
             interval_s = $4 * 60 where stream = $1`,
          [name, own.ageMin, own.targetMin, parent === name ? own.intervalMin : null],
        )
        if (parent !== name)
          await reports.pool.query('update sync.streams set interval_s = $2 * 60 where stream = $1', [
            parent,
            parentMin,
          ])
        const [row] = await reports.rows<{ state: Freshness; asOf: Date | null }>(
          `select state, as_of as "asOf" from report.freshness where stream = $1`,
          [name],
        )
        const seconds = (value: number | null): number | null => (value === null ? null : value * 60)
        const wanted = freshness(
          {
            asOf: row?.asOf ?? null,
            targetS: seconds(own.targetMin),
            intervalS: seconds(parent === name ? own.intervalMin : parentMin),
            lastRunStatus: (await lastEndedRuns(reports.pool)).get(name)?.status ?? null,
          },
          new Date(),
        )
        expect(row?.state).toBe(wanted)
      }),
      { numRuns: 60 },
    )
  })
})
