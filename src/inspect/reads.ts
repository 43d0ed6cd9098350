// The texts about redundant reads. Pure.

import { counted } from '../format.ts'
import type { RepeatingRead } from '../sync/due/reads.ts'

const meanings: Readonly<Record<RepeatingRead['state'], string>> = {
  redundant: 'skipped except for samples',
  needed: 'always read because they returned more data',
  learning: 'still being compared',
}

/** `22 endpoints may return data that the mirror already has: 5 skipped except for samples, 17 still being compared; 1,150 requests saved`. */
export function readsSummary(reads: readonly RepeatingRead[]): string {
  const states = Object.entries(meanings).flatMap(([state, meaning]) => {
    const number = reads.filter((read) => read.state === state).length
    return number === 0 ? [] : [`${number} ${meaning}`]
  })
  const saved = reads.reduce((sum, { skipped }) => sum + skipped, 0)
  return `${counted(reads.length, 'endpoint')} may return data that the mirror already has: ${states.join(', ')}; ${counted(saved, 'request')} saved`
}
