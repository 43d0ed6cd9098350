// The batch in flight. It is stored before it is sent, so that a repeat is the same message, and removed in the transaction that
// acknowledges its changes. It belongs to the consumer's position: a reset of the consumer ends it.

import { randomUUID } from 'node:crypto'
import type { PoolClient } from 'pg'
import type { Database } from '../../database/database.ts'
import { holdLease, type Lease, noteDelivered } from '../../database/senders.ts'
import { webhookConsumer } from '../../inspect/feed.ts'
import { placeOf } from '../../mirror/follow.ts'
import type { Privacy } from '../../privacy/privacy.ts'
import { batchOf, batchSize, type ReadEntry, type Selection } from './batch.ts'

export type StoredBatch = {
  readonly id: string
  readonly changes: number
  readonly body: string
  /** The consumer's position before it; null: the start. */
  readonly afterCursor: string | null
  readonly endCursor: string
}

/** The webhook-id of a new call. */
export const newMessageId = (): string => `msg_${randomUUID().replaceAll('-', '')}`

/** `lost`: the consumer has lost changes and must be reset. `skipped`: the changes were not for the receiver. */
type Next = { readonly kind: 'batch'; readonly batch: StoredBatch } | { readonly kind: 'lost' | 'skipped' | 'nothing' }

type Batching = {
  readonly selection: Selection
  readonly most?: number
  /** Refuses to store a batch under outdated rules for personal data. */
  readonly privacy?: Pick<Privacy, 'assertCurrent'> | undefined
}

/**
 * The batch to send next: the one in flight, else a new one of at most `most` changes. Registers a missing consumer at the end of the
 * feed.
 * @throws BoatMirrorError LEASE_LOST, PRIVACY_DIFFERS
 */
export async function nextBatch(
  database: Database,
  lease: Lease,
  { selection, most = batchSize, privacy }: Batching,
): Promise<Next> {
  const { rows: known } = await database.pool.query<StoredBatch & { lost: boolean }>(
    `select c.lost, b.id, b.changes, b.body, b.after_cursor as "afterCursor", b.end_cursor as "endCursor"
     from sync.consumers c left join sync.webhook_batch b on b.after_cursor is not distinct from c.cursor
       and (mirror.cursor_parts(b.end_cursor))[1] = mirror.feed_epoch()::text
     where c.name = $1`,
    [webhookConsumer],
  )
  const [present] = known
  if (present?.lost) return { kind: 'lost' }
  if (present !== undefined && present.id !== null) return { kind: 'batch', batch: present }
  if (present === undefined) await placeOf(database.pool, { consumer: webhookConsumer, from: 'now' })
  return await database.transaction(async (client) => {
    await privacy?.assertCurrent(client)
    return await makeBatch(client, lease, { selection, most })
  })
}

async function makeBatch(
  client: PoolClient,
  lease: Lease,
  { selection, most }: { readonly selection: Selection; readonly most: number },
): Promise<Next> {
  // Erasing a person waits here, or has finished before the log is read (mirror/redact.ts).
  await holdLease(client, lease)
  // A reset of the consumer waits until the batch is stored, or is done before the log is read: a batch belongs to one position.
  const { rows } = await client.query<{ now: Date; after: string | null }>(
    `select clock_timestamp() as now, '1.' || epoch || '.' || xid || '.' || seq as after
     from sync.consumer_positions where name = $1 for update`,
    [webhookConsumer],
  )
  const { now = new Date(), after = null } = rows[0] ?? {}
  const { rows: entries } = await client.query<ReadEntry>(
    `select cursor, seq, stream, key::text as key, operation, changed_at as "changedAt",
       case when $3::jsonb ? stream then (diff - array(select jsonb_array_elements_text($3::jsonb -> stream)))::text end as diff
     from mirror.next_changes($1, $2)`,
    [webhookConsumer, most, JSON.stringify(selection)],
  )
  if (entries.length === 0) return { kind: 'nothing' }
  const { endCursor, changes, body } = batchOf(entries, now)
  if (changes === 0) {
    await client.query('select mirror.ack_changes($1, $2)', [webhookConsumer, endCursor])
    return { kind: 'skipped' }
  }
  const id = newMessageId()
  // A stored batch belongs to an earlier position.
  await client.query(
    `insert into sync.webhook_batch (id, after_cursor, end_cursor, changes, body) values ($1, $2, $3, $4, $5)
     on conflict (only_one) do update set id = excluded.id, after_cursor = excluded.after_cursor,
       end_cursor = excluded.end_cursor, changes = excluded.changes, body = excluded.body, made_at = clock_timestamp()`,
    [id, after, endCursor, changes, body],
  )
  return { kind: 'batch', batch: { id, changes, body, afterCursor: after, endCursor } }
}

/**
 * Acknowledges an accepted batch. If it was given up meanwhile (a person was erased, the consumer was reset, another worker sends), its
 * changes are sent again, as another message.
 */
export async function acknowledge(database: Database, lease: Lease, batch: StoredBatch): Promise<void> {
  await database.transaction(async (client) => {
    if (!(await noteDelivered(client, lease, batch.changes))) return
    await client.query('select from sync.consumer_positions where name = $1 for update', [webhookConsumer])
    const { rowCount } = await client.query(
      `delete from sync.webhook_batch b using sync.consumers c
       where b.id = $1 and c.name = $2 and b.after_cursor is not distinct from c.cursor and not c.lost`,
      [batch.id, webhookConsumer],
    )
    if (rowCount === 1) await client.query('select mirror.ack_changes($1, $2)', [webhookConsumer, batch.endCursor])
  })
}

/** Gives up a batch that is too large for the receiver. The next one is another message. */
export async function giveUp(database: Database, { id }: StoredBatch): Promise<void> {
  await database.pool.query('delete from sync.webhook_batch where id = $1', [id])
}
