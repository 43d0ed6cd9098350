// The table is made of what the test runner reports, and says no more than that.

import { expect, it } from 'vitest'
import { cellsOf, groupRows, suiteRow } from './table.ts'

type Status = 'passed' | 'failed' | 'pending'

const test = (ancestorTitles: string[], title: string, status: Status) => ({
  ancestorTitles,
  title,
  status,
  fullName: [...ancestorTitles, title].join(' '),
  failureMessages: [],
  meta: {},
  tags: [],
})

it('has a row for each of the surroundings, whatever the order in which tests ran', () => {
  const assertionResults = [
    test(['Pooler, session mode', 'push'], 'writes once', 'passed'),
    test(['Pooler, session mode'], 'a first sync equals the truth', 'passed'),
    test(['Direct'], 'migrates', 'passed'),
  ]
  expect(groupRows('pooler', [{ assertionResults }], { green: true })).toEqual([
    { surroundings: 'Direct', shown: ['migrates'], result: 'passed' },
    {
      surroundings: 'Pooler, session mode',
      shown: ['a first sync equals the truth', 'push: writes once'],
      result: 'passed',
    },
  ])
})

it('names what failed and what was not run', () => {
  const assertionResults = [
    test(['Pooler'], 'a', 'failed'),
    test(['Pooler'], 'b', 'pending'),
    test(['Pooler'], 'c', 'passed'),
  ]
  const [row] = groupRows('pooler', [{ assertionResults }], { green: false })
  expect(row).toEqual({ surroundings: 'Pooler', shown: ['a', 'b', 'c'], result: 'FAILED: a. not run: b' })
})

it('shows a failure also where no test failed', () => {
  const assertionResults = [test(['Pooler'], 'a', 'passed')]
  const broken = { surroundings: 'pooler', shown: [], result: 'FAILED: could not be run' }
  expect(groupRows('pooler', [], { green: false })).toEqual([broken])
  expect(groupRows('pooler', [{ assertionResults }], { green: false }).at(-1)).toEqual(broken)
})

it('counts the tests of a whole suite, and calls one red that the runner calls red', () => {
  const counts = { passed: 2_216, skipped: 1, failed: 0 }
  const row = { surroundings: 'Postgres 14.23', shown: ['the whole suite'] }
  const result = '2,216 passed, 1 skipped, 0 failed'
  expect(suiteRow('Postgres 14.23', { ...counts, green: true })).toEqual({ ...row, result })
  expect(suiteRow('Postgres 14.23', { ...counts, green: false })).toEqual({ ...row, result: `FAILED: ${result}` })
})

it('keeps its columns when a name holds a bar', () => {
  expect(cellsOf({ surroundings: 'a|b', shown: ['c', 'd'], result: 'passed' })).toEqual(['a\\|b', 'c; d', 'passed'])
})
