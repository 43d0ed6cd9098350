// A queue with four lanes: changes, requested refreshes, lists, details. Each lane is first come, first served; lists
// leave details a share. An aborted waiter leaves the queue immediately. It decides only who is next, never when.

import { onAbort } from '../wire/abort.ts'

/**
 * `write`: a change. `asked`: a refresh. `read`: a list, and reads that a caller waits for. `detail`: data that lists
 * do not show.
 */
export type Priority = 'write' | 'asked' | 'read' | 'detail'

/** Of so many reads and details one is a detail where both wait: lists that never end must not keep the details away. */
export const detailEvery = 10

type Waiter = { readonly admit: () => void; readonly refuse: (error: Error) => void }

type PriorityQueue = {
  /** Resolves when this waiter is admitted; rejects with the signal's reason when aborted before. */
  join(priority: Priority, signal?: AbortSignal): Promise<void>
  /** Admits up to `count` waiters, most urgent first. */
  admit(count: number): void
  /** Rejects every waiter in these lanes. */
  refuse(priorities: readonly Priority[], error: Error): void
  /** How many wait, in one lane or in all. */
  size(priority?: Priority): number
}

export function createPriorityQueue(): PriorityQueue {
  // Sets keep the order of joining and forget a member in constant time.
  const lanes: Readonly<Record<Priority, Set<Waiter>>> = {
    write: new Set(),
    asked: new Set(),
    read: new Set(),
    detail: new Set(),
  }
  /** Reads that went before a detail since the last one. */
  let before = 0

  const join = (priority: Priority, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const lane = lanes[priority]
      const leave = (settle: () => void): void => {
        lane.delete(waiter)
        forget()
        settle()
      }
      const waiter: Waiter = { admit: () => leave(resolve), refuse: (error) => leave(() => reject(error)) }
      const forget = onAbort(signal, () => waiter.refuse(signal?.reason))
      lane.add(waiter)
    })

  const nextLane = (): Priority => {
    if (lanes.write.size > 0) return 'write'
    if (lanes.asked.size > 0) return 'asked'
    if (lanes.read.size === 0 || (lanes.detail.size > 0 && before >= detailEvery - 1)) return 'detail'
    return 'read'
  }

  const admit = (count: number): void => {
    for (let left = count; left > 0; left--) {
      const lane = nextLane()
      const [waiter] = lanes[lane]
      if (waiter === undefined) return
      if (lane === 'detail') before = 0
      else if (lane === 'read' && lanes.detail.size > 0) before++
      waiter.admit()
    }
  }

  const size = (priority?: Priority): number =>
    priority === undefined ? Object.values(lanes).reduce((sum, lane) => sum + lane.size, 0) : lanes[priority].size

  const refuse = (priorities: readonly Priority[], error: Error): void => {
    for (const priority of priorities) for (const waiter of [...lanes[priority]]) waiter.refuse(error)
  }

  return { join, admit, refuse, size }
}
