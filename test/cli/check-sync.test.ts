// What `sync --check` says of its findings, in words.

import { describe, expect, it } from 'vitest'
import { checksText } from '../../src/cli/check-sync.ts'
import type { Difference } from '../../src/mirror/comparison.ts'
import type { StreamCheck } from '../../src/sync/check.ts'

const check = (facts: Partial<StreamCheck>): StreamCheck => ({
  stream: 'users',
  compared: 1_200,
  missing: 0,
  different: 0,
  deleted: 0,
  bad: 0,
  problems: [],
  samples: [],
  ...facts,
})

const sample = (facts: Partial<Difference>): Difference => ({
  stream: 'users',
  key: ['7'],
  kind: 'different',
  columns: {},
  ...facts,
})

/** The text below the table, line by line. */
const linesOf = (...checks: readonly StreamCheck[]): readonly string[] =>
  checksText(checks)
    .split('\n')
    .slice(checks.length + 1)
    .filter((line) => line !== '')

describe('a comparison', () => {
  it('without a difference is a table and one sentence', () => {
    const [head, row, gap, sentence, ...more] = checksText([check({})]).split('\n')
    expect(head?.split(/ {2,}/)).toEqual([
      ...['STREAM', 'COMPARED', 'MISSING', 'DIFFERENT', 'ONLY IN THE MIRROR', 'NOT MIRRORABLE', 'NOT READ'],
    ])
    expect(row?.split(/ +/)).toEqual(['users', '1,200', '0', '0', '0', '0', '0'])
    expect([gap, sentence, more]).toEqual(['', 'The mirror equals the API.', []])
  })

  it('names records and columns that differ, with both values, and what to do', () => {
    const different = sample({ columns: { email: ['a@b.fr', null], year: [1, 2] } })
    const samples = [
      different,
      sample({ key: ['7', 'A'], kind: 'missing', columns: { id: [null, 7] } }),
      sample({ key: ['9'], kind: 'deleted' }),
    ]
    expect(linesOf(check({ missing: 1, different: 1, deleted: 1, samples }), check({ stream: 'types' }))).toEqual([
      'users 7: different – email: "a@b.fr" in the mirror, null in the API; year: 1 in the mirror, 2 in the API',
      'users 7 A: not in the mirror',
      'users 9: only in the mirror',
      '1 of 2 streams differ. Update them with: boat-mirror sync --full',
    ])
  })

  it('is readable, however much differs: five records, four columns, and no long value', () => {
    const columns = Object.fromEntries(
      Array.from({ length: 9 }, (_, n) => [`c${n}`, ['x'.repeat(500), undefined]] as const),
    )
    const samples = Array.from({ length: 9 }, (_, n) => sample({ key: [`${n}`], columns }))
    const lines = linesOf(check({ different: 9, samples }))
    expect(lines).toHaveLength(6)
    expect(lines[0]).toMatch(/^users 0: different – c0: "x+… in the mirror, nothing in the API; c1: .*c3: /)
    expect(lines[0]).not.toContain('c4')
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(500)
  })

  it('says what could not be read, which is no equality', () => {
    const problems = Array.from({ length: 6 }, (_, n) => `no answer\n${n}`)
    const lines = linesOf(check({ problems }))
    expect(lines).toHaveLength(6)
    expect(lines[0]).toBe('users: no answer 0')
    expect(lines[5]).toMatch(/^1 of 1 streams differ\./)
  })

  it('says that what cannot be mirrored was left out', () => {
    expect(linesOf(check({ bad: 2 }), check({ stream: 'types', bad: 1 }))).toEqual([
      'The mirror equals the API, except for records that cannot be mirrored (3). See: boat-mirror quarantine',
    ])
  })

  it('never lets the API move the cursor of the terminal', () => {
    const samples = [sample({ key: ['a\u001b[2J'], columns: { name: ['\u001b]0;x\u0007', '\u202e'] } })]
    const text = checksText([check({ different: 1, samples, problems: ['\u001b[1A'] })])
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must be gone
    expect(text.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/)
  })
})
