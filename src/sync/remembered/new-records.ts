// The state of new records goes into sync.records by COPY: an upsert writes a second entry to the write-ahead log for
// each row, only to confirm the first.

import type { PoolClient, QueryResult } from 'pg'
import { copyRows, copyText } from '../../database/copy.ts'
import { isUniqueViolation } from '../../database/sql-states.ts'
import { compareStates, isKept, type RecordState } from '../../mirror/records.ts'

/** Fewer are not worth the statements around a COPY. */
const fewestCopied = 50

function* linesOf(states: readonly RecordState[], now: Date): Generator<string> {
  const moment = now.toISOString()
  for (const { stream, key, listHash = null, projection, listed } of states)
    yield `${stream}\t${copyText(key)}\t${copyText(listHash)}\t${projection ?? 0}\t${moment}\t${copyText(listed ? moment : null)}\n`
}

/**
 * Remembers the new ones of some states, in the caller's transaction.
 * @returns those that `saveRecords` is to remember: all of them where one of the new ones is there by now, or row level
 *   security holds this role, from which Postgres takes no COPY then.
 */
export async function insertNewRecords(
  client: PoolClient,
  states: readonly RecordState[],
): Promise<readonly RecordState[]> {
  const { found, others } = newOnes(states)
  if (found.length < fewestCopied) return states
  const begun = await client.query(
    `savepoint new_records; select clock_timestamp() as now, row_security_active('sync.records') as secured`,
  )
  // Of several statements pg gives several results, which its types do not say.
  const [, { rows }] = begun as unknown as readonly [unknown, QueryResult<{ now: Date; secured: boolean }>]
  if (rows[0]?.secured === true) {
    await client.query('release savepoint new_records')
    return states
  }
  try {
    const statement = 'copy sync.records (stream, key, list_hash, projection, changed_at, listed_at) from stdin'
    await copyRows(client, statement, linesOf(found, rows[0]?.now ?? new Date(0)))
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    await client.query('rollback to savepoint new_records')
    return states
  }
  await client.query('release savepoint new_records')
  return others
}

/** New records that occur once, in the order of their keys. */
function newOnes(states: readonly RecordState[]): {
  readonly found: readonly RecordState[]
  readonly others: readonly RecordState[]
} {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const state of states) {
    const id = idOf(state)
    if (seen.has(id)) repeated.add(id)
    else seen.add(id)
  }
  const found: RecordState[] = []
  const others: RecordState[] = []
  for (const state of states)
    (state.isNew === true && !repeated.has(idOf(state)) && isKept(state) ? found : others).push(state)
  return { found: found.sort(compareStates), others }
}

const idOf = ({ stream, key }: RecordState): string => `${stream} ${key}`
