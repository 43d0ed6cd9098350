// One sync now, worked on in this process.

import { createRequest } from '../state/requests.ts'
import { type SyncWorkerOptions, startSyncWorker } from './worker.ts'

type Wanted = { readonly streams: readonly string[]; readonly full: boolean }

/** Asks for a sync, and works on it, as on whatever else is asked for, until `wait` for the request is over. */
export async function syncNow<T>(
  options: SyncWorkerOptions,
  wanted: Wanted,
  wait: (requestId: string) => Promise<T>,
): Promise<T> {
  await options.backend.ping() // a queue that is down is one message at once, not a minute of waiting
  const requestId = await createRequest(options.context.database.pool, { trigger: 'command', ...wanted })
  const worker = await startSyncWorker({ ...options, beginsAtOnce: true })
  try {
    return await wait(requestId)
  } finally {
    await worker.stop()
  }
}
