// How many requests leave in a while, so that a loan lasts for the next one.

type Pace = {
  /** Counts requests that leave. */
  count(requests: number): void
  /** How many left in the last whole period; 0 when that was longer ago. */
  lately(): number
}

/** Counts by periods of `periodMs`. */
export function createPace(periodMs: number): Pace {
  let [before, present, since] = [0, 0, performance.now()]
  const turn = (): void => {
    const periods = Math.floor((performance.now() - since) / periodMs)
    if (periods === 0) return
    before = periods === 1 ? present : 0
    present = 0
    since += periods * periodMs
  }
  return {
    count: (requests) => {
      turn()
      present += requests
    },
    lately: () => {
      turn()
      return before
    },
  }
}
