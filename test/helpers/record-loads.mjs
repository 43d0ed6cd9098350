// Says on stderr which modules a program loads: `node --import ./record-loads.mjs PROGRAM`.

import { writeSync } from 'node:fs'
import { createRequire, register } from 'node:module'
import { isMainThread } from 'node:worker_threads'

// Modules that import one another pass `load` below, in a thread of its own; what they require is in the cache of require.
if (isMainThread) {
  register(import.meta.url)
  process.on('exit', () => {
    for (const file of Object.keys(createRequire(import.meta.url).cache)) writeSync(2, `loaded ${file}\n`)
  })
}

export const load = (url, context, next) => {
  writeSync(2, `loaded ${url}\n`)
  return next(url, context)
}
