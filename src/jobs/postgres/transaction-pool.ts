// BullMQ on Postgres behind a transaction pooler: nothing set on a connection lasts longer than a transaction there, and
// nobody is notified. Each command runs in a transaction that sets the search path; workers ask instead of listening.

import { EventEmitter } from 'node:events'
import type { PgPool, PgPoolClient, PgQueryResult } from 'bullmq'
import type pg from 'pg'
import { inTransaction } from '../../database/database.ts'

/** Statements of BullMQ's listening connection, all of which set something for as long as a session lasts (BullMQ 6.7). */
const sessionState = /^(LISTEN |SELECT set_config\()/m

/** A pool as BullMQ may use it behind any pooler; directly on Postgres it would only be slower. */
export function transactionPool(pool: pg.Pool, schema: string): PgPool {
  const begin = (): string => `begin; set local search_path to ${schema}`
  const query = (text: string, values: readonly unknown[] = []): Promise<PgQueryResult> =>
    inTransaction(pool, (client) => client.query(text, [...values]), begin)
  // In place of the connection that BullMQ keeps for itself, to listen: it holds none, and hears nothing.
  const connect = async (): Promise<PgPoolClient> =>
    Object.assign(new EventEmitter(), {
      query: async (text: string, values?: readonly unknown[]) =>
        sessionState.test(text) ? { rows: [] } : await query(text, values),
      release: () => undefined,
    })
  return Object.assign(new EventEmitter(), { query, connect, end: () => pool.end() })
}
