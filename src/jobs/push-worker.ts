// Wakes the pusher: by NOTIFY within a fraction of a second, by the clock when a change's next attempt is due, and every
// second for what was missed. The job carries nothing; the outbox says what to do.

import { type Clock, sleep } from '../clock.ts'
import { messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'
import { listen } from '../mirror/listen.ts'
import type { Pusher } from '../outbox/pusher.ts'
import type { QueueBackend } from './backend-types.ts'
import { pushQueue } from './queues.ts'

/** What `outbox.enqueue` notifies, with a constant payload. */
const enqueuedChannel = 'boat_mirror_outbox'
const lookEveryMs = 1_000
/** A drain that works on a long queue must not keep a second one from starting on what is new. */
const drainsAtOnce = 2

export type PushWorkerOptions = {
  readonly databaseUrl: string
  readonly backend: QueueBackend
  readonly pusher: Pusher
  /** The database's clock: due times are on it. */
  readonly clock: Clock
  readonly log: Logger
}

/** Starts pushing; `stop` waits for what is on its way to the API. */
export async function startPushWorker(options: PushWorkerOptions): Promise<{ stop(): Promise<void> }> {
  const { databaseUrl, backend, pusher, clock, log } = options
  const stopping = new AbortController()
  const queue = await backend.openQueue(pushQueue)
  const worker = await backend.openWorker(
    pushQueue,
    async (_job, signal) => {
      const { claimed, settled } = await pusher.drain(AbortSignal.any([stopping.signal, signal]), { until: 'idle' })
      return { claimed, settled }
    },
    drainsAtOnce,
  )

  let adding = false
  let again = false
  /** One wake-up at a time is under way; those that come meanwhile are one more. */
  const wake = (): void => {
    again = true
    if (adding || stopping.signal.aborted) return
    adding = true
    void addWakeUps()
  }
  const addWakeUps = async (): Promise<void> => {
    try {
      while (again) {
        again = false
        await queue.add('push', {}, { removeOnComplete: true, removeOnFail: true })
      }
    } catch (error) {
      // The clock below tries again within a second.
      log.warn({ event: 'wake_up_lost', reason: messageOf(error) }, 'the pusher could not be woken; it is tried again')
    } finally {
      adding = false
    }
  }
  const watchClock = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        const due = await pusher.nextDueAt()
        if (due !== null && due <= clock.now()) wake()
      } catch (error) {
        log.debug({ event: 'outbox_not_readable', reason: messageOf(error) }, 'the outbox could not be looked at')
      }
      await sleep(lookEveryMs, stopping.signal).catch(() => undefined) // stopped
    }
  }
  const listening = listen({ url: databaseUrl, channel: enqueuedChannel, onNotify: wake, log, signal: stopping.signal })
  const watching = watchClock()
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all([worker.close(), listening, watching])
      await pusher.close()
      await queue.close()
    },
  }
}
