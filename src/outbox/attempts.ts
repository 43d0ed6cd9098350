// When a change is sent or verified again: backoff with jitter, deadlines, the wait after a lost creation. Pure.

import { backoffMs } from '../clock.ts'

/** 15 minutes: a pending rental expires then (docs/sources.md, guides/RentalWorkflow). */
export const pendingRentalMs = 15 * 60_000

const backoff = { firstMs: 1_000, longestMs: 60_000 }
const verifying = { firstMs: 1_000, longestMs: 5_000, jitter: 0.25 }
const deadlineMarginMs = 2_000 // the last attempt before a deadline still has time to arrive

type NextAttempt = {
  /** Attempts so far, at least 1. */
  readonly attempts: number
  /** From 0 to 1. */
  readonly random: number
  /** Milliseconds that the API asked for. */
  readonly retryAfterMs?: number | undefined
  /** Milliseconds until the record expires upstream; absent: it does not. */
  readonly deadlineInMs?: number | undefined
}

/**
 * Milliseconds to the next attempt: 1 s, 2 s, 4 s … up to 60 s, up to a half less, and not after the deadline of a pending rental. If the
 * API asks for a wait: that and up to a second more, to spread the requests.
 */
export function nextDelayMs({ attempts, random, retryAfterMs = 0, deadlineInMs }: NextAttempt): number {
  if (retryAfterMs > 0) return Math.round(retryAfterMs + backoff.firstMs * random)
  const left = deadlineInMs === undefined || deadlineInMs <= 0 ? Number.POSITIVE_INFINITY : deadlineInMs
  return Math.round(Math.min(backoffMs(attempts, backoff, random), Math.max(0, left - deadlineMarginMs)))
}

/** Milliseconds to the next verification of a change whose fate is unknown: 1 s, 2 s, 4 s, then every 5 s, with jitter. */
export const nextVerificationMs = (verifications: number, random: number): number =>
  Math.round(backoffMs(verifications + 1, verifying, random))

type Again = {
  /** Milliseconds from the attempt, or the error that ended it, to the start of the read that shows no effect. */
  readonly knownMs: number
  /** Milliseconds that the request may still take from then on; 0: it was answered. */
  readonly timeLimitMs: number
  /** How long the API needs to show what it did. */
  readonly showDelayMs: number
}

/** Milliseconds by which a read must begin later so that absence proves that an attempt had no effect; 0: it does. */
export const absenceProvesInMs = ({ knownMs, timeLimitMs, showDelayMs }: Again): number =>
  Math.max(0, timeLimitMs + showDelayMs - knownMs)

/** Whether a missing rental may have existed and expired: after 15 minutes, by either clock. */
export const absenceProvesNothing = (sentAt: Date, readAt: Date, knownMs: number): boolean =>
  Math.max(knownMs, readAt.getTime() - sentAt.getTime()) >= pendingRentalMs
