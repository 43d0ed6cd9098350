// What is made when it is first needed, and kept.

/** Makes a value at the first call and keeps it. A failure is not kept: the next call tries again. */
export function lazily<T>(make: () => Promise<T>): () => Promise<T> {
  let kept: Promise<T> | undefined
  return () => {
    if (kept !== undefined) return kept
    const mine = make()
    kept = mine
    mine.catch(() => {
      if (kept === mine) kept = undefined // callers get the error themselves
    })
    return mine
  }
}
