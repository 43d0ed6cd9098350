// What the numbers are measured against: ratios of times of one run, and where each should be. Pure.

import type { AutovacuumResult } from './autovacuum.ts'
import type { FeedResult } from './feed.ts'
import type { Round } from './lists.ts'
import type { PrivacyResult } from './privacy.ts'
import type { PushResult } from './push.ts'
import type { ServeResults } from './serve.ts'
import { quantile } from './statistics.ts'
import type { WorkersResult } from './workers.ts'

export type Ratio = {
  readonly name: string
  readonly value: number
  /** Null: it is stated, and has no target. */
  readonly target: { readonly kind: 'at most' | 'at least'; readonly value: number } | null
  /** One of the targets that docs/performance.md states. */
  readonly isGoal?: true
}

/** True when the ratio is where it should be; null without a target. */
export const isMet = ({ value, target }: Ratio): boolean | null =>
  target === null ? null : target.kind === 'at most' ? value <= target.value : value >= target.value

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
/** One of those at the head of the document. */
const goal = (ratio: Ratio): Ratio => ({ ...ratio, isGoal: true })

const stated = (name: string, value: number): Ratio => ({ name, value, target: null })

/** The larger of the two floors: what perfect overlap would take. */
export const limitOf = ({ download, write }: Round): number => Math.max(download.ms, write?.ms ?? 0)

/** Lists are short (1,000 records), long (10,000) or longest (100,000): what is asked of them differs. */
export type Length = 'short' | 'long' | 'longest'

/** Ratios of the lists alone. */
export function listRatios(title: string, length: Length, rounds: readonly Round[]): readonly Ratio[] {
  const ratio = (name: string, of: (round: Round) => number, judged: typeof atMost | typeof atLeast, bound: number) =>
    judged(`${title}: ${name}`, middle(rounds, of), bound)
  const fact = (name: string, of: (round: Round) => number): Ratio => stated(`${title}: ${name}`, middle(rounds, of))
  const longest = length === 'longest'
  const limit = (round: Round): number => round.first.ms / limitOf(round)
  const floor = (round: Round): number => round.again.ms / round.download.ms
  const ratios = [
    longest ? goal(ratio('first sync / limit', limit, atMost, 2)) : fact('first sync / limit', limit),
    longest
      ? goal(ratio('nothing changed / download floor', floor, atMost, 1.15))
      : fact('nothing changed / download floor', floor),
    ratio('1 % changed / nothing changed', (round) => round.changed.ms / round.again.ms, atMost, 1.3),
    ratio('first sync / nothing changed', (round) => round.first.ms / round.again.ms, atLeast, 1),
  ]
  if (rounds.every(({ worker }) => worker !== null))
    ratios.push(fact('first sync by a long-lived worker / limit', (round) => (round.worker?.ms ?? 0) / limitOf(round)))
  if (rounds.some(({ rowByRow, multiRow, careful }) => rowByRow === null || multiRow === null || careful === null))
    return ratios
  const rowByRow = (round: Round): number => (round.rowByRow?.ms ?? 0) / round.first.ms
  const multiRow = (round: Round): number => (round.multiRow?.ms ?? 0) / round.first.ms
  const careful = (round: Round): number => (round.careful?.ms ?? 0) / round.first.ms
  if (length === 'long')
    ratios.push(
      goal(ratio('careful upserts / first sync', careful, atLeast, 0.9)),
      goal(ratio('multi-row / first sync', multiRow, atLeast, 1.4)),
      goal(ratio('row by row / first sync', rowByRow, atLeast, 4)),
    )
  else ratios.push(fact('row by row / first sync', rowByRow), fact('multi-row / first sync', multiRow))
  if (length === 'short') {
    const began = ({ first }: Round): number => (first.firstRowMs ?? Number.NaN) / 1_000
    const bare = ({ multiRow: way }: Round): number => (way?.firstRowMs ?? Number.NaN) / 1_000
    ratios.push(
      fact('seconds from the start of a new process to the first committed row', began),
      goal(fact('first committed row of a new process / of the multi-row loop', (round) => began(round) / bare(round))),
    )
  }
  return ratios
}

