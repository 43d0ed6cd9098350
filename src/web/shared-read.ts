// One read for many viewers: whoever asks while a read is under way, or shortly after it, gets its result.

/** Reads again only when the last successful read began more than `maxAgeMs` ago. A failure is not kept. */
export function sharedRead<T>(
  read: () => Promise<T>,
  maxAgeMs: number,
  now: () => number = Date.now,
): () => Promise<T> {
  let last: { readonly result: Promise<T>; readonly at: number } | undefined
  return () => {
    if (last !== undefined && now() - last.at < maxAgeMs) return last.result
    const mine = { result: read(), at: now() }
    last = mine
    mine.result.catch(() => {
      if (last === mine) last = undefined // whoever asked gets the error; the next one reads again
    })
    return mine.result
  }
}
