// The tables of `npm run scale`, with what each number should be. Pure.

import { ratioHead, ratioRows, type TableOf } from '../report.ts'
import { summary } from '../statistics.ts'
import type { Ratio } from '../targets.ts'
import type { WorkersResult } from '../workers.ts'
import type { ListResult, ListSync } from './list.ts'
import type { PartnersResult } from './partners.ts'
import { fewRows, type StatementsResult } from './statements.ts'
import type { SyncsResult, TableSize } from './syncs.ts'

const count = (value: number): string => Math.round(value).toLocaleString('en')
const seconds = (ms: number): string => (ms / 1000).toPrecision(3)
const atMost = (name: string, value: number, bound: number): Ratio => ({
  name,
  value,
  target: { kind: 'at most', value: bound },
})
const ratioTable = (ratios: readonly Ratio[]): TableOf => ({ head: ratioHead, rows: ratioRows(ratios) })

/** What the statements of a worker take on small and on large tables, and what adds everything up. */
export function statementsTables({ sizes, works, grown, sums }: StatementsResult): readonly TableOf[] {
  const [small, large] = sizes.map(count)
  return [
    {
      head: [
        'work, its most costly statement',
        `rows handled of ${small}`,
        `of ${large}`,
        `ms in all of ${small}`,
        `of ${large}`,
      ],
      rows: works.map(({ what, small: few, large: many }) => [
        what,
        ...[few.rows, many.rows].map(count),
        ...[few.ms, many.ms].map((ms) => (ms < 100 ? ms.toPrecision(3) : count(ms))),
      ]),
    },
    {
      head: ['statement that handles more rows', `of ${small}`, `of ${large}`],
      rows: grown.map(({ what, sql, before, rows }) => [
        `${what}: \`${sql.replaceAll(/\s+/g, ' ').trim().slice(0, 100)}\``,
        count(before),
        count(rows),
      ]),
    },
    {
      head: ['adds everything up, seconds', `of ${small}`, `of ${large}`],
      rows: sums.map(({ what, small: few, large: many }) => [
        what,
        ...[few, many].map((ms) => (ms === null ? 'more than 60' : seconds(ms))),
      ]),
    },
    ratioTable([
      atMost(
        'rows handled, largest ratio',
        Math.max(...works.map(({ small: few, large: many }) => many.rows / Math.max(few.rows, fewRows))),
        1.5,
      ),
      atMost('statements that handle more', grown.length, 0),
    ]),
  ].filter(({ rows }) => rows.length > 0)
}

/** A list of two sizes; of the smaller one the medians count. */
export function listTables(small: readonly ListResult[], large: ListResult): readonly TableOf[] {
  const whats = large.syncs.map(({ what }) => what)
  const of = (result: ListResult, what: string): ListSync | undefined => result.syncs.find((each) => each.what === what)
  const middle = (what: string, value: (sync: ListSync) => number): number =>
    summary(small.map((result) => value(of(result, what) as ListSync))).median
  const each = (sync: ListSync): number => sync.ms / sync.read
  const rows = [...small, large].flatMap(({ size, syncs, sandboxMb }) =>
    syncs.map((sync) => [
      `${count(size)}: ${sync.what}`,
      seconds(sync.ms),
      count((sync.read / sync.ms) * 1000),
      count(sync.written),
      sync.cpuS.toPrecision(3),
      count(sync.peakMb),
      count(sandboxMb),
    ]),
  )
  return [
    { head: ['list', 'seconds', 'records/s', 'rows written', 'CPU s', 'peak MB', 'sandbox, peak MB'], rows },
    ratioTable([
      ...whats.map((what) =>
        atMost(`${what}: time for each record`, each(of(large, what) as ListSync) / middle(what, each), 1.15),
      ),
      ...whats.map((what) =>
        atMost(
          `${what}: peak memory`,
          (of(large, what) as ListSync).peakMb / middle(what, ({ peakMb }) => peakMb),
          1.2,
        ),
      ),
      atMost('sandbox, peak MB', large.sandboxMb, 400),
    ]),
  ]
}

/** Did a table grow by more than it moves by between two prunings? */
const hasGrown = (early: TableSize | undefined, late: TableSize): boolean =>
  late.rows > 1.2 * (early?.rows ?? 0) + 100 || late.bytes > 1.5 * (early?.bytes ?? 0) + 2 ** 20

/** What is kept after a fifth of the syncs, and after all. */
export function syncsTables({ syncs, early, late }: SyncsResult): readonly TableOf[] {
  const before = (table: string): TableSize | undefined => early.find((each) => each.table === table)
  const shown = late.filter(({ rows, table }) => rows > 20 || (before(table)?.rows ?? 0) > 20)
  const sum = (sizes: readonly TableSize[]): number => sizes.reduce((all, { bytes }) => all + bytes, 0)
  const fifth = count(Math.ceil(syncs / 5))
  return [
    {
      head: ['table', `rows after ${fifth}`, `after ${count(syncs)}`, `kB after ${fifth}`, `after ${count(syncs)}`],
      rows: shown.map(({ table, rows, bytes }) => [
        table,
        count(before(table)?.rows ?? 0),
        count(rows),
        count((before(table)?.bytes ?? 0) / 1024),
        count(bytes / 1024),
      ]),
    },
    ratioTable([
      atMost('tables that grew', late.filter((each) => hasGrown(before(each.table), each)).length, 0),
      atMost('bytes of all tables, late / early', sum(late) / sum(early), 1.5),
    ]),
  ]
}

/** How soon a single change is sent. */
export function partnersTables({ queued, left, sentAfterMs }: PartnersResult): readonly TableOf[] {
  const rows = sentAfterMs.map((ms, index) => [`single change ${index + 1}`, seconds(ms)])
  return [
    { head: [`while ${count(left)} to ${count(queued)} of another partner wait`, 'sent after seconds'], rows },
    ratioTable([atMost('latest, seconds', Math.max(...sentAfterMs) / 1000, 2)]),
  ]
}

/** Workers that share the waiting for an API. */
export function workersTables(results: readonly WorkersResult[]): readonly TableOf[] {
  const [one, all] = [results[0], results.at(-1)]
  return [
    {
      head: ['workers', 'seconds', 'requests/s'],
      rows: results.map(({ workers, ms, requests }) => [workers, seconds(ms), count((requests / ms) * 1000)]),
    },
    ratioTable(
      one === undefined || all === undefined
        ? []
        : [
            {
              name: `${all.workers} workers, times as fast`,
              value: one.ms / all.ms,
              target: { kind: 'at least', value: 7 },
            },
          ],
    ),
  ]
}
