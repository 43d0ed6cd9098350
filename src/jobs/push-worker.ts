// Wakes the pusher: by NOTIFY at once, and by a job when an attempt is due or a notification was lost, which is looked up every
// second. The job has no content; the outbox defines the work.

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
/** Milliseconds after which an unclaimed change is pushed without the queue. */
const neglectedAfterMs = 15_000
/** The same for a queue that refuses wake-ups. */
const refusedAfterMs = 1_000
/** A drain of a long queue must not delay new changes. */
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

/** Starts pushing; `stop` waits for requests in flight. */
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
      if (isAsked) drainDirectly()
    }
  }
  const running = new Set<Promise<unknown>>()
  let isAsked = false
  /** Drains without a job: at once, or when a drain under way ends. A job would double the time to the request of an idle worker. */
  const drainDirectly = (): void => {
    isAsked = true
    if (draining >= drainsAtOnce || stopping.signal.aborted) return
    isAsked = false
    const run: Promise<unknown> = drain(stopping.signal)
      .catch((error: unknown) => log.error({ event: 'push_crashed', err: error }))
      .finally(() => running.delete(run))
    running.add(run)
  }
  const worker = await backend.openWorker(
    pushQueue,
    (_job, signal) => {
      isSilent = false
      return drain(AbortSignal.any([stopping.signal, signal]))
    },
    drainsAtOnce,
  )
  let refused = false
  /** Before its first wake-up the queue is being opened. */
  let isOpen = false
  /** The watchdog: a queue that is absent or silent must cost seconds, not a pending rental. The first time may be a restart. */
  const watch = (due: Date): void => {
    const patienceMs = refused ? refusedAfterMs : neglectedAfterMs
    if (draining > 0 || clock.now().getTime() - due.getTime() < patienceMs) return
    const level = isSilent ? 'error' : 'debug'
    log[level]({ event: 'queue_silent' }, 'the queue does not wake the worker: changes are sent without it')
    isSilent = true
    drainDirectly()
  }

  let adding = false
  const wake = async (): Promise<void> => {
    if (adding || stopping.signal.aborted) return
    adding = true
    try {
      await queue.add('push', {}, { removeOnComplete: true, removeOnFail: true })
      refused = false
      isOpen = true
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
      void wake()
      watch(due)
    },
    { log, level: 'debug' },
  )
  const listening =
    listenUrl === null
      ? null
      : listen({ url: listenUrl, channel: enqueuedChannel, onNotify: drainDirectly, log, signal: stopping.signal })
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all([worker.close(), listening, watching.stop()])
      await Promise.all(running)
      await pusher.close()
      await queue.close()
    },
  }
}
