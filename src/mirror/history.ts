// Deletes history older than HISTORY_DAYS (change log, runs, settled changes, past calendar days) and the traces of
// finished work after a day, or as soon as later work has replaced them. In separate small statements, so that
// nothing waits for it. Months of the change log that are old as a whole are dropped; in a month that still has
// younger rows, rows are deleted.

import { parentOf, streamNamed, streams } from '../catalog/catalog.ts'
import { identifier, type Queryable } from '../database/sql.ts'
import { messageOf } from '../errors.ts'
import { notingDone, notingGone } from './kept-counts.ts'
import { dropLogMonths } from './log-months.ts'

type RetentionOptions = {
  /** HISTORY_DAYS. */
  readonly historyDays: number
  /** Rows per statement. */
  readonly batch?: number
  /**
   * Called with what could not be deleted of a table, and why; the others are done anyway. Missing: the first failure
   * ends it.
   */
  readonly onFailure?: (table: string, reason: string) => void
}

/** Deletes at most `$2` rows; `$1` is the age in days at which they go. */
type Rule = {
  readonly name: string
  readonly days: 'history' | 'week' | 'day' | 'none' | 'quota'
  readonly sql: string
}

/** Attempts of the webhook that are kept at most. */
export const deliveriesKept = 1_000

const older = (column: string): string => `${column} < now() - make_interval(days => $1::int)`

/** Deletes the first rows `t` that are selected. By their place: one that is written meanwhile stays. */
const deletion = (table: string, selected: string): string =>
  `delete from ${table} where ctid = any(array(select t.ctid from ${table} t ${selected} limit $2))`

const rule = (name: string, days: Rule['days'], selected: string): Rule => ({
  ...{ name, days },
  sql: deletion(name, selected),
})

/** Rows `t` of runs `r` that ended so long ago. */
const ofEndedRuns = `join sync.runs r on r.id = t.run_id where r.status <> 'running' and ${older('r.finished_at')}`

/** Of those, a later sweep of the same kind was complete: what the run saw and missed is outdated. */
const sweptSince = `exists (select from sync.runs n where n.stream = r.stream and n.id > r.id and n.hot = r.hot
  and n.record_key is null and n.status in ('done', 'held') and exists (select from sync.sweep_pages np where np.run_id = n.id))`

/** A deletion of rows of the mirror, which are counted. Returns the rows. */
const countedRule = (stream: string, selected: string): Rule => ({
  ...{ name: `mirror.${stream}`, days: 'history' },
  sql: `with gone as (${deletion(`mirror.${identifier(stream)}`, selected)} returning _deleted_at), noted as (${notingGone(stream, 'gone')})
    select from gone`,
})

/**
 * Days and years that have passed. Their records were not deleted upstream, so the change log has no entry for them.
 */
const pastDays = streams.flatMap(({ name, horizon }): readonly Rule[] => {
  if (horizon === undefined) return []
  const isPast =
    horizon === 'date' ? 't.date < current_date - $1::int' : 't.year < extract(year from current_date - $1::int)'
  return [countedRule(name, `where ${isPast}`)]
})

const belowDays = streams.filter((stream) => parentOf(stream)?.horizon === 'date')

/** What hung below slots whose day has passed goes after them. */
const belowPastDays = belowDays.map(({ name, parent = '', parentKey }): Rule => {
  const same = streamNamed(parent).key.map(
    (column, index) => `p.${identifier(column)} = t.${identifier(parentKey?.[index] ?? column)}`,
  )
  // Rows younger than the limit may be ahead of a parent that is about to be written.
  return countedRule(
    name,
    `where ${older('t._read_at')} and not exists (select from mirror.${identifier(parent)} p where ${same.join(' and ')})`,
  )
})

