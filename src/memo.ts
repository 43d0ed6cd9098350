// Values that are made once and kept: for each of a few keys, of the latest texts in bounded memory, or when they are first needed. Pure.

type Bounds = {
  /** At least this number of texts is kept, and at most twice as many. */
  readonly most: number
  /** Longer texts are not cached. */
  readonly longest: number
}

/** Caches a pure function of a text. Texts that were not used during `most` others are dropped: a second map replaces a full one. */
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

/** Makes a value for each key once, and keeps it: for streams and paths of the catalog, of which there are only so many. */
export function once<K, V>(make: (key: K) => V): (key: K) => V {
  const known = new Map<K, V>()
  return (key) => {
    const before = known.get(key)
    if (before !== undefined) return before
    const made = make(key)
    known.set(key, made)
    return made
  }
}

/** A copy of the text. V8 makes a part of a text a view of the whole, which would then stay in memory. */
const detached = (text: string): string => JSON.parse(JSON.stringify(text)) as string

/**
 * Makes a value at the first call, and again when the last success began more than `maxAgeMs` ago; by default never. A failure is not
 * kept: its callers get the error, and the next call tries again.
 */
export function kept<T>(
  make: () => Promise<T>,
  maxAgeMs = Number.POSITIVE_INFINITY,
  now: () => number = Date.now,
): () => Promise<T> {
  let last: { readonly result: Promise<T>; readonly at: number } | undefined
  return () => {
    if (last !== undefined && now() - last.at < maxAgeMs) return last.result
    const mine = { result: make(), at: now() }
    last = mine
    mine.result.catch(() => {
      if (last === mine) last = undefined
    })
    return mine.result
  }
}
