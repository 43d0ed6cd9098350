// Joins concurrent calls of the database into batches.

import { setImmediate } from 'node:timers/promises'

/** The most changes that one transaction claims, marks or settles, because it holds their locks. */
export const mostTogether = 16

/**
 * Batches calls: those of one turn of the event loop, and those that arrive while `run` is working, run together, at most `most` of
 * them. `run` returns a promise for each item; a rejected promise rejects only its own call.
 */
export function inBatches<T, R>(
  most: number,
  run: (items: readonly T[]) => readonly Promise<R>[],
): (item: T) => Promise<R> {
  const waiting: { readonly item: T; readonly resolve: (result: Promise<R>) => void }[] = []
  let running = false
  const work = async (): Promise<void> => {
    running = true
    while (waiting.length > 0) {
      await setImmediate() // with all that this turn of the event loop brings
      const batch = waiting.splice(0, most)
      const started = (async () => run(batch.map(({ item }) => item)))() // an error before it returns rejects the whole batch
      const results = batch.map(async (_, index) => (await started)[index] as Promise<R>)
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Promise<R>)
      await Promise.allSettled(results)
    }
    running = false
  }
  return (item) =>
    new Promise((resolve) => {
      waiting.push({ item, resolve })
      if (!running) void work()
    })
}
