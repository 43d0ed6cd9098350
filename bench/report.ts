// The tables of a bench, as text for a terminal and as Markdown. Pure.

import Table from 'cli-table3'
import type { AutovacuumResult } from './autovacuum.ts'
import type { BookingResult } from './booking.ts'
import type { FeedResult } from './feed.ts'
import type { Round } from './lists.ts'
import { modes, type PrivacyResult } from './privacy.ts'
import type { PushResult } from './push.ts'
import type { ServeResults } from './serve.ts'
import { quantile, summary } from './statistics.ts'
import type { SyncResult } from './sync-process.ts'
import { changesPerSecond, halfLoad, isMet, limitOf, type Ratio, tokenKinds } from './targets.ts'
import type { WorkersResult } from './workers.ts'

type Cell = string | number

export type TableOf = { readonly head: readonly string[]; readonly rows: readonly (readonly Cell[])[] }

/** A table in Markdown's form. */
export function markdown(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const line = (cells: readonly Cell[]): string => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** The same table for a terminal. */
export function terminal(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const table = new Table({ head: [...head], style: { head: [], border: [] } })
  table.push(...rows.map((row) => [...row]))
  return table.toString()
}

const shown = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)

/** Seconds, as median and spread. */
function seconds(values: readonly number[]): string {
  const { median, min, max } = summary(values.map((ms) => ms / 1000))
  return `${shown(median)} (${shown(min)}–${shown(max)})`
}

const medianOf = (values: readonly number[]): number => summary(values).median

export const roundHead = [
  'work',
  'seconds, median (least–most)',
  'records/s',
  'requests',
  'CPU s',
  'peak MB',
  'WAL MB',
  'statements/page',
] as const

/** One row per kind of sync, floor and baseline. */
export function roundRows(title: string, rounds: readonly Round[]): Cell[][] {
  const syncRow = (name: string, all: readonly SyncResult[]): Cell[] => {
    return [
      `${title}: ${name}`,
      seconds(all.map(({ ms }) => ms)),
      shown(medianOf(all.map(({ read, ms }) => (read / ms) * 1000))),
      shown(medianOf(all.map(({ requests }) => requests))),
      shown(medianOf(all.map(({ cpuS }) => cpuS))),
      shown(medianOf(all.map(({ peakMb }) => peakMb))),
      shown(medianOf(all.map(({ walBytes }) => walBytes / 1e6))),
      shown(medianOf(all.map(({ roundTrips, pages }) => roundTrips / Math.max(1, pages)))),
    ]
  }
  const of = (kind: 'first' | 'again' | 'changed'): readonly SyncResult[] => rounds.map((round) => round[kind])
  type Plain = { ms: number; requests?: number; cpuS?: number; peakMb?: number }
  const plainRow = (name: string, all: readonly Plain[]): Cell[] => [
    `${title}: ${name}`,
    seconds(all.map(({ ms }) => ms)),
    '',
    ...[all.map(({ requests }) => requests), all.map(({ cpuS }) => cpuS), all.map(({ peakMb }) => peakMb)].map(
      (values) => (values.some((value) => value === undefined) ? '' : shown(medianOf(values as number[]))),
    ),
    '',
    '',
  ]
  const given = <T>(values: readonly (T | null)[]): readonly T[] => values.filter((value) => value !== null)
  const writes = given(rounds.map((round) => round.write))
  const rowByRow = given(rounds.map((round) => round.rowByRow))
  const workers = given(rounds.map((round) => round.worker))
  const multiRow = given(rounds.map((round) => round.multiRow))
  const careful = given(rounds.map((round) => round.careful))
  return [
    plainRow(
      'download floor',
      rounds.map((round) => round.download),
    ),
    ...(writes.length > 0 ? [plainRow('write floor (COPY)', writes)] : []),
    ...(writes.length > 0
      ? [
          plainRow(
            'limit',
            rounds.map((round) => ({ ms: limitOf(round) })),
          ),
        ]
      : []),
    plainRow(
      'start of a new process',
      of('first').map(({ start }) => start),
    ),
    syncRow('first sync', of('first')),
    ...(workers.length > 0 ? [syncRow('first sync by a long-lived worker', workers)] : []),
    syncRow('nothing changed', of('again')),
    syncRow('1 % changed', of('changed')),
    ...(rowByRow.length > 0 ? [plainRow('row-by-row upserts', rowByRow)] : []),
    ...(multiRow.length > 0 ? [plainRow('one multi-row upsert per page', multiRow)] : []),
    ...(careful.length > 0 ? [plainRow('the same, equal rows skipped, next page read meanwhile', careful)] : []),
  ]
}

export const ratioHead = ['ratio', 'measured', 'target', ''] as const

function verdictOf(ratio: Ratio): string {
  const met = isMet(ratio)
  return met === null ? '' : met ? 'met' : 'missed'
}

/** One row per ratio. */
export const ratioRows = (ratios: readonly Ratio[]): Cell[][] =>
  ratios.map((ratio) => [
    ratio.name,
    shown(ratio.value),
    ratio.target === null ? '' : `${ratio.target.kind} ${ratio.target.value}`,
    verdictOf(ratio),
  ])

export const workerHead = ['queue', 'workers', 'seconds, median (least–most)', 'requests/s', 'processor load'] as const

