// Wakes the pusher: by NOTIFY within a fraction of a second, by the clock when a change's next attempt is due, and every
// second for what was missed. The job carries nothing; the outbox says what to do.

import type { Clock } from '../clock.ts'
import { listen } from '../database/listen.ts'
import { messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'
import type { Pusher } from '../outbox/pusher.ts'
import { service } from '../service.ts'
import { pushQueue, type QueueBackend } from './queues.ts'

/** What `outbox.enqueue` notifies, with a constant payload. */
const enqueuedChannel = 'boat_mirror_outbox'
const checkEveryMs = 1_000
/** A change that stays unclaimed for this long is pushed without the queue, in milliseconds. */
const neglectedAfterMs = 15_000
/** The same for a queue that refuses wake-ups. */
const refusedAfterMs = 1_000
/** A drain that works on a long queue must not keep a second one from starting on what is new. */
const drainsAtOnce = 2

type PushWorkerOptions = {
  /** Where NOTIFY is heard; null: nowhere, then only the clock wakes the pusher. */
  readonly listenUrl: string | null
  readonly backend: QueueBackend
  readonly pusher: Pusher
  /** The database's clock: due times are on it. */
  readonly clock: Clock
  readonly log: Logger
}

/** Starts pushing; `stop` waits for what is on its way to the API. */
export async function startPushWorker(options: PushWorkerOptions): Promise<{ stop(): Promise<void> }> {
  const { listenUrl, backend, pusher, clock, log } = options
  const stopping = new AbortController()
  const queue = await backend.openQueue(pushQueue)
  let draining = 0
  let isSilent = false
  const drain = async (signal: AbortSignal): Promise<{ claimed: number; settled: number }> => {
    draining++
    try {
      const { claimed, settled } = await pusher.drain(signal, { until: 'idle' })
      return { claimed, settled }
    } finally {
      draining--
    }
  }
  const worker = await backend.openWorker(
    pushQueue,
    (_job, signal) => {
      isSilent = false
      return drain(AbortSignal.any([stopping.signal, signal]))
    },
    drainsAtOnce,
  )
  let bypass: Promise<unknown> = Promise.resolve()
  let refused = false
  /** Before its first wake-up the queue is being opened. */
  let isOpen = false
  /** The watchdog: a queue that is absent, or has gone silent, must cost seconds, not a pending rental. The first time may be a restart. */
  const watch = (due: Date): void => {
    const patienceMs = refused ? refusedAfterMs : neglectedAfterMs
    if (draining > 0 || clock.now().getTime() - due.getTime() < patienceMs) return
    const level = isSilent ? 'error' : 'debug'
    log[level]({ event: 'queue_silent' }, 'the queue does not wake the worker: changes are sent without it')
    isSilent = true
    bypass = drain(stopping.signal).catch((error: unknown) => log.error({ event: 'push_crashed', err: error }))
  }

  let adding = false
  let again = false
  /** One wake-up at a time is running; those that arrive meanwhile become one more. */
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
        refused = false
        isOpen = true
      }
    } catch (error) {
      // The clock below tries again within a second.
      const level = isOpen && !refused ? 'warn' : 'debug'
      log[level]({ event: 'wake_up_lost', reason: messageOf(error) }, 'could not wake the pusher; will retry')
      refused = true
    } finally {
      adding = false
    }
  }
  const watching = service(
    'reading the outbox',
    checkEveryMs,
    async () => {
      const due = await pusher.nextDueAt()
      if (due === null || due > clock.now()) return
      wake()
      watch(due)
    },
    { log, level: 'debug' },
  )
  const listening =
    listenUrl === null
      ? null
      : listen({ url: listenUrl, channel: enqueuedChannel, onNotify: wake, log, signal: stopping.signal })
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all([worker.close(), listening, watching.stop()])
      await bypass
      await pusher.close()
      await queue.close()
    },
  }
}
