// What the tests of a file, or of a `describe`, share: opened before the first of them, closed after the last.

import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'

type Closable = { readonly [Symbol.asyncDispose]: () => PromiseLike<unknown> } | { readonly close: () => unknown }

/** Stands for what `open` gives, from the hook on. What is opened first is closed last. */
function standFor<T extends Closable>(open: () => Promise<T> | T, before: typeof beforeAll, after: typeof afterAll): T {
  let opened: T | undefined
  before(async () => {
    opened = await open()
  })
  after(async () => {
    const closing = opened
    opened = undefined
    if (closing === undefined) return // it could not be opened
    if (Symbol.asyncDispose in closing) await closing[Symbol.asyncDispose]()
    else await closing.close()
  })
  const own = (): T => {
    if (opened === undefined) throw new Error('It is used before it is opened, or after it is closed.')
    return opened
  }
  return new Proxy({} as T, {
    get: (_, name) => {
      const value: unknown = Reflect.get(own(), name)
      return typeof value === 'function' ? value.bind(own()) : value
    },
    set: (_, name, value) => Reflect.set(own(), name, value),
    has: (_, name) => Reflect.has(own(), name),
    ownKeys: () => Reflect.ownKeys(own()),
    getOwnPropertyDescriptor: (_, name) => {
      const found = Reflect.getOwnPropertyDescriptor(own(), name)
      return found && { ...found, configurable: true }
    },
  })
}

/** Opened once, for all tests. */
export const opened = <T extends Closable>(open: () => Promise<T> | T): T => standFor(open, beforeAll, afterAll)

/** Opened for each test anew. */
export const openedForEach = <T extends Closable>(open: () => Promise<T> | T): T =>
  standFor(open, beforeEach as typeof beforeAll, afterEach as typeof afterAll)
