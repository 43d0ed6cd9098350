// The order of test files: those that say they need longest begin first, so that no long one is left alone at the end; the
// others by chance, from the seed.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { seed } = this.ctx.config.sequence
    const placed = files.map((file) => ({
      file,
      limit: statedLimit(readFileSync(file.moduleId, 'utf8')),
      chance: createHash('md5').update(`${seed} ${file.moduleId}`).digest('hex'),
    }))
    return placed.sort((a, b) => b.limit - a.limit || (a.chance < b.chance ? -1 : 1)).map(({ file }) => file)
  }
}

/** The longest limit that a file states for its tests, in milliseconds; 0: it states none. */
const statedLimit = (text: string): number =>
  Math.max(
    0,
    ...[...text.matchAll(/(?:testTimeout: |\}, )(\d[\d_]*)/g)].map(([, limit]) => Number(limit?.replaceAll('_', ''))),
  )
