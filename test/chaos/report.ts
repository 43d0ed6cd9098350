// A campaign writes what came of it into the folder `results`, where it runs in full: with `npm run chaos`.

import { writeResult } from '../../scripts/results.ts'
import { isFull } from '../helpers/extent.ts'

/** In a full campaign, writes its result. */
export function report(campaign: 'syncs' | 'changes' | 'ground', lines: readonly string[]): void {
  if (isFull) writeResult(`chaos-${campaign}`, `npm run chaos -- --only ${campaign}`, lines)
}
