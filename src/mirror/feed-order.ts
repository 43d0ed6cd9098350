// Keeps the changes of one record in their order in the feed. The feed goes by transaction id, and ids are given when a
// transaction first writes: one that began earlier may come to a record after a later one, which had committed by then.

import type { PoolClient } from 'pg'

/** Whether changes of transactions with later ids have committed while this one was under way. */
const overtakenSql = `select from mirror.change_log c
  where c.epoch = (select mirror.feed_epoch()) and c.xid > pg_current_xact_id() limit 1`

/**
 * Own changes of a record move to the place of the last of those that came before them. They are given only when that
 * transaction is past, and this one, being older, is past then, too: nothing can be skipped. One sort finds them: a join
 * of two sets of which Postgres knows nothing may compare each with each. Postgres 14 has no max of transaction ids, which
 * stay far below the largest bigint.
 */
const moveSql = `with moved as (
    select c.seq, c.xid, max(c.xid::text::bigint) filter (where c.xid > pg_current_xact_id())
      over (partition by c.stream, c.key order by c.seq) as last
    from mirror.change_log c
    where c.epoch = (select mirror.feed_epoch()) and c.xid >= pg_current_xact_id())
  update mirror.change_log c set xid = m.last::text::xid8 from moved m
  where c.seq = m.seq and m.xid = pg_current_xact_id() and m.last is not null`

/** Call it after writing, in the transaction that wrote (read committed), while its locks keep others off the records. */
export async function keepFeedOrder(client: PoolClient): Promise<void> {
  // Mostly nobody has: one look into the index.
  const { rowCount } = await client.query(overtakenSql)
  if (rowCount !== 0) await client.query(moveSql)
}
