// How much of the suite runs. The mode of vitest says it, and `vitest.config.ts` passes it on.

import { inject } from 'vitest'

export type Extent = 'quick' | 'all' | 'full'

declare module 'vitest' {
  interface ProvidedContext {
    extent: Extent
  }
}

const extent = inject('extent')

/**
 * True with `npm test`. What a test omits then says why beside it, and runs with `npm run test:all` and wherever a file is
 * named (`npx vitest run FILE`). `vitest.config.ts` lists the files that `npm test` omits.
 */
export const isQuick = extent === 'quick'

/** How many random cases of so many are drawn: a fifth with `npm test`. */
export const runsOf = (cases: number): number => (isQuick ? Math.max(1, Math.round(cases / 5)) : cases)

/** With `npm test` the first of these cases, which stands for the others; otherwise all. */
export const firstOf = <Case>(cases: readonly Case[], count = 1): readonly Case[] =>
  isQuick ? cases.slice(0, count) : cases

/** True with `npm run chaos -- --only …` and in the groups of `npm run surroundings`, which take hours. Otherwise a slice of them runs. */
export const isFull = extent === 'full'
