// What a check has found so far, by stream. Pure.

import type { Comparison, Difference } from '../../mirror/comparison.ts'

export type StreamCheck = {
  readonly stream: string
  /** Records compared. */
  readonly compared: number
  /** In the API, not (alive) in the mirror. */
  readonly missing: number
  readonly different: number
  /** Alive in the mirror, gone in the API. */
  readonly deleted: number
  /** Records that cannot be mirrored. */
  readonly bad: number
  /** Why something could not be read. */
  readonly problems: readonly string[]
  /** The first differences. */
  readonly samples: readonly Difference[]
}

type Open = { -readonly [K in keyof StreamCheck]: StreamCheck[K] }

/** Differences and problems kept per stream; the counts are complete. */
const kept = 20

/** Adds findings up. */
export class CheckTally {
  readonly #streams = new Map<string, Open>()

  /** The entry of a stream; made when it is first named, so that a stream without differences appears too. */
  of(stream: string): Open {
    const known = this.#streams.get(stream)
    if (known !== undefined) return known
    const fresh = { stream, compared: 0, missing: 0, different: 0, deleted: 0, bad: 0, problems: [], samples: [] }
    this.#streams.set(stream, fresh)
    return fresh
  }

  add(found: readonly Comparison[]): void {
    for (const { stream, missing, different, deleted, samples } of found) {
      const entry = this.of(stream)
      entry.missing += missing
      entry.different += different
      entry.deleted += deleted
      entry.samples = [...entry.samples, ...samples].slice(0, kept)
    }
  }

  problem(stream: string, text: string): void {
    const entry = this.of(stream)
    if (entry.problems.length < kept) entry.problems = [...entry.problems, text]
  }

  /** All streams, in the order they were checked. */
  all(): readonly StreamCheck[] {
    return [...this.#streams.values()]
  }
}

/** True when mirror and API differ, or when that could not be determined. */
export const isDifferent = (check: StreamCheck): boolean =>
  check.missing + check.different + check.deleted + check.problems.length > 0
