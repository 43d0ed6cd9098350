// What is done for a few rows reads a few rows, however many there are: ten times the rows, and the same plans are followed.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestPool } from '../helpers/database.ts'
import { isFull } from '../helpers/extent.ts'
import { statementsOf } from '../helpers/plans.ts'
import { type Mirror, openMirror } from '../helpers/rows.ts'
import { filling, needStatistics, works } from '../helpers/statements.ts'

const sizes = [20_000, 200_000] as const
let mirrors: readonly Mirror[] = []
beforeAll(async () => {
  mirrors = await Promise.all(
    sizes.map(async (size) => {
      const mirror = await openMirror()
      const filler = createTestPool(mirror.url, 1) // a busy machine takes its time
      for (const statement of filling(size)) await filler.query(statement)
      await filler.end()
      return mirror
    }),
  )
})
afterAll(async () => {
  for (const mirror of mirrors) await mirror[Symbol.asyncDispose]()
})

// With `npm run surroundings` alone: `statistics` holds the statements to the rows that they are about in each run.
describe.runIf(isFull).sequential('ten times the rows', () => {
  for (const analyzed of [false, true])
    it(`${analyzed ? 'with' : 'without'} statistics: no statement handles more of them`, async () => {
      if (analyzed) for (const { db } of mirrors) await db.pool.query('analyze')
      const grown: unknown[] = []
      for (const [what, work] of works) {
        if (!analyzed && needStatistics.has(what)) continue
        const [few = [], many = []] = await Promise.all(mirrors.map((mirror) => statementsOf(mirror.db.pool, work)))
        const most = new Map<string, number>()
        for (const { sql, rows } of few) most.set(sql, Math.max(rows, most.get(sql) ?? 0))
        for (const each of many) {
          const before = most.get(each.sql) ?? 0
          // What is open is handled once or a few times, as the plan has it.
          if (each.rows > 1.5 * before + 500) grown.push({ what, before, ...each })
        }
      }
      expect(grown).toEqual([])
    })
})
