// What the client needs of a rate limiter. The one counted over all workers stands in shared-limiter.ts.

export type Priority = 'write' | 'read'

export interface Limiter {
  /** Resolves when one request may leave, writes before reads; rejects with the signal's reason when aborted. */
  acquire(priority: Priority, signal?: AbortSignal): Promise<void>
}

/** A limiter that lets everything pass at once (API_RATE_LIMIT=0). */
export const unlimited: Limiter = {
  acquire: async (_priority, signal) => signal?.throwIfAborted(),
}
