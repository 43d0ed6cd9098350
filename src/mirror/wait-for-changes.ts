// Waits at the end of the feed until there is more.

import { within } from '../clock.ts'
import { listen } from '../database/listen.ts'
import type { Logger } from '../log.ts'
import { changesChannel } from './change-notifier.ts'

/** Changes behind an older transaction become readable when that one ends, which sends no notification. */
const pollMs = 2_000

/**
 * Makes a wait that ends when changes are announced, or were since the last one, or after `ms` (two seconds by default); it
 * rejects when the signal is aborted.
 */
export function waitForChanges(url: string, log: Logger, signal: AbortSignal): (ms?: number) => Promise<void> {
  let announced = false
  let wake = (): void => {}
  const onNotify = (): void => {
    announced = true
    wake()
  }
  void listen({ url, channel: changesChannel, onNotify, log, signal })
  return async (ms = pollMs) => {
    const woken = new Promise<void>((resolve) => {
      wake = resolve
    })
    if (!announced) await within(ms, woken, signal)
    announced = false
  }
}
