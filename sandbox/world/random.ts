// Seeded randomness: the same seed gives the same world on every machine. Never Math.random.

export interface Random {
  /** A number from 0 up to, but not including, 1. */
  readonly next: () => number
  /** A whole number from `min` to `max`, both included. */
  readonly int: (min: number, max: number) => number
  /** One element of a list that is not empty. */
  readonly pick: <T>(items: readonly T[]) => T
  /** True with this probability. */
  readonly chance: (probability: number) => boolean
  /** The items in another order; the given list stays as it is. */
  readonly shuffle: <T>(items: readonly T[]) => T[]
}

/** FNV-1a over UTF-16 units: 32 bits from any text. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193)
  return value >>> 0
}

/** A generator (mulberry32) for one purpose: other purposes with the same seed do not influence it. */
export function createRandom(seed: number, purpose: string): Random {
  let state = hash(`${seed}/${purpose}`)
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
  const int = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1))
  const pick = <T>(items: readonly T[]): T => {
    const item = items[int(0, items.length - 1)]
    if (item === undefined) throw new RangeError('pick needs a list with at least one item')
    return item
  }
  const shuffle = <T>(items: readonly T[]): T[] => {
    const keyed = items.map((item) => ({ item, key: next() }))
    return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item)
  }
  return { next, int, pick, chance: (probability) => next() < probability, shuffle }
}
