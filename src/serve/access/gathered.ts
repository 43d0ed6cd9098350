// One look-up for all callers that arrive while another one is running: however many requests come, one statement at
// a time.

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
