// The feed's order: `mirror.changes_since` gives the change log by (transaction id, seq), and only transactions before the
// oldest running one. So a late commit is never skipped. But a transaction gets its id with its first write, and may reach
// a record after a later transaction that has committed by then. This file keeps the changes of one record in their order.
//
// Example: transaction 700 writes harbour 9 (seq 40) and continues. Meanwhile 705 writes rental 7 (seq 41) and commits.
// Then 700 writes rental 7, too (seq 42), and commits. Unchanged, the feed would give 40, 42, 41, and its reader would end
// with the values of 705 for rental 7, although the table holds those of 700.
//   before 700 commits, it finds changes of later transactions in the log: 705 has overtaken it
//   its change of rental 7 moves to 705, the last one before it there:        (700, 40) (705, 41) (705, 42)
//   its change of harbour 9, which no other transaction wrote, stays at 700
// While 700 is running, the feed gives neither 700 nor 705, so no reader is past the position to which the change moves.
// And 700 still holds the lock of rental 7, so that no other transaction writes it in between.

import type { PoolClient } from 'pg'

/** Whether transactions with later ids have committed changes while this one was running. */
const overtakenSql = `select from mirror.change_log c
  where c.epoch = (select mirror.feed_epoch()) and c.xid > pg_current_xact_id() limit 1`

/**
 * Own changes of a record move to the place of the last of those that came before them. They are given only when that
 * transaction is past, and this one, being older, is past then, too: nothing can be skipped. One sort finds them: a join
 * of two sets of which Postgres knows nothing may compare each with each. Postgres 14 has no max of transaction ids, which
 * stay far below the largest bigint.
 */
const moveSql = `with moved as (
    select c.seq, c.changed_at, c.xid, max(c.xid::text::bigint) filter (where c.xid > pg_current_xact_id())
      over (partition by c.stream, c.key order by c.seq) as last
    from mirror.change_log c
    where c.epoch = (select mirror.feed_epoch()) and c.xid >= pg_current_xact_id())
  update mirror.change_log c set xid = m.last::text::xid8 from moved m
  where c.seq = m.seq and c.changed_at = m.changed_at and m.xid = pg_current_xact_id() and m.last is not null`

/** Call it after writing, in the transaction that wrote (read committed), while its locks keep others off the records. */
export async function keepFeedOrder(client: PoolClient): Promise<void> {
  // Usually none has: one index lookup.
  const { rowCount } = await client.query(overtakenSql)
  if (rowCount !== 0) await client.query(moveSql)
}
