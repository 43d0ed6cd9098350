// The protocol on moving ground, as a model: see ground-model.ts.

import { describe, expect, it } from 'vitest'
import { isFull, isQuick, runsOf } from '../helpers/extent.ts'
import { faults, Ground } from './ground-model.ts'

const steps = 150
const runs = isFull ? 10_000 : runsOf(500)
/** A fault is found in fewer. */
const most = 10_000

describe('changes on moving ground', () => {
  it(`take effect at most once, in order, and are done only if they did (${runs} runs)`, { timeout: 900_000 }, () => {
    const found = Array.from({ length: runs }, (_, seed) => [seed, ...new Ground(seed).run(steps)]).filter(
      ([, ...violations]) => violations.length > 0,
    )
    expect(found).toEqual([])
  })

  // Not with `npm test`: it shows that the model would find a loss.
  it.skipIf(isQuick).each(faults)('lose that without a safeguard: %s', { timeout: 900_000 }, (fault) => {
    const seeds = Array.from({ length: most }, (_, seed) => seed)
    expect(seeds.find((seed) => new Ground(seed, fault).run(steps).length > 0)).toBeDefined()
  })
})
