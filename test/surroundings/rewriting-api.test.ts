// An API that rewrites what it takes, shows it late and loses answers, while others make records like ours: a slice in the
// gate, ten thousand runs with `npm run surroundings`.

import { describe, expect, it, vi } from 'vitest'
import { isFull } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { runBusyAccount } from '../outbox/busy-account.ts'
import { runBatch, sum } from '../outbox/rewriting-model.ts'
import { openRewritingRig } from '../outbox/rewriting-rig.ts'

// Ten thousand runs take ten minutes, and longer beside others.
vi.setConfig({ testTimeout: 3_600_000 })

const runsAtOnce = 20
const batches = isFull ? 500 : 4
const busyBatches = isFull ? 50 : 3
/** The first of the seeds, each of which draws one batch. */
const firstSeed = 1

const rig = opened(openRewritingRig)

/** Its result, if a caller waits for it. */
const tell = (result: object): void => {
  if (isFull) process.stdout.write(`${JSON.stringify(result)}\n`)
}

describe('An API that rewrites what it takes, shows it late and loses answers', () => {
  it('nothing takes effect twice, and what is done was done', async () => {
    const results = []
    for (let batch = 0; batch < batches; batch++) results.push(await runBatch(rig, firstSeed + batch, runsAtOnce))
    const { violations, ...counts } = sum(results)
    tell({ ...counts, violations: violations.length })
    expect(violations).toEqual([])
    expect(counts.runs).toBe(batches * runsAtOnce)
  })

  it('while others create ten records a minute, 95 of 100 creations whose answer was lost are done', async () => {
    let [changes, done] = [0, 0]
    for (let batch = 0; batch < busyBatches; batch++) {
      const result = await runBusyAccount(rig, firstSeed + batch, runsAtOnce)
      expect(result.twice).toBe(false)
      changes += result.changes
      done += result.done
    }
    tell({ changes, done })
    expect(done).toBeGreaterThanOrEqual(0.95 * changes)
  })
})
