// Leases: how tasks, senders and changes are claimed. A row of work has the columns `owner`, `fence` and `lease_until`. A claim
// sets all three; heartbeats extend it. Each write names the fence of its claim, so that a worker that has lost its lease
// changes nothing.

import { BoatMirrorError } from '../errors.ts'

/** The number of a claim. It is drawn, not counted: a crash or a failover can lose a claim, and the next must not get its number. */
export const newFence = 'floor(random() * 9e15)'

/** SQL: sets the end of a lease. Lengths are SQL, in milliseconds. */
export const lasting = (ms: string | number): string => `lease_until = clock_timestamp() + ${ms} * interval '1 ms'`

/** SQL: the assignments of a claim. */
export const claiming = (owner: string, ms: string | number): string =>
  `owner = ${owner}, fence = ${newFence}, ${lasting(ms)}`

/** SQL: the lease of a row has run out, now or at another time. */
export const hasRunOut = (row: string, at = 'clock_timestamp()'): string => `${row}lease_until < ${at}`

/** SQL: nobody holds the row: its lease was returned or has run out. */
export const isFree = (row: string): string => `(${row}lease_until is null or ${hasRunOut(row)})`

/** The error of a worker whose task, sender or change another worker has claimed since. */
export const leaseLost = (what: string): BoatMirrorError =>
  new BoatMirrorError('LEASE_LOST', `${what} was taken over by another worker.`)
