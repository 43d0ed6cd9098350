// Waits until an object of BullMQ is ready: a guard for defects measured in its Postgres backend.

import { backoffMs, sleep, withDeadline } from '../../clock.ts'
import { sqlStateOf } from '../../database/sql-states.ts'
import { BoatMirrorError, messageOf } from '../../errors.ts'
import { type Logger, warnAbout } from '../../log.ts'
import type { BackendOptions } from '../queues.ts'

const backoff = { firstMs: 200, longestMs: 2_000 }
/** Milliseconds to wait for a close. BullMQ would wait forever for a backend that is gone. */
const closeMs = 10_000

export const quietly = (log: Logger): ((error: Error) => void) =>
  warnAbout(log, 'queue_error', 'the queue backend reported an error')

/** Classes of SQLSTATE that are permanent: authorization, database and schema names, syntax or access rule. */
const refusals: ReadonlySet<string> = new Set(['28', '3D', '3F', '42'])

/** An error of the queue on Postgres, in our own codes. */
export function postgresQueueError(error: unknown): BoatMirrorError {
  // BullMQ's own errors have no SQLSTATE.
  const refused =
    refusals.has((sqlStateOf(error) ?? '').slice(0, 2)) || (error instanceof Error && error.name.startsWith('Schema'))
  return new BoatMirrorError(
    refused ? 'QUEUE_REFUSED' : 'QUEUE_UNREACHABLE',
    `The queue on Postgres does not work: ${messageOf(error)}`,
    {
      cause: error,
      remedy: refused
        ? 'Run boat-mirror migrate with a role that may create schemas and tables.'
        : 'Check DATABASE_URL.',
    },
  )
}

/** A queue or worker of BullMQ. */
export type Opened = { close(force?: boolean): Promise<void>; waitUntilReady(): Promise<unknown> }

/** Tries until it works, the time has ended, or the backend refuses. Each try makes a new object: a failed one stays failed (BullMQ 6.7). */
export async function untilReady<T extends Opened>(
  toFailure: (error: unknown) => BoatMirrorError,
  options: BackendOptions,
  open: () => T,
  ready = (opened: T): Promise<unknown> => opened.waitUntilReady(),
): Promise<T> {
  const deadline = performance.now() + options.patienceMs
  for (let attempt = 1; ; attempt++) {
    const opened = open()
    try {
      await ready(opened)
      return endingInTime(opened, options.log)
    } catch (error) {
      await opened
        .close()
        .catch((cause: unknown) => options.log.debug({ event: 'queue_close_failed', reason: messageOf(cause) }))
      const failure = toFailure(error)
      const delayMs = backoffMs(attempt, backoff)
      if (failure.code === 'QUEUE_REFUSED' || performance.now() + delayMs > deadline) throw failure
      await sleep(delayMs, options.signal)
    }
  }
}

/** Lets `close` wait at most `closeMs`. */
function endingInTime<T extends Opened>(opened: T, log: Logger): T {
  const close = opened.close.bind(opened)
  opened.close = (force) =>
    withDeadline(close(force), closeMs).catch((error: unknown) =>
      log.warn({ event: 'queue_close_failed', reason: messageOf(error) }, 'the queue could not be closed cleanly'),
    )
  return opened
}