const rules: readonly Rule[] = [
  {
    // Only from its beginning on, in the order of its numbers: first entries are completed from later ones (feed.ts).
    name: 'mirror.change_log',
    days: 'history',
    sql: `delete from mirror.change_log where (seq, changed_at) in (select seq, changed_at from
      (select seq, changed_at, bool_and(${older('changed_at')}) over (order by seq) as old
        from (select seq, changed_at from mirror.change_log order by seq limit $2) oldest) judged where old)`,
  },
  // A stream's last run stays, however old. Tasks, pages and held keys go with their run.
  rule(
    'sync.runs',
    'history',
    `where t.status <> 'running' and ${older('t.started_at')}
      and not exists (select from sync.streams s where s.last_run_id = t.id) order by t.id`,
  ),
  {
    // A settled change stays while an open one refers to it; one that needs a decision stays until it is made.
    name: 'outbox.queue',
    days: 'history',
    sql: `with gone as (${deletion(
      'outbox.queue',
      `where ${older('t.settled_at')} and t.status not in ('conflict', 'unknown')
        and (select count(*) from outbox.dependencies d join outbox.queue w on w.id = d.change_id
          where d.depends_on = t.id and w.settled_at is null) = 0 order by t.settled_at`,
    )} returning id, status),
      forgotten as (delete from outbox.requests r using gone where r.change_id = gone.id),
      counted as (${notingDone('-count(*)', `gone where status = 'done'`)})
      select from gone`,
  },
  // Counts that no window of a quota includes any more; the newest of them stays, because later ones are differences to it.
  rule(
    'sync.request_counts',
    'quota',
    `where t.minute < (select max(o.minute) from sync.request_counts o where ${older('o.minute')}) order by t.minute`,
  ),
  // Attempts to deliver a call of the webhook: all but the last of a week.
  rule(
    'sync.webhook_deliveries',
    'week',
    `where ${older('t.sent_at')}
      or t.id <= (select id from sync.webhook_deliveries order by id desc offset ${deliveriesKept} limit 1) order by t.id`,
  ),
  rule('sync.freshness_days', 'history', 'where t.day < current_date - $1::int'),
  rule('sync.tasks', 'day', `${ofEndedRuns} order by t.id`),
  rule('sync.sweep_pages', 'day', ofEndedRuns),
  rule('sync.sweep_pages', 'none', `${ofEndedRuns} and ${sweptSince}`),
  // You decide about what the newest sweep missed: each one until then holds all of it again.
  rule('sync.held', 'none', `${ofEndedRuns} and ${sweptSince}`),
  // What a sweep leaves behind that failed at its end.
  ...['sync.sweep_parts', 'sync.sweep_ranges'].map((name) => rule(name, 'day', ofEndedRuns)),
  ...['sync.list_pages', 'sync.detail_tags'].map((name) => rule(name, 'day', `where ${older('t.read_at')}`)),
  rule('sync.requests', 'day', `where ${older('t.finished_at')} order by t.id`),
  ...pastDays,
  ...belowPastDays,
  // What is remembered of details below slots that are no longer there.
  rule(
    'sync.records',
    'history',
    `where t.stream in (${belowDays.map(({ name }) => `'${name}'`).join(', ')}) and ${older('t.changed_at')}`,
  ),
]

const defaultBatch = 2_000
/** A calendar month of a quota reaches back no further. */
const quotaDays = 62
const maxRounds = 500 // per rule and call: what is left then goes next time

/**
 * Deletes what is old enough, in batches. Returns rows deleted per table, and months.
 */
export async function pruneHistory(
  db: Queryable,
  options: RetentionOptions,
): Promise<Readonly<Record<string, number>>> {
  const { historyDays, batch = defaultBatch, onFailure } = options
  const failed = (table: string, error: unknown): void => {
    if (onFailure === undefined) throw error
    onFailure(table, reasonOf(error))
  }
  const deleted: Record<string, number> = {}
  const attempt = (table: string, step: () => Promise<void>): Promise<void> =>
    step().catch((error: unknown) => failed(table, error))
  await attempt('mirror.change_log', async () => {
    const months = await dropLogMonths(db, historyDays, failed)
    if (months > 0) deleted['months of mirror.change_log'] = months
  })
  const ages = { history: historyDays, week: Math.min(7, historyDays), day: 1, none: 0, quota: quotaDays }
  for (const { name, days, sql } of rules)
    await attempt(name, async () => {
      for (let round = 0; round < maxRounds; round++) {
        const { rowCount } = await db.query(sql, [ages[days], batch])
        if (rowCount === null || rowCount === 0) break
        deleted[name] = (deleted[name] ?? 0) + rowCount
        if (rowCount < batch) break
      }
    })
  return deleted
}

/** What Postgres says, with what is in the way: the views on a table, the rows that refer to it. */
const reasonOf = (error: unknown): string =>
  [messageOf(error), (error as { readonly detail?: string }).detail].filter((text) => text !== undefined).join(': ')
