// Overlap: fetching goes on while what has arrived is written. Bounded, so that memory stays flat.

import { sleep } from '../clock.ts'

type Bounds<T> = {
  /** When this many items wait, the source is not asked for more. */
  readonly limit: number
  /** For how many items one counts; 1 where it is left out. */
  readonly weightOf?: (item: T) => number
  /** After the first item, wait at most this long for company, in milliseconds. */
  readonly lingerMs: number
}

/**
 * Reads a source ahead of its consumer and yields whatever has arrived, in order, in arrays of 1 to `limit` items; the last may be heavier.
 * Ending the loop early ends the source. Errors of the source come after what arrived before them.
 */
export async function* batches<T>(
  source: AsyncGenerator<T>,
  { limit, lingerMs, weightOf = () => 1 }: Bounds<T>,
): AsyncGenerator<readonly T[]> {
  let waiting: T[] = []
  let weight = 0
  let ended = false
  let failure: { readonly error: unknown } | undefined
  let wakeReader = (): void => {}
  let wakeWriter = (): void => {}

  const pump = async (): Promise<void> => {
    try {
      for await (const item of source) {
        waiting.push(item)
        weight += weightOf(item)
        wakeReader()
        while (weight >= limit && !ended) await new Promise<void>((resolve) => (wakeWriter = resolve))
        if (ended) break
      }
    } catch (error) {
      failure = { error }
    }
    ended = true
    wakeReader()
  }
  const pumping = pump()
  /** Until the batch is full, the source has ended, or time is up. */
  const company = async (): Promise<void> => {
    const timeIsUp = sleep(lingerMs).then(() => true)
    while (weight < limit && !ended)
      if (await Promise.race([timeIsUp, new Promise<false>((resolve) => (wakeReader = () => resolve(false)))])) return
  }

  try {
    for (;;) {
      while (waiting.length === 0 && !ended) await new Promise<void>((resolve) => (wakeReader = resolve))
      if (weight < limit && !ended && lingerMs > 0) await company()
      if (waiting.length === 0) break
      const batch = waiting
      waiting = []
      weight = 0
      wakeWriter()
      yield batch
    }
    if (failure !== undefined) throw failure.error
  } finally {
    ended = true
    wakeWriter()
    await pumping
  }
}

/** Applies `work` to items with at most `concurrency` under way; yields results as they come. The first error ends it. */
export async function* mapConcurrently<T, R>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const running = new Map<number, Promise<{ readonly index: number; readonly result: R }>>()
  let next = 0
  const start = (): void => {
    const index = next++
    const item = items[index] as T
    running.set(
      index,
      work(item).then((result) => ({ index, result })),
    )
  }
  try {
    while (next < items.length && running.size < concurrency) start()
    while (running.size > 0) {
      const { index, result } = await Promise.race(running.values())
      running.delete(index)
      if (next < items.length) start()
      yield result
    }
  } finally {
    await Promise.allSettled(running.values())
  }
}
