// Findings of a check add up by stream: counts are complete, samples and problems are the first ones.

import { describe, expect, it } from 'vitest'
import type { Comparison } from '../../src/mirror/comparison.ts'
import { CheckTally, isDifferent } from '../../src/sync/check/tally.ts'

const found = (stream: string, from: number, count: number): Comparison => ({
  stream,
  missing: 1,
  different: count,
  deleted: 2,
  samples: Array.from({ length: count }, (_, n) => ({ stream, key: [`${from + n}`], kind: 'different', columns: {} })),
})

describe('a tally', () => {
  it('adds up by stream, in the order in which streams were named', () => {
    const tally = new CheckTally()
    tally.of('users').compared += 3
    tally.add([found('rentals', 0, 2), found('users', 0, 1), found('rentals', 2, 1)])
    expect(tally.all()).toMatchObject([
      { stream: 'users', compared: 3, missing: 1, different: 1, deleted: 2 },
      { stream: 'rentals', compared: 0, missing: 2, different: 3, deleted: 4 },
    ])
    expect(tally.all()[1]?.samples.map(({ key }) => key)).toEqual([['0'], ['1'], ['2']])
  })

  it('keeps the first twenty differences and problems of a stream, and counts all', () => {
    const tally = new CheckTally()
    for (let from = 0; from < 45; from += 15) tally.add([found('users', from, 15)])
    for (let n = 0; n < 30; n++) tally.problem('users', `problem ${n}`)
    const [users] = tally.all()
    expect(users?.different).toBe(45)
    const firstTwenty = Array.from({ length: 20 }, (_, n) => n)
    expect(users?.samples.map(({ key }) => Number(key[0]))).toEqual(firstTwenty)
    expect(users?.problems).toEqual(firstTwenty.map((n) => `problem ${n}`))
  })

  it('differs for each kind of finding, but not for records that cannot be mirrored', () => {
    const none = new CheckTally().of('users')
    expect(isDifferent({ ...none, compared: 9, bad: 1 })).toBe(false)
    for (const facts of [{ missing: 1 }, { different: 1 }, { deleted: 1 }, { problems: ['no answer'] }])
      expect(isDifferent({ ...none, ...facts }), JSON.stringify(facts)).toBe(true)
  })
})
