// BullMQ on Postgres or on Redis behind one factory.

import type { BackendOptions, QueueBackend } from './backend-types.ts'
import { postgresBackend } from './postgres/backend.ts'
import { redisBackend } from './redis/backend.ts'

export { migrateQueue } from './postgres/queue-tables.ts'

/** Opens the backend that the configuration names: Redis when there is a `redisUrl`, else Postgres. */
export function openBackend(options: BackendOptions): QueueBackend {
  return options.redisUrl === null ? postgresBackend(options) : redisBackend(options, options.redisUrl)
}
