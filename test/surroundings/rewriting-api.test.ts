// An API that rewrites what it takes, shows it late and loses answers, while others make records like ours: a slice in the
// gate, ten thousand runs with `npm run surroundings`.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runBatch, sum } from '../outbox/rewriting-model.ts'
import { openRewritingRig, type RewritingRig } from '../outbox/rewriting-rig.ts'

const isFull = process.env.SURROUNDINGS === 'full'
const runsAtOnce = 20
const batches = Number(process.env.REWRITING_BATCHES ?? (isFull ? 500 : 6))
const firstSeed = Number(process.env.REWRITING_SEED ?? 1)

let rig: RewritingRig
beforeAll(async () => {
  rig = await openRewritingRig()
})
afterAll(() => rig[Symbol.asyncDispose]())

describe('An API that rewrites what it takes, shows it late and loses answers', () => {
  it('nothing takes effect twice, and what is done was done', { timeout: 3_600_000 }, async () => {
    const results = []
    for (let batch = 0; batch < batches; batch++) results.push(await runBatch(rig, firstSeed + batch, runsAtOnce))
    const { runs, violations, statuses, afterLoss } = sum(results)
    process.stdout.write(`${runs} runs: ${JSON.stringify({ statuses, afterLoss, violations: violations.length })}\n`)
    expect(violations).toEqual([])
    expect(runs).toBe(batches * runsAtOnce)
  })
})
