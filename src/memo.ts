// Remembers what was made of the latest texts, in bounded memory. Pure.

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
export function memo(make: (text: string) => string, { most, longest }: Bounds): (text: string) => string {
  let known = new Map<string, string>()
  let older = new Map<string, string>()
  return (text) => {
    const before = known.get(text)
    if (before !== undefined) return before
    const made = older.get(text) ?? make(text)
    if (text.length > longest) return made
    if (known.size >= most) {
      older = known
      known = new Map()
    }
    known.set(text, made)
    return made
  }
}
