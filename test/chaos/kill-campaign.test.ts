// The slice of the kill campaign that runs in CI; `npm run chaos` runs the full number.

import { describe, expect, inject, it } from 'vitest'
import { createTestDatabase } from '../helpers/database.ts'
import { runKillCampaign } from './kill-campaign.ts'

const backends = [
  { name: 'Postgres', redisUrl: null },
  { name: 'Redis', redisUrl: inject('redisUrl') },
] as const

describe('syncs killed with SIGKILL at random moments', () => {
  for (const { name, redisUrl } of backends)
    it.skipIf(name === 'Redis' && redisUrl === null)(
      `leave nothing lost and nothing counted twice (queue on ${name})`,
      async () => {
        await using database = await createTestDatabase()
        const result = await runKillCampaign({
          databaseUrl: database.url,
          redisUrl,
          kills: 4,
          seed: 7,
          size: 40,
          workers: 2,
        })
        expect(result.violations).toEqual([])
        expect(result.killed).toBeGreaterThanOrEqual(4)
      },
      120_000,
    )
})
