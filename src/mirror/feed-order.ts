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

/** Call it after writing, in the transaction that wrote (read committed), while its locks keep others off the records. */
export const keepFeedOrder = async (client: PoolClient): Promise<void> =>
  void (await client.query('select mirror.keep_feed_order()'))
