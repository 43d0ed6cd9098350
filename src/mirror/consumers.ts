// Consumers of the feed: readers whose position the mirror stores, so that a change is acknowledged in the
// transaction in which it is applied. Reading moves nothing. Retention waits for no consumer: a trigger on the change
// log marks as lost each consumer with unacknowledged entries, in the transaction that deletes them.

import type { RepeatableStep } from '../database/repeatable-step.ts'
import consumers from './consumers.sql'

/** What consumers call, and what marks those that have lost something. */
export const consumerFunctions: RepeatableStep = { name: 'consumer-functions', sql: consumers }

/** The consumers for who reads them as a table. */
export const consumersView: RepeatableStep = {
  name: 'consumers-view',
  views: [
    {
      schema: 'sync',
      name: 'consumers',
      comment: 'The consumers of mirror.next_changes, and what each has acknowledged.',
      columns: {
        name: ['c.name', 'Name of the consumer.'],
        cursor: [`'1.' || c.epoch || '.' || c.xid || '.' || c.seq`, 'The last change acknowledged; null: the start.'],
        registered_at: ['c.registered_at', 'When it was registered.'],
        acked_at: ['c.acked_at', 'When it last acknowledged changes.'],
        behind: [
          `coalesce(clock_timestamp() - mirror.waiting_since('1.' || c.epoch || '.' || c.xid || '.' || c.seq), '0')`,
          'Age of the oldest change that waits for it.',
        ],
        lost: ['c.lost', 'True if changes older than HISTORY_DAYS were removed before it acknowledged them.'],
      },
      source: `from sync.consumer_positions c where (select company_access.visible()) is null or c.role = (select company_access.partner())`,
    },
  ],
  sql: '',
}
