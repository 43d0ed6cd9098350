// Records every five seconds that a worker is running, until it ends.

import { hostname } from 'node:os'
import { sleep } from '../clock.ts'
import type { Queryable } from '../database/sql.ts'
import { forgetWorker, noteWorker } from '../database/workers.ts'
import { messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'
import { processLife } from '../process-name.ts'

const everyMs = 5_000

type PresenceOptions = { readonly db: Queryable; readonly version: string; readonly log: Logger }

/**
 * Begins immediately; disposing takes the worker off the list. If the database is down it tries again: the list is
 * not a reason to end.
 */
export function startPresence({ db, version, log }: PresenceOptions): AsyncDisposable {
  const worker = { id: processLife(), host: hostname(), pid: process.pid, version }
  const stopping = new AbortController()
  const trying = (work: Promise<void>): Promise<void> =>
    work.catch((error: unknown) => log.debug({ event: 'presence_not_noted', reason: messageOf(error) }))
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await trying(noteWorker(db, worker))
      await sleep(everyMs, stopping.signal).catch(() => undefined) // ends by the signal
    }
    await trying(forgetWorker(db, worker))
  }
  const looping = loop()
  return {
    [Symbol.asyncDispose]: () => {
      stopping.abort()
      return looping
    },
  }
}
