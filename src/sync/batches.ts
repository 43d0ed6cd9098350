// Overlap: fetching continues while earlier results are written. Bounded, so that memory stays flat.

import { sleep } from '../clock.ts'

type Bounds<T> = {
  /** When this many items wait, the source is not asked for more. */
  readonly limit: number
  /** How many items one counts for; missing: 1. */
  readonly weightOf?: (item: T) => number
  /** After the first item, wait at most this long for company, in milliseconds. */
  readonly lingerMs: number
  /** The first batch waits for no company: its reader has nothing else to do yet. */
  readonly startsAtOnce?: boolean
}

/**
 * Reads a source ahead of its consumer and yields whatever has arrived, in order, in arrays of 1 to `limit` items; the last may be heavier.
 * Ending the loop early ends the source. Errors of the source come after what arrived before them.
 */
export async function* batches<T>(
  source: AsyncGenerator<T>,
  { limit, lingerMs, weightOf = () => 1, startsAtOnce = false }: Bounds<T>,
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
    const linger = new AbortController()
    const timeIsUp = sleep(lingerMs, linger.signal).then(
      () => true,
      () => true,
    )
    while (weight < limit && !ended)
      if (await Promise.race([timeIsUp, new Promise<false>((resolve) => (wakeReader = () => resolve(false)))])) break
    linger.abort()
  }

  try {
    for (let isFirst = true; ; isFirst = false) {
      while (waiting.length === 0 && !ended) await new Promise<void>((resolve) => (wakeReader = resolve))
      if (weight < limit && !ended && lingerMs > 0 && !(isFirst && startsAtOnce)) await company()
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

/** Applies `work` to items with at most `concurrency` running; yields results as they come. The first error ends it. */
export async function* mapConcurrently<T, R>(
  items: Iterable<T>,
  concurrency: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const running = new Set<Promise<void>>()
  const finished: R[] = []
  let failure: { readonly error: unknown } | undefined
  const source = items[Symbol.iterator]()
  let wake = (): void => {}
  /** Begins with the next item; false where there is none. */
  const start = (): boolean => {
    const next = source.next()
    if (next.done) return false
    const one = work(next.value)
      .then(
        (result) => void finished.push(result),
        (error: unknown) => {
          failure ??= { error }
        },
      )
      .then(() => {
        running.delete(one)
        wake()
      })
    running.add(one)
    return true
  }
  try {
    while (running.size < concurrency && start());
    for (;;) {
      while (finished.length === 0 && failure === undefined && running.size > 0)
        await new Promise<void>((resolve) => (wake = resolve))
      if (finished.length === 0) break
      const result = finished.shift() as R
      if (failure === undefined) start()
      yield result
    }
    if (failure !== undefined) throw failure.error
  } finally {
    await Promise.all(running)
  }
}
