// How hostile cases are drawn: the same ones in every run; FUZZ_SEED draws others.

import fc from 'fast-check'
import { runsOf } from '../helpers/extent.ts'

/** How many of these cases this run draws, or one of `parts` equal parts of it. */
export const casesOf = (cases: number, parts = 1): number => Math.max(1, Math.round(runsOf(cases) / parts))

export const seed = Number(process.env.FUZZ_SEED ?? '20260713')

/** What fast-check is to do; a failure prints seed and path. */
export const settingsOf = (cases: number, parts = 1): fc.Parameters<unknown> => ({
  numRuns: casesOf(cases, parts),
  seed,
})

/** Cases as values, for tests that take many at once: the n-th of `parts` equal parts. */
export const sampleOf = <T>(cases: number, drawn: fc.Arbitrary<T>, part = 1, parts = 1): readonly T[] =>
  fc.sample(drawn, { numRuns: casesOf(cases, parts), seed: seed + part })