/** Ratios of lists and details together. */
export const detailRatios = (title: string, mostTimesFloor: number, rounds: readonly Round[]): readonly Ratio[] => [
  goal(
    atMost(
      `${title}: first sync / download floor`,
      middle(rounds, (round) => round.first.ms / round.download.ms),
      mostTimesFloor,
    ),
  ),
  goal(
    stated(
      `${title}: first sync / download, then write`,
      middle(rounds, ({ first, download, write }) => first.ms / (download.ms + (write?.ms ?? Number.NaN))),
    ),
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
  const walPerRow = middle(large, ({ first }) => first.walBytes / Math.max(1, first.written))
  return [
    atMost('longest / shortest list: peak memory', peak(large) / peak(small), 1.3),
    goal(atMost('longest list: WAL of a first sync, bytes a row', walPerRow, 2_800)),
    goal(atMost('longest list: peak memory in MB', peak(large), 200)),
    atMost('longest / shortest list: time per record', perRecord(large) / perRecord(small), 1.1),
  ]
}

/** Throughput of a full queue. */
export const changesPerSecond = ({ full }: PushResult): number => (full.changes / full.ms) * 1000

/** Ratios of write-back. */
export function pushRatios(results: readonly PushResult[]): readonly Ratio[] {
  const p99 = quantile(
    results.flatMap(({ latenciesMs }) => latenciesMs),
    0.99,
  )
  return [
    goal(atLeast('push: changes a second', quantile(results.map(changesPerSecond), 0.5), 300)),
    stated(
      'push: one request a change in order / changes a second',
      quantile(
        results.map((result) => result.full.ms / result.bareMs),
        0.5,
      ),
    ),
    goal(atMost('push: from enqueue to the request, idle, 99th percentile in ms', p99, 32)),
  ]
}

/** How soon changes are with who follows them, in milliseconds. */
export const feedRatios = (results: readonly FeedResult[]): readonly Ratio[] => {
  const p99 = (way: keyof FeedResult, load: 'idle' | 'busy'): number =>
    quantile(
      results.flatMap((result) => result[way][load]),
      0.99,
    )
  return [
    goal(
      atMost('feed: from commit to a listening consumer, idle, 99th percentile in ms', p99('consumer', 'idle'), 150),
    ),
    goal(atMost('feed: from commit to the webhook, idle, 99th percentile in ms', p99('webhook', 'idle'), 300)),
    goal(atMost('feed: the same at 500 changes a second', p99('webhook', 'busy'), 300)),
  ]
}

/** Reads a second of each kind at which times are measured: half of the target. */
export const halfLoad = { singles: 1_000, lists: 100 } as const
export type ReadKind = keyof typeof halfLoad

/** A token that sees everything, and one of some companies. */
export const tokenKinds = ['unrestricted', 'restricted'] as const
export type TokenKind = (typeof tokenKinds)[number]

/** What `serve` answers a second, and how soon at half of that, in milliseconds. */
export const serveRatios = (results: readonly ServeResults[]): readonly Ratio[] =>
  tokenKinds.flatMap((token) =>
    (['singles', 'lists'] as const).flatMap((kind: ReadKind) => {
      const median = (of: (result: ServeResults) => number): number => quantile(results.map(of), 0.5)
      const load = halfLoad[kind]
      return [
        goal(
          atLeast(
            `serve, ${token} token: ${kind} a second`,
            median((result) => result[token][kind].perSecond),
            load * 2,
          ),
        ),
        goal(
          atMost(
            `serve, ${token} token: 99th percentile in ms at ${load.toLocaleString('en')} ${kind} a second`,
            median((result) => result[token][kind].p99),
            20,
          ),
        ),
      ]
    }),
  )

/** What each mode of PERSONAL_DATA costs a first list, compared within each round. */
export function privacyRatios(results: readonly PrivacyResult[]): readonly Ratio[] {
  const ratio = (mode: 'hash' | 'drop', of: (lists: PrivacyResult['keep']) => number): number =>
    quantile(
      results.map((result) => of(result[mode]) / of(result.keep)),
      0.5,
    )
  return (['hash', 'drop'] as const).flatMap((mode) => [
    goal(
      atMost(
        `privacy: first list of rentals, ${mode} / keep`,
        ratio(mode, ({ rentals }) => rentals.ms),
        1.1,
      ),
    ),
    stated(
      `privacy: first list of users, ${mode} / keep`,
      ratio(mode, ({ users }) => users.ms),
    ),
  ])
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

/** Ratios of second syncs without and with autovacuum. */
export function autovacuumRatios(title: string, results: readonly AutovacuumResult[]): readonly Ratio[] {
  const ratio = (of: (result: AutovacuumResult) => number): number => {
    const median = (isOn: boolean): number =>
      quantile(
        results.filter((result) => result.isOn === isOn).map((result) => of(result)),
        0.5,
      )
    return median(false) / median(true)
  }
  return [
    goal(
      atMost(
        `${title}: time off / on`,
        ratio(({ ms }) => ms),
        1.1,
      ),
    ),
    stated(
      `${title}: rows read off / on`,
      ratio(({ rowsRead }) => rowsRead),
    ),
    stated(
      `${title}: pages looked at off / on`,
      ratio(({ buffers }) => buffers),
    ),
  ]
}
