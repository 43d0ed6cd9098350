// What one process answered lately, for the status page: added up in slots of ten seconds. Pure, except for the clock.

import type { RecentAnswers as Recent } from '../database/presence.ts'

const slotMs = 10_000
/** Five minutes. */
const slotsKept = 30

type Answer = { readonly status: number; readonly ms: number; readonly ageMs: number | null }

type Slot = {
  readonly number: number
  requests: number
  refused: number
  failed: number
  totalMs: number
  slowestMs: number
  oldestMs: number | null
}

export type RecentAnswers = {
  add(answer: Answer): void
  /** The sums of the last five minutes, and the requests since the start. */
  sum(): Recent
}

/** @param now milliseconds that only grow */
export function createRecentAnswers(now: () => number = performance.now.bind(performance)): RecentAnswers {
  let total = 0
  let slots: Slot[] = []
  const slotOf = (number: number): Slot => {
    const last = slots.at(-1)
    if (last?.number === number) return last
    const slot: Slot = { number, requests: 0, refused: 0, failed: 0, totalMs: 0, slowestMs: 0, oldestMs: null }
    slots = [...slots.filter((each) => each.number > number - slotsKept), slot]
    return slot
  }
  return {
    add: ({ status, ms, ageMs }) => {
      total += 1
      const slot = slotOf(Math.floor(now() / slotMs))
      slot.requests += 1
      if (status >= 500) slot.failed += 1
      else if (status >= 400) slot.refused += 1
      slot.totalMs += ms
      slot.slowestMs = Math.max(slot.slowestMs, ms)
      if (ageMs !== null) slot.oldestMs = Math.max(slot.oldestMs ?? 0, ageMs)
    },
    sum: () => {
      const first = Math.floor(now() / slotMs) - slotsKept
      const shown = slots.filter(({ number }) => number > first)
      const add = (of: (slot: Slot) => number): number => shown.reduce((sum, slot) => sum + of(slot), 0)
      const requests = add((slot) => slot.requests)
      const ages = shown.flatMap(({ oldestMs }) => (oldestMs === null ? [] : [oldestMs]))
      return {
        requests: total,
        recentRequests: requests,
        recentRefused: add((slot) => slot.refused),
        recentFailed: add((slot) => slot.failed),
        recentMeanMs: requests === 0 ? null : add((slot) => slot.totalMs) / requests,
        recentSlowestMs: requests === 0 ? null : Math.max(...shown.map(({ slowestMs }) => slowestMs)),
        recentOldestS: ages.length === 0 ? null : Math.max(...ages) / 1_000,
      }
    },
  }
}
