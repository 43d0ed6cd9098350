// How many hostile cases each surface gets, and how they are drawn: the same ones in every run; FUZZ_SEED draws others.
// docs/reliability.md states their sum.

import fc from 'fast-check'
import { runsOf } from '../helpers/extent.ts'

/** Cases by surface. */
export const surfaces = {
  'JSON texts': 20_000,
  'pages of lists': 6_000,
  'mixed pages of lists': 30_000,
  'numbers, digit by digit': 6_000,
  'envelopes and their headers': 12_000,
  'next links and Link headers': 8_000,
  'Retry-After headers': 4_000,
  'lists that page oddly': 3_000,
  'answers on the wire': 400,
  'values of columns': 12_000,
  'random JSON as a record of each stream': 10_500,
  'mutated records of each stream': 7_000,
  'whole syncs': 2,
  'calls of outbox.enqueue': 12_000,
  'paths of writes': 5_000,
  'accepted changes sent upstream': 150,
  'environments and files of settings': 4_000,
  'command lines': 400,
  'keys and reasons on the status page, in explain and report': 300,
} as const

export type Surface = keyof typeof surfaces

/** The cases of a surface in this run, or of one of `parts` equal parts of it. */
export const casesOf = (surface: Surface, parts = 1): number =>
  Math.max(1, Math.round(runsOf(surfaces[surface]) / parts))

/** A time limit in milliseconds: thousands of cases on a machine that does other things besides. */
export const limitMs = 600_000

export const seed = Number(process.env.FUZZ_SEED ?? '20260713')

/** What fast-check is to do for a surface; a failure prints seed and path. */
export const settingsOf = (surface: Surface, parts = 1): fc.Parameters<unknown> => ({
  numRuns: casesOf(surface, parts),
  seed,
})

/** Cases as values, for surfaces that take many at once: the n-th of `parts` equal parts. */
export const sampleOf = <T>(surface: Surface, cases: fc.Arbitrary<T>, part = 1, parts = 1): readonly T[] =>
  fc.sample(cases, { numRuns: casesOf(surface, parts), seed: seed + part })
