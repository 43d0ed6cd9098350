// Counts that are kept by differences: the live rows of each table, and the changes that are done. Each transaction
// that changes one also records the difference. The end of a run adds up those of rows, and once an hour a worker
// adds up those of changes. Once a day each count is verified.

import { streamNamed } from '../catalog/catalog.ts'
import { type Database, withStatementTimeout } from '../database/database.ts'
import { identifier, isStub, type Queryable } from '../database/sql.ts'
import { messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'

/** Notes by how many live rows each stream's table grew, in the transaction that wrote them. */
export async function noteRowChanges(db: Queryable, differences: ReadonlyMap<string, number>): Promise<void> {
  const changed = [...differences].filter(([, difference]) => difference !== 0)
  if (changed.length === 0) return
  await db.query(
    'insert into sync.row_changes (stream, difference) select * from unnest($1::text[], $2::bigint[]) as g(stream, difference)',
    [changed.map(([stream]) => stream), changed.map(([, difference]) => difference)],
  )
}

/** The same as part of a statement: what was deleted for good from a stream's table, `gone` as it was returned. */
export const notingGone = (stream: string, gone: string): string =>
  `insert into sync.row_changes (stream, difference)
   select '${stream}', -count(*) from ${gone} where _deleted_at is null having count(*) > 0`

/** Adds up what was noted. */
export async function addUpRowChanges(db: Queryable): Promise<void> {
  await db.query(
    `with taken as (delete from sync.row_changes returning stream, difference),
       sums as (select stream, sum(difference) as difference from taken group by stream),
       locked as (select s.stream from sync.streams s where s.stream in (select stream from sums) order by s.stream for no key update)
     update sync.streams s set rows = s.rows + sums.difference from sums join locked using (stream) where s.stream = sums.stream`,
  )
}

/** What is kept of a stream's count: that of the last time it was added up, and what came since. */
const keptRows = `s.rows + (select coalesce(sum(difference), 0) from sync.row_changes c where c.stream = s.stream)`

/** Live rows of a stream, without stubs. */
export async function liveRows(db: Queryable, stream: string): Promise<number> {
  const { rows } = await db.query<{ live: number }>(
    `select (${keptRows} - (select count(*) from mirror.${identifier(stream)} m
       where _deleted_at is null and ${isStub('m')}))::float8 as live from sync.streams s where s.stream = $1`,
    [stream],
  )
  return rows[0]?.live ?? 0
}

/** A count reads a whole table: one that takes longer than this is left for the next time. */
const provingMs = 2 * 60_000

/**
 * Counts the tables that have not been counted for a day, one at a time, and corrects the stored count. A deviation
 * is logged, because it means that rows were changed outside of the mirror. Two callers never count the same table.
 */
export async function proveRowCounts(database: Database, log: Logger): Promise<void> {
  for (;;) {
    const { rows } = await database.pool.query<{ stream: string }>(
      `update sync.streams set rows_proven_at = clock_timestamp() where stream = (
         select stream from sync.streams where (rows_proven_at > clock_timestamp() - interval '1 day') is not true
         order by stream limit 1 for no key update skip locked) returning stream`,
    )
    const [due] = rows
    if (due === undefined) return
    try {
      await prove(database, streamNamed(due.stream).name, log)
    } catch (error) {
      const facts = { event: 'rows_not_counted', stream: due.stream, reason: messageOf(error) }
      log.warn(facts, 'could not count the rows of a table; the next attempt is tomorrow')
    }
  }
}

async function prove(database: Database, stream: string, log: Logger): Promise<void> {
  await database.transaction(async (client) => {
    // One statement: what is counted and what is kept are of the same moment.
    const { rows } = await (await withStatementTimeout(client, provingMs)).query<{ kept: number; counted: number }>(
      `select (${keptRows})::float8 as kept, (select count(*) from mirror.${identifier(stream)} where _deleted_at is null)::float8 as counted
       from sync.streams s where s.stream = $1`,
      [stream],
    )
    const { kept, counted } = rows[0] ?? { kept: 0, counted: 0 }
    if (kept === counted) return
    await noteRowChanges(client, new Map([[stream, counted - kept]]))
    log.warn(
      { event: 'rows_recounted', stream, kept, counted },
      `${stream}: counted ${counted} live rows instead of ${kept}, and corrected the count. Rows were added or deleted outside Boat Mirror.`,
    )
  })
}

/** Part of a statement: notes how many changes of `from` became done, or, counted as less than nothing, went. */
export const notingDone = (count: 'count(*)' | '-count(*)', from: string): string =>
  `insert into outbox.done_counts (count) select ${count} from ${from} having count(*) > 0`

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
