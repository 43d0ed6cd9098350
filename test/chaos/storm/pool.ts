// Connections for those who watch a storm and take part in it: their server goes away again and again, on purpose.

import pg from 'pg'
import { sleep } from '../../../src/clock.ts'

/** A pool whose connections may break at any time: the query under way fails, the process does not. */
export function openStormPool(url: string, name: string, max: number, searchPath = 'public'): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    application_name: name,
    query_timeout: 60_000,
    connectionTimeoutMillis: 30_000,
    // What a partner relies on is its own business where the server's default is off.
    options: `-c timezone=UTC -c search_path=${searchPath} -c synchronous_commit=on`,
  })
  const ignore = (): void => {}
  pool.on('error', ignore)
  pool.on('connect', (client) => client.on('error', ignore))
  return pool
}

/** Asks until the server answers, a minute long: it may be recovering still. @throws what it was refused with in the end */
export async function askPatiently<Row extends pg.QueryResultRow>(pool: pg.Pool, sql: string): Promise<readonly Row[]> {
  for (const end = Date.now() + 60_000; ; )
    try {
      return (await pool.query<Row>(sql)).rows
    } catch (error) {
      if (Date.now() > end) throw error
      await sleep(200)
    }
}
