// A service: work that a process repeats until it is stopped; and the name of the process, for its leases in the database.

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { messageOf } from './errors.ts'
import type { Logger } from './log.ts'

export type Service = AsyncDisposable & {
  /** Runs the work now, or once more if it is running. */
  poke(): void
  /** Aborts the signal of the running work and resolves when it has ended. */
  stop(): Promise<void>
}

type ServiceOptions = {
  readonly log: Logger
  /** Level of the line about a failure; `warn` by default. */
  readonly level?: 'debug' | 'warn' | 'error'
  /** Milliseconds until the first run; 0 by default. */
  readonly delayMs?: number
  /** Waiting for the next run does not keep the process alive. */
  readonly isBackground?: boolean
  /** Runs after the last run. */
  readonly atEnd?: () => Promise<unknown>
}

/** What a run may return: `again` to be repeated at once, or the milliseconds until the next run. */
type Next = 'again' | number | undefined

/**
 * Starts a service: runs `runOnce`, then again `everyMs` after each run has ended. A failed run is repeated after the same time.
 * Equal failures in a row are logged once.
 */
export function service(
  name: string,
  everyMs: number,
  runOnce: (signal: AbortSignal) => Promise<Next> | Promise<void>,
  { log, level = 'warn', delayMs = 0, isBackground = false, atEnd }: ServiceOptions,
): Service {
  const stopping = new AbortController()
  const { signal } = stopping
  let failure = ''
  const attempt = async (work: () => Promise<unknown>): Promise<unknown> => {
    try {
      const next = await work()
      failure = ''
      return next
    } catch (error) {
      if (failure !== messageOf(error) && !signal.aborted)
        log[level]({ event: 'service_failed', err: error }, `${name} failed and will be retried: ${messageOf(error)}`)
      failure = messageOf(error)
      return undefined
    }
  }
  let isPoked = false
  let wake = (): void => {}
  const poke = (): void => {
    isPoked = true
    wake()
  }
  const wait = async (ms: number): Promise<void> => {
    if (ms > 0 && !isPoked)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        if (isBackground) timer.unref()
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    isPoked = false
  }
  const run = async (): Promise<void> => {
    await wait(delayMs)
    while (!signal.aborted) {
      const next = await attempt(() => runOnce(signal))
      if (!signal.aborted) await wait(next === 'again' ? 0 : typeof next === 'number' ? next : everyMs)
    }
    if (atEnd !== undefined) await attempt(atEnd)
  }
  const running = run()
  const stop = (): Promise<void> => {
    stopping.abort()
    poke()
    return running
  }
  return { poke, stop, [Symbol.asyncDispose]: stop }
}

/** `host:pid`. */
export const processName = (): string => `${hostname()}:${process.pid}`

/** The same, unique for each start of a process. */
export const processLife = (): string => `${processName()}:${randomUUID().slice(0, 8)}`
