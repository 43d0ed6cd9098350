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

type Lookup<V> = { readonly keys: Set<string>; readonly found: Promise<ReadonlyMap<string, V>>; hasBegun: boolean }

/** So many keys are looked up at once, so that one answer is neither long waited for nor large. */
const mostTogether = 100

/**
 * Looks keys of a group up together: those that were asked for while its look-up before ran. A look-up never starts before it is
 * requested, so its result is not older than the request.
 * @param find finds several keys at once; all its callers get its error
 */
export function gathered<V>(
  find: (keys: readonly string[], group: string) => Promise<ReadonlyMap<string, V>>,
): (key: string, group?: string) => Promise<V | undefined> {
  const latest = new Map<string, Lookup<V>>()

  const lookUp = (group: string, before: Promise<unknown>): Lookup<V> => {
    const keys = new Set<string>()
    const found = before
      .catch(() => {}) // its callers get the error
      .then(() => new Promise((resolve) => setImmediate(resolve))) // with all that this turn of the event loop brings
      .then(() => {
        lookup.hasBegun = true
        return find([...keys], group)
      })
    const lookup: Lookup<V> = { keys, found, hasBegun: false }
    const forget = (): void => {
      if (latest.get(group) === lookup) latest.delete(group)
    }
    found.then(forget, forget)
    latest.set(group, lookup)
    return lookup
  }

  return async (key, group = '') => {
    const last = latest.get(group)
    const isOver = last === undefined || last.hasBegun || last.keys.size >= mostTogether
    const lookup = isOver ? lookUp(group, last?.found ?? Promise.resolve()) : last
    lookup.keys.add(key)
    return (await lookup.found).get(key)
  }
}
