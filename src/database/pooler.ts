// Is there a connection pooler (PgBouncer and its like) between us and Postgres, and does it keep sessions?

import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { BoatMirrorError } from '../errors.ts'
import { shownAddress } from '../text.ts'
import { keepsPrepared, openClient, withClient } from './session.ts'
import { translateDatabaseError } from './sql-states.ts'

/**
 * `none`: Postgres itself, or a transparent proxy, such as a TCP proxy. `session`: a pooler that assigns a server
 * connection to a client until it disconnects. `transaction`: one that takes it away after each transaction, so that
 * nothing set on it lasts, and notifications do not arrive.
 */
export type Pooling = 'none' | 'session' | 'transaction'

/** A pooler hands out the connection that it got back last: that two clients never meet needs others in between each time. */
const rounds = 20

const optionsOf = (url: string) => ({ url, applicationName: 'boat-mirror check of the pooler' })

async function backendPid(client: pg.Client): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid
}

/**
 * Do two clients, asked in turn, get server processes that change or meet? Where each keeps its own for the session they
 * never do. Asks only: what is set by a question may stay on a connection that others are given next.
 */
async function shareProcesses(first: pg.Client, second: pg.Client): Promise<boolean> {
  const own = await backendPid(first)
  const others = await backendPid(second)
  for (let round = 0; round < rounds && own !== others; round++)
    if ((await backendPid(first)) !== own || (await backendPid(second)) !== others) return true
  return own === others
}

/**
 * Finds out with two connections which pooling is in front of the database.
 * @throws BoatMirrorError DATABASE_* that names `setting`.
 */
export async function poolingOf(url: string, setting: 'DATABASE_URL' | 'DATABASE_DIRECT_URL'): Promise<Pooling> {
  const opened: pg.Client[] = []
  try {
    const first = await openClient(optionsOf(url))
    opened.push(first)
    if (keepsPrepared(first)) return 'none'
    const second = await openClient(optionsOf(url))
    opened.push(second)
    return (await shareProcesses(first, second)) ? 'transaction' : 'session'
  } catch (error) {
    throw translateDatabaseError(error, url, setting)
  } finally {
    for (const client of opened) await client.end()
  }
}

/**
 * Both addresses must lead to one database: a lock taken through one must be seen through the other. Ids would not do: a
 * copy of the cluster has the same.
 * @throws BoatMirrorError CONFIG_INVALID, DATABASE_*.
 */
export async function assertSameDatabase(url: string, directUrl: string): Promise<void> {
  const key = randomBytes(8).readBigInt64BE().toString()
  const take = 'select pg_try_advisory_xact_lock($1::bigint) as free'
  const direct = await openClient(optionsOf(directUrl)).catch((error: unknown) => {
    throw translateDatabaseError(error, directUrl, 'DATABASE_DIRECT_URL')
  })
  try {
    await direct.query('begin')
    await direct.query(take, [key])
    const look = (client: pg.Client) => client.query<{ free: boolean }>(take, [key])
    const { rows } = await withClient(optionsOf(url), look).catch((error: unknown) => {
      throw translateDatabaseError(error, url)
    })
    if (rows[0]?.free !== false) throw otherDatabase(url, directUrl)
  } finally {
    await direct.end() // and with it the transaction and its lock
  }
}

const otherDatabase = (url: string, directUrl: string): BoatMirrorError =>
  new BoatMirrorError(
    'CONFIG_INVALID',
    `DATABASE_DIRECT_URL (${shownAddress(directUrl)}) leads to another database than DATABASE_URL (${shownAddress(url)}).`,
    {
      remedy: 'Set DATABASE_DIRECT_URL to the Postgres behind the pooler of DATABASE_URL, with the same database name.',
    },
  )
