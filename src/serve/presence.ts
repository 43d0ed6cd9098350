// Records every five seconds that this process serves, and what it answered lately, until it ends.

import { hostname } from 'node:os'
import { packageVersion } from '../api/wire/request.ts'
import { sleep } from '../clock.ts'
import { forgetServer, noteServer } from '../database/servers.ts'
import type { Queryable } from '../database/sql.ts'
import { messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'
import { processLife } from '../process-name.ts'
import type { RecentAnswers } from './recent.ts'

const everyMs = 5_000

type Options = {
  readonly db: Queryable
  readonly log: Logger
  /** Where it listens. */
  readonly address: string
  readonly recent: RecentAnswers
}

/** Begins immediately; disposing takes the server off the list. If the database is down it tries again. */
export function startServerPresence({ db, log, address, recent }: Options): AsyncDisposable {
  const server = { id: processLife(), host: hostname(), pid: process.pid, version: packageVersion(), address }
  const stopping = new AbortController()
  const trying = (work: Promise<void>): Promise<void> =>
    work.catch((error: unknown) => log.debug({ event: 'presence_not_noted', reason: messageOf(error) }))
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await trying(noteServer(db, { ...server, ...recent.sum() }))
      await sleep(everyMs, stopping.signal).catch(() => undefined) // ends by the signal
    }
    await trying(forgetServer(db, server.id))
  }
  const looping = loop()
  return {
    [Symbol.asyncDispose]: () => {
      stopping.abort()
      return looping
    },
  }
}
