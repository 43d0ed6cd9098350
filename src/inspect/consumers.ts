// The consumers of the change feed, and which are about to lose, or have lost, changes to retention.

import type { Queryable } from '../database/sql.ts'
import { duration } from '../format.ts'

export type ConsumerStatus = {
  readonly name: string
  readonly registeredAt: Date
  readonly ackedAt: Date | null
  /** Age of the oldest change that it has not acknowledged; 0: there is none. */
  readonly behindS: number
  /** `late`: behind by more than half of HISTORY_DAYS. `lost`: what it had not acknowledged is gone. */
  readonly state: 'following' | 'late' | 'lost'
}

/** All consumers, by name. */
export async function consumerStatus(db: Queryable, historyDays: number): Promise<readonly ConsumerStatus[]> {
  const { rows } = await db.query<Omit<ConsumerStatus, 'state'> & { lost: boolean }>(
    `select name, registered_at as "registeredAt", acked_at as "ackedAt", extract(epoch from behind)::float8 as "behindS", lost
     from sync.consumers order by name`,
  )
  const lateS = (historyDays * 86_400) / 2
  return rows.map(({ lost, ...consumer }) => ({
    ...consumer,
    state: lost ? 'lost' : consumer.behindS > lateS ? 'late' : 'following',
  }))
}

/** What a late or lost consumer needs, in words. */
export function describeConsumer({ name, behindS, state }: ConsumerStatus): string {
  const drop = `or delete the consumer with: select mirror.drop_consumer('${name}')`
  return state === 'lost'
    ? `The consumer ${name} lost changes: they were deleted before it acknowledged them. Restart it with: select mirror.reset_consumer('${name}', 'now'), and copy the tables it needs; ${drop}`
    : `The consumer ${name} has not acknowledged changes for ${duration(behindS)}. They are deleted after HISTORY_DAYS. Start the reader of this consumer, ${drop}`
}
