// How many changes are done, kept by differences: a statement that settles or deletes changes also records how many
// became done or were deleted. These are added up once an hour, and the total is verified once a day. All other
// states have few changes and an index.

import { type Database, withStatementTimeout } from '../database/database.ts'
import type { Queryable } from '../database/sql.ts'
import { messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'

/** Part of a statement: notes how many changes of `from` became done, or, counted as less than nothing, went. */
export const notingDone = (count: 'count(*)' | '-count(*)', from: string): string =>
  `insert into outbox.done_counts (count) select ${count} from ${from} having count(*) > 0`

/** How many changes are done. */
export async function doneChanges(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ done: number }>(
    'select coalesce(sum(count), 0)::float8 as done from outbox.done_counts',
  )
  return rows[0]?.done ?? 0
}

/** Adds up what was noted. */
const addUpSql = `with taken as (delete from outbox.done_counts returning count, proven_at)
  insert into outbox.done_counts (count, proven_at) select sum(count), max(proven_at) from taken having count(*) > 0`

/** One statement, so that both numbers are of the same moment. No other worker verifies at the same time. */
const proveSql = `with proven as (
    select (select count(*) from outbox.queue where status = 'done') - coalesce(sum(count), 0) as difference
    from outbox.done_counts having (max(proven_at) > clock_timestamp() - interval '1 day') is not true)
  insert into outbox.done_counts (count, proven_at) select difference, clock_timestamp() from proven
  returning count::float8 as difference`

/** A count reads the whole table: one that takes longer than this is left for the next hour. */
const provingMs = 2 * 60_000

/**
 * Adds up the recorded differences and, a day after the last time, counts. A deviation is corrected and logged: it
 * means that the queue was edited by hand.
 */
export async function keepDoneCount(database: Database, log: Logger): Promise<void> {
  try {
    const difference = await database.transaction(async (client) => {
      await client.query(`select pg_advisory_xact_lock(hashtext('boat-mirror.done-count'))`)
      const { rows } = await (await withStatementTimeout(client, provingMs)).query<{ difference: number }>(proveSql)
      await client.query(addUpSql)
      return rows[0]?.difference ?? 0
    })
    if (difference !== 0)
      log.warn(
        { event: 'changes_recounted', difference },
        `the count of done changes was off by ${Math.abs(difference)} and was corrected: changes were written or deleted outside Boat Mirror`,
      )
  } catch (error) {
    log.warn(
      { event: 'changes_not_counted', reason: messageOf(error) },
      'could not count the changes that are done; the next attempt is in an hour',
    )
  }
}
