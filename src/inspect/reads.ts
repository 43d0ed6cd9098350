// The texts about redundant reads. Pure.

import { counted } from '../format.ts'
import type { RepeatingRead } from '../state/due/reads.ts'

const meanings: Readonly<Record<RepeatingRead['state'], string>> = {
  redundant: 'skipped, except for samples',
  needed: 'returned more data, so none is skipped',
  learning: 'still being compared',
}

/** `22 reads may repeat others: 5 skipped, except for samples, 17 still being compared; 1,150 requests saved`. */
export function readsSummary(reads: readonly RepeatingRead[]): string {
  const states = Object.entries(meanings).flatMap(([state, meaning]) => {
    const number = reads.filter((read) => read.state === state).length
    return number === 0 ? [] : [`${number} ${meaning}`]
  })
  const saved = reads.reduce((sum, { skipped }) => sum + skipped, 0)
  return `${counted(reads.length, 'read')} may repeat others: ${states.join(', ')}; ${counted(saved, 'request')} saved`
}
