// Values that are made once for many who need them: kept for each of a few keys, for the latest texts in bounded memory, or from when
// they are first needed; or looked up together. Pure.

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

/**
 * Looks keys up together. A look-up never starts before it is requested, so its result is not older than the request.
 * @param find finds several keys at once; all its callers get its error
 */
export function gathered<V>(
  find: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>,
): (key: string) => Promise<V | undefined> {
  let before: Promise<unknown> = Promise.resolve()
  let next: { readonly keys: Set<string>; readonly found: Promise<ReadonlyMap<string, V>> } | null = null
  return async (key) => {
    if (next === null) {
      const keys = new Set<string>()
      const found = before.then(() => {
        next = null
        return find([...keys])
      })
      next = { keys, found }
      before = found.catch(() => {}) // the callers get the error; the next look-up continues
    }
    next.keys.add(key)
    return (await next.found).get(key)
  }
}
