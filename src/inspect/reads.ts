// The texts about redundant reads. Pure.

import { count, counted } from '../format.ts'
import type { RepeatingRead } from '../state/due/reads.ts'

const meanings: Readonly<Record<RepeatingRead['state'], string>> = {
  redundant: 'left out but for samples',
  needed: 'told more, so all are made',
  learning: 'still compared',
}

/** `22 reads may repeat others: 5 left out but for samples, 17 still compared; 1,150 requests saved`. */
export function readsSummary(reads: readonly RepeatingRead[]): string {
  const states = Object.entries(meanings).flatMap(([state, meaning]) => {
    const number = reads.filter((read) => read.state === state).length
    return number === 0 ? [] : [`${number} ${meaning}`]
  })
  const saved = reads.reduce((sum, { skipped }) => sum + skipped, 0)
  return `${counted(reads.length, 'read')} may repeat others: ${states.join(', ')}; ${count(saved)} requests saved`
}
