// What a database role may do.

import type { Pool, PoolClient } from 'pg'

/** Runs as a role, in one transaction, which is rolled back where it throws. */
export async function asRole<T>(
  pool: Pool,
  role: string,
  work: (client: PoolClient) => Promise<T>,
  end: 'commit' | 'rollback' = 'commit',
): Promise<T> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query(`set local role ${role}`)
    const result = await work(client)
    await client.query(end)
    return result
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}

/** The SQLSTATE of a refusal, to catch it with. */
export const stateOf = (error: unknown): string => String((error as { readonly code?: string }).code)