/** One row per number of workers. */
export function workerRows(queue: string, results: readonly WorkersResult[]): Cell[][] {
  return [...new Set(results.map(({ workers }) => workers))].map((workers) => {
    const all = results.filter((result) => result.workers === workers)
    return [
      queue,
      workers,
      seconds(all.map(({ ms }) => ms)),
      shown(medianOf(all.map(({ requests, ms }) => (requests / ms) * 1000))),
      shown(medianOf(all.map(({ load }) => load))),
    ]
  })
}

export const pushHead = ['push', 'measured'] as const

/** Latency of all samples, and throughput as median and spread of the rounds. */
export function pushRows(results: readonly PushResult[]): Cell[][] {
  const [first] = results
  if (first === undefined) return []
  const latencies = results.flatMap(({ latenciesMs }) => latenciesMs)
  const { median, min, max } = summary(results.map(changesPerSecond))
  return [
    ['from enqueue to the request at the API, idle, median', `${quantile(latencies, 0.5)} ms`],
    ['the same, 99th percentile', `${quantile(latencies, 0.99)} ms (of ${latencies.length})`],
    [
      `${first.full.changes} changes over ${first.full.rentals} rentals`,
      `${shown(median)} changes/s (${shown(min)}–${shown(max)})`,
    ],
  ]
}

export const feedHead = ['from commit to', 'load', 'median', '99th percentile', 'most', 'changes'] as const

/** A row for each way and load, of the samples of all rounds. */
export function feedRows(results: readonly FeedResult[]): Cell[][] {
  if (results.length === 0) return []
  const ways = [
    ['consumer', '`next_changes` of a listening consumer'],
    ['webhook', 'the webhook received'],
  ] as const
  const loads = [
    ['idle', 'idle'],
    ['busy', '500 changes a second'],
  ] as const
  return ways.flatMap(([way, name]) =>
    loads.map(([load, words]) => {
      const all = results.flatMap((result) => result[way][load])
      const most = all.reduce((largest, value) => Math.max(largest, value), 0)
      return [name, words, `${quantile(all, 0.5)} ms`, `${quantile(all, 0.99)} ms`, `${most} ms`, all.length]
    }),
  )
}

export const serveHead = ['serve', 'token', 'a second, median (least–most)', '99th percentile at half load'] as const

const readNames = { singles: 'single rentals', lists: 'lists of 100 rentals' } as const

/** A row for each kind of read and token. */
export const serveRows = (results: readonly ServeResults[]): Cell[][] =>
  results.length === 0
    ? []
    : (['singles', 'lists'] as const).flatMap((kind) =>
        tokenKinds.map((token) => {
          const { median, min, max } = summary(results.map((result) => result[token][kind].perSecond))
          const p99 = medianOf(results.map((result) => result[token][kind].p99))
          return [
            readNames[kind],
            token,
            `${shown(median)} (${shown(min)}–${shown(max)})`,
            `${shown(p99)} ms at ${halfLoad[kind].toLocaleString('en')} a second`,
          ]
        }),
      )

export const bookingHead = [
  'a booking upstream, 10 requests a second',
  'median',
  '99th percentile',
  'most',
  'bookings',
] as const

/** A row for each leg of its way, in seconds. */
export function bookingRows(title: string, results: readonly BookingResult[]): Cell[][] {
  const legs = [
    ['from the API to the row', results.flatMap(({ toRow }) => toRow)],
    ['from the row to the webhook received', results.flatMap(({ toWebhook }) => toWebhook)],
    ['in all', results.flatMap(({ toRow, toWebhook }) => toRow.map((ms, index) => ms + (toWebhook[index] ?? 0)))],
  ] as const
  const inS = (ms: number): string => `${shown(ms / 1000)} s`
  return legs.map(([name, all]) => [
    `${title}: ${name}`,
    inS(quantile(all, 0.5)),
    inS(quantile(all, 0.99)),
    inS(Math.max(...all)),
    all.length,
  ])
}

export const privacyHead = [
  'first sync',
  'PERSONAL_DATA',
  'rentals, s, median (least–most)',
  'CPU s',
  'users, s',
  'CPU s',
] as const

/** One row a mode. */
export function privacyRows(title: string, results: readonly PrivacyResult[]): Cell[][] {
  return modes.map((mode) => {
    const of = (list: 'users' | 'rentals') => results.map((result) => result[mode][list])
    const cells = (['rentals', 'users'] as const).flatMap((list) => [
      seconds(of(list).map(({ ms }) => ms)),
      shown(medianOf(of(list).map(({ cpuS }) => cpuS))),
    ])
    return [title, mode, ...cells]
  })
}

export const autovacuumHead = [
  'second sync',
  'autovacuum',
  'seconds, median (least–most)',
  'CPU s',
  'rows read',
  'pages looked at',
] as const

/** One row without and one with autovacuum. */
export function autovacuumRows(title: string, results: readonly AutovacuumResult[]): Cell[][] {
  return [false, true].map((isOn) => {
    const all = results.filter((result) => result.isOn === isOn)
    return [
      title,
      isOn ? 'on' : 'off',
      seconds(all.map(({ ms }) => ms)),
      shown(medianOf(all.map(({ cpuS }) => cpuS))),
      Math.round(medianOf(all.map(({ rowsRead }) => rowsRead))).toLocaleString('en'),
      Math.round(medianOf(all.map(({ buffers }) => buffers))).toLocaleString('en'),
    ]
  })
}
