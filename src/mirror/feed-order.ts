// Keeps the changes of one record in their order in the feed. The feed goes by transaction id, and ids are given when a
// transaction first writes: one that began earlier may come to a record after a later one, which had committed by then.

import type { PoolClient } from 'pg'

/** Changes of transactions with later ids that have committed while this one was under way. */
const overtakers = `from mirror.change_log c
  where c.epoch = (select mirror.feed_epoch()) and c.xid > pg_current_xact_id()`

/**
 * Own changes of a record move to the place of the last of those that came before them. They are given only when that
 * transaction is past, and this one, being older, is past then, too: nothing can be skipped.
 */
const moveSql = `with overtaking as materialized (select c.stream, c.key, c.seq, c.xid ${overtakers}),
  moved as (
    select own.seq, max(o.xid) as xid from mirror.change_log own
    join overtaking o on o.stream = own.stream and o.key = own.key and o.seq < own.seq
    where own.epoch = (select mirror.feed_epoch()) and own.xid = pg_current_xact_id() group by own.seq)
  update mirror.change_log c set xid = m.xid from moved m where c.seq = m.seq`

/** Call it after writing, in the transaction that wrote (read committed), while its locks keep others off the records. */
export async function keepFeedOrder(client: PoolClient): Promise<void> {
  // Mostly nobody has: one look into the index.
  const { rowCount } = await client.query(`select ${overtakers} limit 1`)
  if (rowCount !== 0) await client.query(moveSql)
}
