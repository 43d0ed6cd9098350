// Pages that come again are recognized, and pages that only resemble others are not.

import { describe, expect, it } from 'vitest'
import { createPageMemory, keysOf } from '../../src/api/paging/page-memory.ts'
import { elementsAt } from '../../src/api/wire/elements.ts'
import type { Json } from '../../src/api/wire/json.ts'

const page = (...ids: readonly (number | string)[]): Json[] => ids.map((id) => ({ id }))

describe('a page is', () => {
  const cases: readonly { name: string; pages: readonly Json[][]; verdicts: readonly string[] }[] = [
    { name: 'new when it is the first', pages: [page(1)], verdicts: ['new'] },
    { name: 'new when it is empty, however often', pages: [[], []], verdicts: ['new', 'new'] },
    { name: 'new when one of its records is', pages: [page(1, 2), page(2, 3)], verdicts: ['new', 'new'] },
    { name: 'the last one again', pages: [page(1, 2), page(1, 2)], verdicts: ['new', 'same-as-last'] },
    {
      name: 'the last one again though its records stand in another order',
      pages: [page(1, 2), page(2, 1)],
      verdicts: ['new', 'same-as-last'],
    },
    {
      name: 'nothing new when it is a part of the last',
      pages: [page(1, 2), page(2)],
      verdicts: ['new', 'nothing-new'],
    },
    {
      name: 'nothing new when it lies across the last two',
      pages: [page(1, 2), page(3, 4), page(2, 3)],
      verdicts: ['new', 'new', 'nothing-new'],
    },
    {
      name: 'seen before when it is an earlier one, long after',
      pages: [page(1), page(2), page(3), page(4), page(1)],
      verdicts: ['new', 'new', 'new', 'new', 'seen-before'],
    },
    {
      name: 'no earlier one because the digits of its ids are the same',
      pages: [page(1, 23), page(4), page(5), page(12, 3)],
      verdicts: ['new', 'new', 'new', 'new'],
    },
  ]
  for (const { name, pages, verdicts } of cases)
    it(name, () => {
      const memory = createPageMemory()
      expect(pages.map((each) => memory.look(elementsAt(each, undefined)))).toEqual(verdicts)
    })
})

describe('records are told apart', () => {
  it('by their id, or by their code', () => {
    expect(keysOf([{ id: 1 }, { code: 'FR', name: 'France' }])).toEqual(['1', 'FR'])
  })

  it('by the ids of those that have one; the others are but counted, because they may change between two looks', () => {
    expect(keysOf([{ id: 1 }, { name: 'x' }, { name: 'y' }])).toEqual(['1', '2 without an id'])
  })

  it('by their content where none has either, or where two have the same', () => {
    expect(
      keysOf([
        { id: 1, at: 'a' },
        { id: 1, at: 'b' },
      ]),
    ).toEqual(['{"id":1,"at":"a"}', '{"id":1,"at":"b"}'])
    expect(keysOf(['a', 'b'])).toEqual(['"a"', '"b"'])
  })
})
