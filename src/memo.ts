// Values that are made once and kept: of the latest texts in bounded memory, or when they are first needed. Pure.

/** How much is remembered. */
type Bounds = {
  /** Texts at least; twice as many at most. */
  readonly most: number
  /** Longer texts are made again each time. */
  readonly longest: number
}

/**
 * Wraps a function that makes the same of the same text. Texts that were not used while `most` others came are forgotten: a second
 * map takes over when the first is full, so no order of use is kept.
 */
export function memo<T>(make: (text: string) => T, { most, longest }: Bounds): (text: string) => T {
  let known = new Map<string, T>()
  let older = new Map<string, T>()
  return (text) => {
    if (text.length > longest) return make(text)
    const before = known.get(text)
    if (before !== undefined) return before
    const made = older.get(text) ?? make(text)
    if (known.size >= most) {
      older = known
      known = new Map()
    }
    known.set(detached(text), made)
    return made
  }
}

/** A copy of the text. V8 makes a part of a text a view of the whole: to remember it would keep the whole. */
const detached = (text: string): string => JSON.parse(JSON.stringify(text)) as string

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
