// A program that keeps one mirror: does what each line on stdin says, and answers each with a line of JSON.

import { getEventListeners } from 'node:events'
import { createInterface } from 'node:readline'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { sleep } from '../../src/clock.ts'
import { BoatMirrorError, type MirrorOptions, openMirror } from '../../src/index.ts'

/** What the program holds after a line, beside its own stdin and stdout. */
export type Held = {
  /** The code of the error that the call ended with; null: it worked. */
  readonly error: string | null
  readonly timers: number
  readonly sockets: number
  /** Listeners on the signal that is passed to each call. */
  readonly listeners: number
  readonly heapMb: number
  /** Warnings of Node so far, such as one of too many listeners. */
  readonly warnings: readonly string[]
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void
const warnings: string[] = []
process.on('warning', ({ message }) => warnings.push(message))
const { signal } = new AbortController()

function held(error: string | null): Held {
  const resources = process.getActiveResourcesInfo()
  const count = (pattern: RegExp): number => resources.filter((name) => pattern.test(name)).length
  collectGarbage()
  return {
    error,
    timers: count(/^(Timeout|Immediate)$/),
    sockets: count(/^TCP/),
    listeners: getEventListeners(signal, 'abort').length,
    heapMb: process.memoryUsage().heapUsed / 2 ** 20,
    warnings,
  }
}

const mirror = await openMirror({ logLevel: 'silent', ...(JSON.parse(process.argv[2] ?? '') as MirrorOptions) })
const calls: Readonly<Record<string, () => Promise<unknown>>> = {
  sync: () => mirror.sync({ streams: ['harbours'], signal }),
  refresh: () => mirror.refresh('harbours', { signal }),
  push: () => mirror.push({ signal }),
  status: () => mirror.status(),
  feed: async () => {
    for await (const _ of mirror.changes({ from: 'now', signal })) break
  },
  query: () => mirror.db.selectFrom('mirror.harbours').select('id').execute(),
  rest: () => sleep(200),
  close: () => mirror.close(),
}

async function answer(line: string): Promise<void> {
  const error = await (calls[line] ?? Promise.reject)().then(
    () => null,
    (thrown: unknown) => (thrown instanceof BoatMirrorError ? thrown.code : String(thrown)),
  )
  process.stdout.write(`${JSON.stringify(held(error))}\n`)
}

process.stdout.write(`${JSON.stringify(held(null))}\n`)
for await (const line of createInterface({ input: process.stdin })) await answer(line)
