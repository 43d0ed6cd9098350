// One look-up for all that ask while another one is under way: however many requests come, one statement at a time.

/**
 * Looks keys up together. A look-up never begins before it is asked for, so what it finds is not older than the question.
 * @param find finds several keys at once; what it throws, everybody gets who asked
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
      before = found.catch(() => {}) // those who asked get the error; the next look-up goes on
    }
    next.keys.add(key)
    return (await next.found).get(key)
  }
}
