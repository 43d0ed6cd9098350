// sync.webhook_deliveries: each attempt to deliver a call of the webhook, for the person who operates it. What is kept of
// them for how long, mirror/history.ts says.

import { sql } from 'kysely'
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

/** Notes an attempt that has just ended. */
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
  return await on(db)
    .selectFrom('sync.webhook_deliveries as d')
    .select([
      'sent_at as sentAt',
      'message_id as id',
      'changes',
      'status',
      'duration_ms as durationMs',
      'error',
      'after_cursor as afterCursor',
    ])
    .where('sent_at', '>', sql<Date>`clock_timestamp() - interval '7 days'`)
    .orderBy('d.id', 'desc')
    .limit(Math.min(limit, deliveriesKept))
    .execute()
}

/** The consumer's position before this call was first sent; undefined: the call is not among those stored. */
export async function placeBefore(db: Queryable, messageId: string): Promise<string | null | undefined> {
  const found = await on(db)
    .selectFrom('sync.webhook_deliveries')
    .select('after_cursor')
    .where('message_id', '=', messageId)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return found?.after_cursor
}
