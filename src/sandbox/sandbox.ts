// The handles to a running sandbox: what a test or a person can do to it besides calling the API.

import type { AppliedChange, Change } from './control/mutate.ts'
import type { TruthOptions } from './control/truth.ts'
import type { FaultRule, FaultSet } from './http/faults.ts'
import type { LoggedRequest, Stats } from './http/request-log.ts'
import type { SandboxClock } from './world/clock.ts'

/** One record of the truth: its key fields, by the column names of a mirror, and the record as the API shows it. */
export interface TruthRow {
  readonly key: Readonly<Record<string, string | number | null>>
  readonly record: Readonly<Record<string, unknown>>
}

export interface Sandbox extends AsyncDisposable {
  /** Root of the API without `/v3`, such as `http://127.0.0.1:41234`. */
  readonly url: string
  readonly port: number
  readonly clock: SandboxClock
  /** Adds a fault rule. */
  readonly fault: (rule: FaultRule) => void
  /** The rules with how many requests each has seen and disturbed. */
  readonly faults: FaultSet['list']
  readonly clearFaults: () => void
  /** The last requests, oldest first; at most 20,000. */
  readonly requests: () => readonly LoggedRequest[]
  readonly resetRequests: () => void
  readonly stats: () => Stats
  /** Changes the world; RangeError for a change that can not be applied. */
  readonly mutate: (changes: readonly Change[]) => readonly AppliedChange[]
  /** Applies `count` random inserts, updates and deletes, but none that `spares` says yes to. */
  readonly mutateRandomly: (
    count: number,
    seed: number,
    spares?: (change: Change) => boolean,
  ) => readonly AppliedChange[]
  /** Serves a record as this JSON text, verbatim; inserts the record if it does not exist. */
  readonly raw: (target: Omit<Change, 'op' | 'set'>, text: string) => void
  /** What a complete mirror must hold, by table. Numbers beyond 2^53 lose digits here; `truthText` keeps them. */
  readonly truth: (options?: TruthOptions) => Readonly<Record<string, readonly TruthRow[]>>
  readonly truthText: (options?: TruthOptions) => string
  /** Stops the server and drops open connections; may be called twice. */
  readonly close: () => Promise<void>
}
