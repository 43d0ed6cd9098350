// What the tests of a file share.

import { afterAll, beforeAll } from 'vitest'

/** Opens something before the first test of a file, or of a `describe`, and disposes of it after the last. It is empty before. */
export function shared<T extends AsyncDisposable>(open: () => Promise<T>): T {
  let opened: T | undefined
  beforeAll(async () => {
    opened = await open()
  })
  afterAll(() => opened?.[Symbol.asyncDispose]())
  return new Proxy({} as T, { get: (_, name) => opened && Reflect.get(opened, name) })
}
