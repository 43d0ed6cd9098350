// NOTIFY boat_mirror_changes after commits that wrote: in a separate statement (inside transactions, all commits
// would queue behind one lock), at most ten times a second per process.

import { within } from '../clock.ts'
import { listen } from '../database/listen.ts'
import type { Queryable } from '../database/sql.ts'
import { messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'

/** The channel partners listen on; the payload is empty. */
export const changesChannel = 'boat_mirror_changes'

type ChangeNotifier = {
  /** Something was committed: listeners hear of it at once, or within a tenth of a second. */
  notify(): void
  /** Sends what is due and waits for it. May be called twice. */
  close(): Promise<void>
}

/** @param intervalMs shortest time between two notifications. */
export function createChangeNotifier(db: Queryable, log: Logger, intervalMs = 100): ChangeNotifier {
  let due = false
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<void> = Promise.resolve()

  // A lost notification costs a listener its next poll, no data: the change log has everything.
  const send = async (): Promise<void> => {
    try {
      await db.query(`notify ${changesChannel}`)
    } catch (error) {
      log.debug({ event: 'notify_failed', reason: messageOf(error) })
    }
  }
  const sendDue = (): void => {
    timer = undefined
    if (!due) return
    due = false
    timer = setTimeout(sendDue, intervalMs).unref()
    sending = sending.then(send)
  }
  return {
    notify: () => {
      due = true
      if (timer === undefined) sendDue()
    },
    close: () => {
      clearTimeout(timer)
      sendDue()
      clearTimeout(timer)
      return sending
    },
  }
}

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
