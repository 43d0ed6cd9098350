// A call of the API as its client tells of it, for those who count calls.

import type { ApiError } from '../errors.ts'

export type ObservedCall = {
  /** Method and path template. */
  readonly endpoint: string
  /** null: no answer came. */
  readonly status: number | null
  readonly startedAt: Date
  readonly ms: number
  /** Decoded size of the answer. */
  readonly bytes: number
  readonly error: ApiError | null
}

/** 404 and 410 are answers (an optional document, a record that is gone), not failures. */
export const isFailure = ({
  status,
  error,
}: {
  readonly status: number | null
  readonly error: Error | null
}): boolean => error !== null && status !== 404 && status !== 410
