// What a transaction waits for: locks that others hold are named while it waits, and a signal ends the wait.

import { setTimeout as sleepFor } from 'node:timers/promises'
import type pg from 'pg'
import { messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'

type WatchOptions = {
  /** Another connection of it looks on, from the first second that `client` waits. */
  readonly pool: pg.Pool
  /** In a transaction: behind a pooler only that keeps it on one server process. */
  readonly client: pg.ClientBase
  /** The waiting work, as the message names it. */
  readonly what: string
  readonly log: Logger
  readonly signal: AbortSignal | undefined
}

type Holder = {
  readonly pid: number
  readonly name: string | null
  readonly user: string | null
  readonly since: Date | null
}

const checkMs = 1_000

// For sessions of other roles Postgres may show only the process id.
const holdersQuery = `select h.pid, a.application_name as name, a.usename as user, a.xact_start as since
  from unnest(pg_blocking_pids($1)) h (pid) left join pg_stat_activity a on a.pid = h.pid order by h.pid`

const described = ({ pid, name, user, since }: Holder): string =>
  [`pid ${pid}`, name && `application ${name}`, user && `user ${user}`, since && `since ${since.toISOString()}`]
    .filter(Boolean)
    .join(', ')

/**
 * Runs `work`, the statements of `client`. While it waits for a lock, reports once who holds it. An aborted signal
 * cancels the running statement.
 * @throws the signal's reason when it was aborted, else what `work` threw.
 */
export async function watchLocks<T>(options: WatchOptions, work: () => Promise<T>): Promise<T> {
  const { client, signal } = options
  signal?.throwIfAborted()
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const done = new AbortController()
  const watching = watch(options, rows[0]?.pid ?? 0, done.signal)
  try {
    return await work()
  } catch (error) {
    throw signal?.aborted ? signal.reason : error
  } finally {
    done.abort()
    await watching
  }
}

async function watch(options: WatchOptions, pid: number, done: AbortSignal): Promise<void> {
  const { pool, what, log, signal } = options
  let said = ''
  for (;;) {
    const woken = signal === undefined || signal.aborted ? done : AbortSignal.any([done, signal])
    await sleepFor(checkMs, undefined, { signal: woken }).catch(() => undefined) // ends by either signal
    if (done.aborted) return
    try {
      if (signal?.aborted) await pool.query('select pg_cancel_backend($1)', [pid])
      else said = await sayHolders(options, pid, said)
    } catch (error) {
      log.debug({ event: 'lock_wait_unknown', reason: messageOf(error) }, `what ${what} waits for cannot be seen`)
    }
  }
}

async function sayHolders({ pool, what, log }: WatchOptions, pid: number, said: string): Promise<string> {
  const { rows } = await pool.query<Holder>(holdersQuery, [pid])
  const holders = rows.map(described).join('; ')
  if (holders !== '' && holders !== said)
    log.warn({ event: 'waiting_for_lock', pids: rows.map((row) => row.pid) }, `${what} waits for a lock of ${holders}`)
  return holders === '' ? said : holders
}
