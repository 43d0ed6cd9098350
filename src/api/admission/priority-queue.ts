// A waiting line with two lanes: writes before reads, first come first served within each. An aborted waiter leaves
// the line at once. Decides only who is next, never when.

import { onAbort } from '../wire/called-off.ts'

export type Priority = 'write' | 'read'

type Waiter = { readonly admit: () => void }

type PriorityQueue = {
  /** Resolves when this waiter is admitted; rejects with the signal's reason when aborted before. */
  join(priority: Priority, signal?: AbortSignal): Promise<void>
  /** Admits up to `count` waiters, writes first. */
  admit(count: number): void
  /** How many wait, in one lane or in both. */
  size(priority?: Priority): number
}

export function createPriorityQueue(): PriorityQueue {
  // Sets keep the order of joining and forget a member in constant time.
  const lanes: Readonly<Record<Priority, Set<Waiter>>> = { write: new Set(), read: new Set() }

  const join = (priority: Priority, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const lane = lanes[priority]
      const waiter: Waiter = {
        admit: () => {
          lane.delete(waiter)
          forget()
          resolve()
        },
      }
      const forget = onAbort(signal, () => {
        lane.delete(waiter)
        reject(signal?.reason)
      })
      lane.add(waiter)
    })

  const admit = (count: number): void => {
    let left = count
    for (const lane of [lanes.write, lanes.read])
      for (const waiter of lane) {
        if (left-- <= 0) return
        waiter.admit()
      }
  }

  const size = (priority?: Priority): number =>
    priority === undefined ? lanes.write.size + lanes.read.size : lanes[priority].size

  return { join, admit, size }
}
