// What the numbers are measured against: ratios of times of one run, and where each should be. Pure.

import type { Round } from './lists.ts'
import { quantile } from './statistics.ts'
import type { WorkersResult } from './workers.ts'

export type Ratio = {
  readonly name: string
  readonly value: number
  readonly target: { readonly kind: 'at most' | 'at least'; readonly value: number }
}

/** True when the ratio is where it should be. */
export const isMet = ({ value, target }: Ratio): boolean =>
  target.kind === 'at most' ? value <= target.value : value >= target.value

/** The median over the rounds of a ratio within each round: what shared a minute is compared, not what did not. */
const middle = (rounds: readonly Round[], ratio: (round: Round) => number): number => quantile(rounds.map(ratio), 0.5)

const atMost = (name: string, value: number, bound: number): Ratio => ({
  name,
  value,
  target: { kind: 'at most', value: bound },
})
const atLeast = (name: string, value: number, bound: number): Ratio => ({
  name,
  value,
  target: { kind: 'at least', value: bound },
})

/** The larger of the two floors: what perfect overlap would take. */
export const limitOf = ({ download, write }: Round): number => Math.max(download.ms, write?.ms ?? 0)

/** Ratios of the lists alone. */
export function listRatios(title: string, rounds: readonly Round[]): readonly Ratio[] {
  const ratios = [
    atMost(
      `${title}: first sync / limit`,
      middle(rounds, (round) => round.first.ms / limitOf(round)),
      1.3,
    ),
    atMost(
      `${title}: 1 % changed / nothing changed`,
      middle(rounds, (round) => round.changed.ms / round.again.ms),
      1.3,
    ),
    atLeast(
      `${title}: first sync / nothing changed`,
      middle(rounds, (round) => round.first.ms / round.again.ms),
      1,
    ),
  ]
  if (rounds.every((round) => round.rowByRow !== null && round.multiRow !== null))
    ratios.push(
      atLeast(
        `${title}: row by row / first sync`,
        middle(rounds, (round) => (round.rowByRow?.ms ?? 0) / round.first.ms),
        3,
      ),
      atLeast(
        `${title}: multi-row / first sync`,
        middle(rounds, (round) => (round.multiRow?.ms ?? 0) / round.first.ms),
        1.2,
      ),
    )
  return ratios
}

/** Ratios of lists and details together. */
export const detailRatios = (title: string, rounds: readonly Round[]): readonly Ratio[] => [
  atMost(
    `${title}: first sync / download floor`,
    middle(rounds, (round) => round.first.ms / round.download.ms),
    1.2,
  ),
  atLeast(
    `${title}: first sync / nothing changed`,
    middle(rounds, (round) => round.first.ms / round.again.ms),
    5,
  ),
  atMost(`${title}: rows written when nothing changed`, Math.max(...rounds.map((round) => round.again.written)), 0),
  atMost(
    `${title}: 1 % changed / nothing changed`,
    middle(rounds, (round) => round.changed.ms / round.again.ms),
    1.3,
  ),
]

/** Ratios between a small and a large world. */
export function growthRatios(small: readonly Round[], large: readonly Round[]): readonly Ratio[] {
  const peak = (rounds: readonly Round[]): number => middle(rounds, (round) => round.first.peakMb)
  const perRecord = (rounds: readonly Round[]): number => middle(rounds, (round) => round.first.ms / round.first.read)
  return [
    atMost('longest / shortest list: peak memory', peak(large) / peak(small), 1.3),
    atMost('longest list: peak memory in MB', peak(large), 250),
    atMost('longest / shortest list: time per record', perRecord(large) / perRecord(small), 1.1),
  ]
}

/** Ratios between numbers of workers. */
export function workerRatios(title: string, results: readonly WorkersResult[]): readonly Ratio[] {
  const time = (workers: number): number =>
    quantile(
      results.filter((result) => result.workers === workers).map(({ ms }) => ms),
      0.5,
    )
  return [
    atLeast(`${title}: 1 worker / 2 workers`, time(1) / time(2), 1.7),
    atLeast(`${title}: 1 worker / 4 workers`, time(1) / time(4), 3.2),
  ]
}
