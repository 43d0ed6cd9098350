// What a process answered in the last five minutes.

import { expect, it } from 'vitest'
import { createRecentAnswers } from '../../src/serve/recent.ts'

it('sums what was answered within five minutes, and counts everything since the start', () => {
  let now = 1_000_000
  const recent = createRecentAnswers(() => now)
  const nothing = {
    ...{ requests: 0, recentRequests: 0, recentRefused: 0, recentFailed: 0 },
    ...{ recentMeanMs: null, recentSlowestMs: null, recentOldestS: null },
  }
  expect(recent.sum()).toEqual(nothing)
  recent.add({ status: 200, ms: 10, ageMs: 4_000 })
  now += 60_000
  recent.add({ status: 404, ms: 20, ageMs: null })
  recent.add({ status: 503, ms: 60, ageMs: null })
  expect(recent.sum()).toEqual({
    ...{ requests: 3, recentRequests: 3, recentRefused: 1, recentFailed: 1 },
    ...{ recentMeanMs: 30, recentSlowestMs: 60, recentOldestS: 4 },
  })
  now += 250_000
  expect(recent.sum()).toMatchObject({ requests: 3, recentRequests: 2, recentMeanMs: 40, recentOldestS: null })
  now += 60_000
  expect(recent.sum()).toEqual({ ...nothing, requests: 3 })
})
