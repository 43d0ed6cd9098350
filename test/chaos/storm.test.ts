// A slice of the storm for CI: every kind of fault that fits into half a minute, at once, and nothing lost, doubled, out
// of order or stuck. The whole storm is `npm run chaos`.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
import { runStorm } from './storm/campaign.ts'

const seed = 20

// `npm run chaos` storms for ten minutes.
it(`survives a storm of half a minute (seed ${seed}, queue on Postgres)`, { timeout: 900_000 }, async () => {
  const folder = join(inject('runFolder'), 'storm')
  const logs = join(inject('runFolder'), 'storm-logs')
  for (const path of [folder, logs]) mkdirSync(path, { mode: 0o711 })
  const result = await runStorm({ queue: 'postgres', seed, ms: 30_000, workers: 2, size: 60, folder, logs })
  expect(result.violations).toEqual([])
  expect(result.faults.size).toBeGreaterThanOrEqual(10)
  expect(result.statuses.done).toBeGreaterThan(20)
  expect(result.worldChanges).toBeGreaterThan(20)
})
