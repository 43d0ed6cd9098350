// sync.webhook_deliveries: each attempt to deliver a call of the webhook, for the person who operates it. What is kept of
// them for how long, mirror/history.ts says.

import { inMs, on, type Queryable } from '../database/sql.ts'
import { deliveriesKept } from './history.ts'

export type Delivery = {
  /** The webhook-id; a repeat has the same one. */
  readonly id: string
  readonly changes: number
  /** What the receiver answered; null: no answer. */
  readonly status: number | null
  readonly durationMs: number
  /** Why the attempt failed, in our words; null: the receiver accepted the call. */
  readonly error: string | null
  /** A replay from here sends the call again; null: from the start. */
  readonly afterCursor: string | null
}

export async function noteDelivery(db: Queryable, delivery: Delivery): Promise<void> {
  const { id, changes, status, durationMs, error, afterCursor } = delivery
  await on(db)
    .insertInto('sync.webhook_deliveries')
    .values({
      sent_at: inMs(-durationMs),
      message_id: id,
      changes,
      status,
      duration_ms: durationMs,
      error,
      after_cursor: afterCursor,
    })
    .execute()
}

export type ListedDelivery = Delivery & { readonly sentAt: Date }

/** The last attempts of a week, newest first. */
export async function listDeliveries(db: Queryable, limit: number): Promise<readonly ListedDelivery[]> {
  const { rows } = await db.query<ListedDelivery>(
    `select sent_at as "sentAt", message_id as id, changes, status, duration_ms as "durationMs", error, after_cursor as "afterCursor"
     from sync.webhook_deliveries d where sent_at > clock_timestamp() - interval '7 days' order by d.id desc limit $1`,
    [Math.min(limit, deliveriesKept)],
  )
  return rows
}

/** The consumer's position before this call was first sent; undefined: the call is not among those stored. */
export async function placeBefore(db: Queryable, messageId: string): Promise<string | null | undefined> {
  const { rows } = await db.query<{ cursor: string | null }>(
    'select after_cursor as cursor from sync.webhook_deliveries where message_id = $1 order by id limit 1',
    [messageId],
  )
  return rows[0]?.cursor
}
