// What a worker does beside its tasks: once a minute it checks whether each stream is within its target (sync.freshness_days); once an
// hour it makes months of the change log, deletes what is older than HISTORY_DAYS, and proves the kept numbers of rows and changes.

import { streams } from '../catalog/catalog.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import type { Queryable } from '../database/sql.ts'
import { messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'
import { pruneHistory } from '../mirror/history.ts'
import { keepDoneCount, proveRowCounts } from '../mirror/kept-counts.ts'
import { makeLogMonths } from '../mirror/log-months.ts'
import { carryOutErasures } from '../mirror/persons.ts'
import { type Service, service } from '../service.ts'
import { pausedStreams } from '../sync/due/stream-state.ts'
import { isEnabled } from '../sync/plan.ts'
import { afterCheck, type FreshnessDay, type Look } from './freshness-minutes.ts'

const minuteMs = 60_000
/** The middle of a minute: the clock of the host may differ by seconds from that of Postgres. */
const checkAtMs = 30_000
const tryAgainMs = 5_000

type ChecksOptions = { readonly database: Database; readonly config: Config; readonly log: Logger }

/** Checks once a minute, in a loop of its own: slow work of the worker must not count as late data. */
export function startFreshnessChecks({ database, config, log }: ChecksOptions): Service {
  const switchedOff = streams.filter((stream) => !isEnabled(stream, config)).map(({ name }) => name)
  const check = async (): Promise<number> => {
    const paused = await pausedStreams(database.pool)
    await checkFreshness(database, [...switchedOff, ...paused.map(({ stream }) => stream)])
    return minuteMs - ((Date.now() - checkAtMs + minuteMs) % minuteMs)
  }
  return service('recording how fresh the streams are', tryAgainMs, check, { log })
}

const minuteOf = (column: string): string => `(extract(epoch from ${column}) / 60)::int`

type CheckedStream = { readonly stream: string; readonly look: Look; readonly last: FreshnessDay | null }

/** Checks now, by the database's clock. `off`: names of the streams that are switched off. */
export async function checkFreshness(database: Database, off: readonly string[]): Promise<void> {
  await database.transaction(async (client) => {
    const { rows: locked } = await client.query<{ mine: boolean; minute: number }>(
      `select pg_try_advisory_xact_lock(hashtext('boat-mirror.freshness')) as mine,
         floor(extract(epoch from clock_timestamp()) / 60)::int as minute`,
    )
    const [{ mine, minute } = { mine: false, minute: 0 }] = locked
    if (!mine) return // another worker checks
    // Only the age counts, not the result of the last run.
    const { rows } = await client.query<CheckedStream>(
      `select f.stream, case when f.stream = any($1::text[]) or f.target_s is null or f.counts_as_of is null then 'off'
           when extract(epoch from clock_timestamp() - f.counts_as_of) <= f.target_s then 'met' else 'missed' end as look,
         case when d.stream is not null then jsonb_build_object('day', d.day - date '1970-01-01',
           'lookedAt', ${minuteOf('d.looked_at')}, 'counted', d.counted, 'countsFrom', ${minuteOf('d.counts_from')},
           'met', d.met, 'missedFrom', ${minuteOf('d.missed_from')}, 'longestGap', d.longest_gap) end as last
       from report.freshness f left join lateral (
         select * from sync.freshness_days d where d.stream = f.stream order by d.day desc limit 1) d on true
       order by f.stream`,
      [off],
    )
    const days = rows.flatMap(({ stream, look, last }) => {
      const next = afterCheck(last, minute, look)
      return next === null || next === last ? [] : [{ stream, ...next }]
    })
    await saveFreshnessDays(client, days)
  })
}

/** Writes the newest days of streams. */
export async function saveFreshnessDays(
  db: Queryable,
  days: readonly (FreshnessDay & { readonly stream: string })[],
): Promise<void> {
  await db.query(
    `insert into sync.freshness_days as d (stream, day, looked_at, counted, counts_from, met, missed_from, longest_gap)
     select stream, date '1970-01-01' + day, to_timestamp("lookedAt" * 60.0), counted, to_timestamp("countsFrom" * 60.0),
       met, to_timestamp("missedFrom" * 60.0), "longestGap"
     from jsonb_to_recordset($1::jsonb) as n(stream text, day int, "lookedAt" int, counted int, "countsFrom" int, met int,
       "missedFrom" int, "longestGap" int)
     on conflict (stream, day) do update set looked_at = excluded.looked_at, counted = excluded.counted,
       counts_from = excluded.counts_from, met = excluded.met, missed_from = excluded.missed_from,
       longest_gap = excluded.longest_gap`,
    [JSON.stringify(days)],
  )
}

/** Carries out the hourly work. A failed step is logged, and does not stop the others. */
export async function runHousekeeping(
  database: Database,
  { historyDays, log }: { readonly historyDays: number; readonly log: Logger },
): Promise<void> {
  const notPruned = (table: string, reason: string): void =>
    log.warn(
      { event: 'history_not_pruned', table, reason },
      `could not delete old rows of ${table}; the next attempt is in an hour`,
    )
  const steps: readonly (readonly [what: string, step: () => Promise<void>])[] = [
    ['the next months of the change log', () => makeLogMonths(database.pool)],
    [
      'history',
      async () => {
        const deleted = await pruneHistory(database.pool, { historyDays, onFailure: notPruned })
        log.debug({ event: 'history_pruned', ...deleted }, 'deleted history older than HISTORY_DAYS')
      },
    ],
    ['erased persons who are back', async () => void (await carryOutErasures(database))],
    ['the numbers of rows', () => proveRowCounts(database, log)],
    ['the number of changes that are done', () => keepDoneCount(database, log)],
  ]
  for (const [what, step] of steps)
    await step().catch((error: unknown) =>
      log.warn(
        { event: 'housekeeping_failed', what, reason: messageOf(error) },
        `housekeeping failed (${what}); the next attempt is in an hour`,
      ),
    )
}
