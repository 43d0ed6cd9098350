// Syncs killed with SIGKILL: a slice in CI, the full number with `npm run chaos -- --only syncs`.

import { afterAll, describe, expect, inject, it } from 'vitest'
import { createTestDatabase } from '../helpers/database.ts'
import { isFull } from '../helpers/extent.ts'
import { type KillResult, runKillCampaign } from './kill-campaign.ts'
import { report } from './report.ts'

const backends = [
  { name: 'Postgres', redisUrl: null },
  { name: 'Redis', redisUrl: inject('redisUrl') },
] as const

const plans = isFull
  ? [
      { workers: 1, kills: 10, seed: 11, size: 60 },
      { workers: 2, kills: 12, seed: 12, size: 60 },
      { workers: 4, kills: 12, seed: 13, size: 60 },
    ]
  : [{ workers: 2, kills: 4, seed: 7, size: 40 }]

const results: {
  readonly backend: string
  readonly workers: number
  readonly seed: number
  readonly result: KillResult
}[] = []

describe('syncs killed with SIGKILL at random moments', () => {
  // The queue wakes workers; the tables say what to do.
  for (const { name, redisUrl } of backends)
    for (const plan of plans)
      it.skipIf(name === 'Redis' && redisUrl === null)(
        `leave nothing lost and nothing counted twice (queue on ${name}, ${plan.workers} workers a sync)`,
        async () => {
          await using database = await createTestDatabase()
          const result = await runKillCampaign({ ...plan, databaseUrl: database.url, redisUrl })
          results.push({ backend: name, workers: plan.workers, seed: plan.seed, result })
          expect(result.violations).toEqual([])
          expect(result.killed).toBeGreaterThanOrEqual(plan.kills)
        },
        isFull ? 400_000 : 120_000,
      )
})

afterAll(() => {
  results.sort((a, b) => a.backend.localeCompare(b.backend) || a.workers - b.workers)
  report('syncs', [
    '| queue | workers a sync | seed | killed with SIGKILL | violations |',
    '|---|---|---|---|---|',
    ...results.map(
      ({ backend, workers, seed, result }) =>
        `| ${backend} | ${workers} | ${seed} | ${result.killed} | ${result.violations.length} |`,
    ),
  ])
})
