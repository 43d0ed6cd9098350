// Waits for a requested sync, whichever process carries it out.

import { sleep } from '../clock.ts'
import { translateDatabaseError } from '../database/sql-states.ts'
import { BoatMirrorError } from '../errors.ts'

const pollMs = 500
/** A database that does not answer for this long ends the waiting. */
const patienceMs = 60_000

/**
 * Looks until what it sees is finished, and returns that.
 * @throws the signal's reason when aborted, BoatMirrorError when the database is gone for a minute.
 */
export async function awaitFinished<T extends { readonly finished: boolean }>(
  look: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  let answeredAt = performance.now()
  for (;;) {
    signal.throwIfAborted()
    try {
      const seen = await look()
      answeredAt = performance.now()
      if (seen.finished) return seen
    } catch (thrown) {
      const error = translateDatabaseError(thrown)
      const passing = error instanceof BoatMirrorError && error.kind === 'retry'
      if (!passing || performance.now() - answeredAt > patienceMs) throw error
    }
    await sleep(pollMs, signal)
  }
}
