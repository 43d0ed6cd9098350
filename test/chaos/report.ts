// Campaigns have two sizes: a slice in CI, and the full number with `npm run chaos`, which writes what came of it into the
// folder `results`.

import { writeResult } from '../../scripts/results.ts'

/** True in a full campaign of one fault at a time. */
export const isFull = process.env.CHAOS === 'full'

/** In a full campaign, writes its result. */
export function report(campaign: 'syncs' | 'changes' | 'ground', lines: readonly string[]): void {
  if (isFull) writeResult(`chaos-${campaign}`, `npm run chaos -- --only ${campaign}`, lines)
}
