// Nothing of BullMQ is used before it proved to be ready: a guard for defects measured in its Postgres backend.

import { sleep } from '../clock.ts'
import { BoatMirrorError, messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'
import type { BackendKind, BackendOptions } from './backend-types.ts'

const quietMs = 5_000
/** BullMQ waits for ever for a backend that is gone; a process with nothing left to do does not, in milliseconds. */
const closeMs = 10_000

/** Says the same error once in five seconds. */
export function quietly(log: Logger): (error: Error) => void {
  const last = new Map<string, number>()
  return (error) => {
    const now = Date.now()
    if (now - (last.get(error.message) ?? 0) < quietMs) return
    last.set(error.message, now)
    log.warn({ event: 'queue_error', reason: messageOf(error) }, 'the queue backend reported an error')
  }
}

const refusals =
  /NOAUTH|WRONGPASS|NOPERM|password authentication|does not exist|permission denied|SchemaMigration|schema/i

export function queueError(kind: BackendKind, error: unknown): BoatMirrorError {
  const variable = kind === 'redis' ? 'REDIS_URL' : 'DATABASE_URL'
  const refused = refusals.test(messageOf(error))
  return new BoatMirrorError(
    refused ? 'QUEUE_REFUSED' : 'QUEUE_UNREACHABLE',
    `The queue on ${kind === 'redis' ? 'Redis' : 'Postgres'} does not work: ${messageOf(error)}`,
    {
      cause: error,
      remedy:
        refused && kind === 'postgres' ? 'Run boat-mirror migrate with a role that may create.' : `Check ${variable}.`,
    },
  )
}

/** Tries until it works, patience runs out or the backend refuses for good. Each try uses new objects: a failed one stays failed (BullMQ 6.7). */
export async function untilReady<T extends { close(force?: boolean): Promise<void> }>(
  kind: BackendKind,
  options: BackendOptions,
  open: () => T,
  ready: (opened: T) => Promise<unknown>,
): Promise<T> {
  const deadline = Date.now() + options.patienceMs
  for (let delayMs = 200; ; delayMs = Math.min(delayMs * 2, 2_000)) {
    const opened = open()
    try {
      await ready(opened)
      return endingInTime(opened, options.log)
    } catch (error) {
      await opened
        .close()
        .catch((cause: unknown) => options.log.debug({ event: 'queue_close_failed', reason: messageOf(cause) }))
      const failure = queueError(kind, error)
      if (failure.code === 'QUEUE_REFUSED' || Date.now() + delayMs > deadline) throw failure
      await sleep(delayMs, options.signal)
    }
  }
}

/** Lets `close` wait no longer than `closeMs`: what the backend did not hear of, it finds out by its own time limits. */
function endingInTime<T extends { close(force?: boolean): Promise<void> }>(opened: T, log: Logger): T {
  const close = opened.close.bind(opened)
  opened.close = (force) =>
    withDeadline(close(force), closeMs).catch((error: unknown) =>
      log.warn({ event: 'queue_close_failed', reason: messageOf(error) }, 'the queue could not be closed cleanly'),
    )
  return opened
}

/** @throws Error when there is no answer within `ms` milliseconds. */
export async function withDeadline<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
