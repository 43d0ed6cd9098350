// Cancelled calls: waiting on a signal, and the error they end with.

import { ApiError, BoatMirrorError } from '../../errors.ts'

const waiting = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Calls `stop` when the signal is aborted. However many wait on it, the signal of a worker has one listener: to add and
 * remove one costs more than all else a request needs of it.
 * @returns what ends the waiting
 */
export function onAbort(signal: AbortSignal | undefined, stop: () => void): () => void {
  if (signal === undefined) return () => undefined
  const known = waiting.get(signal)
  const all = known ?? new Set<() => void>()
  if (known === undefined) {
    waiting.set(signal, all)
    signal.addEventListener('abort', () => [...all].forEach((each) => void each()), { once: true })
  }
  all.add(stop)
  return () => void all.delete(stop)
}

/** The error for a call whose signal was aborted; keeps the code of the reason if it is a BoatMirrorError. */
export function abortedCall(signal: AbortSignal, endpoint: string, sent: boolean): ApiError {
  const reason: unknown = signal.reason
  const code = reason instanceof BoatMirrorError ? reason.code : 'ABORTED'
  return new ApiError(code, `${endpoint} was aborted.`, { endpoint, cause: reason, mayHaveTakenEffect: sent })
}
