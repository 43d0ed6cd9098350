// One request now, worked on in this process.

import { createRequest } from '../sync/due/requests.ts'
import { type SyncWorkerOptions, startSyncWorker } from './worker.ts'

type Wanted = { readonly streams: readonly string[]; readonly full: boolean }

/** Works on the request that `ask` creates, and on all other work, until `wait` for the request returns. */
export async function workOn<T>(
  options: SyncWorkerOptions,
  ask: () => Promise<string>,
  wait: (requestId: string) => Promise<T>,
): Promise<T> {
  await options.backend.ping() // a queue that is down is one message at once, not a minute of waiting
  const requestId = await ask()
  const worker = await startSyncWorker({ ...options, beginsAtOnce: true })
  try {
    return await wait(requestId)
  } finally {
    await worker.stop()
  }
}

/** A sync. */
export const syncNow = <T>(
  options: SyncWorkerOptions,
  wanted: Wanted,
  wait: (requestId: string) => Promise<T>,
): Promise<T> =>
  workOn(options, () => createRequest(options.context.database.pool, { trigger: 'command', ...wanted }), wait)
