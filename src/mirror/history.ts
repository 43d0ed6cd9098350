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
  readonly signal?: AbortSignal
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

/** Only from its beginning on, in the order of its numbers: first entries are completed from later ones (feed.ts). */
const changeLog: Rule = {
  name: 'mirror.change_log',
  days: 'history',
  sql: `delete from mirror.change_log where (seq, changed_at) in (select seq, changed_at from
    (select seq, changed_at, bool_and(${older('changed_at')}) over (order by seq) as old
      from (select seq, changed_at from mirror.change_log order by seq limit $2) oldest) judged where old)`,
}

/** A stream's last run stays, however old. Tasks, pages and held keys go with their run. */
const runs: Rule = {
  name: 'sync.runs',
  days: 'history',
  sql: `delete from sync.runs where id in (select r.id from sync.runs r where r.status <> 'running' and ${older('r.started_at')}
    and not exists (select from sync.streams s where s.last_run_id = r.id) order by r.id limit $2)`,
}

/** A settled change stays while an open one refers to it; one that needs a decision stays until it is made. */
const changes: Rule = {
  name: 'outbox.queue',
  days: 'history',
  sql: `with gone as (delete from outbox.queue where id in (select q.id from outbox.queue q where ${older('q.settled_at')}
    and q.status not in ('conflict', 'unknown')
    and (select count(*) from outbox.dependencies d join outbox.queue w on w.id = d.change_id
      where d.depends_on = q.id and w.settled_at is null) = 0 order by q.settled_at limit $2) returning id, status),
    forgotten as (delete from outbox.requests r using gone where r.change_id = gone.id),
    counted as (${notingDone('-count(*)', `gone where status = 'done'`)})
    select from gone`,
}

/** Attempts to deliver a call of the webhook: all but the last of a week. */
const deliveries: Rule = {
  name: 'sync.webhook_deliveries',
  days: 'week',
  sql: `delete from sync.webhook_deliveries where id in (select id from sync.webhook_deliveries where ${older('sent_at')}
    or id <= (select id from sync.webhook_deliveries order by id desc offset ${deliveriesKept} limit 1) order by id limit $2)`,
}

const freshness: Rule = {
  name: 'sync.freshness_days',
  days: 'history',
  sql: `delete from sync.freshness_days where (stream, day) in
    (select stream, day from sync.freshness_days where day < current_date - $1::int order by 1, 2 limit $2)`,
}

/** A later sweep of the same kind was complete: what run `r` saw and missed is outdated. */
const sweptSince = `r.status <> 'running' and exists (select from sync.runs n where n.stream = r.stream and n.id > r.id and n.hot = r.hot
  and n.record_key is null and n.status in ('done', 'held') and exists (select from sync.sweep_pages np where np.run_id = n.id))`

/**
 * Counts that no window of a quota includes any more; the newest of them stays, because later ones are differences to
 * it.
 */
const requestCounts: Rule = {
  name: 'sync.request_counts',
  days: 'quota',
  sql: `delete from sync.request_counts where minute in (select c.minute from sync.request_counts c
    where c.minute < (select max(o.minute) from sync.request_counts o where ${older('o.minute')}) order by c.minute limit $2)`,
}

const finishedWork: readonly Rule[] = [
  {
    name: 'sync.tasks',
    days: 'day',
    sql: `delete from sync.tasks where id in (select t.id from sync.tasks t join sync.runs r on r.id = t.run_id
      where r.status <> 'running' and ${older('r.finished_at')} order by t.id limit $2)`,
  },
  {
    name: 'sync.sweep_pages',
    days: 'day',
    sql: `delete from sync.sweep_pages where (run_id, pass, page) in (select p.run_id, p.pass, p.page
      from sync.sweep_pages p join sync.runs r on r.id = p.run_id
      where r.status <> 'running' and ${older('r.finished_at')} order by 1, 2, 3 limit $2)`,
  },
  {
    name: 'sync.sweep_pages',
    days: 'none',
    sql: `delete from sync.sweep_pages where (run_id, pass, page) in (select p.run_id, p.pass, p.page
      from sync.sweep_pages p join sync.runs r on r.id = p.run_id
      where ${older('r.finished_at')} and ${sweptSince} order by 1, 2, 3 limit $2)`,
  },
  {
    // You decide about what the newest sweep missed: each one until then holds all of it again.
    name: 'sync.held',
    days: 'none',
    sql: `delete from sync.held where (run_id, key) in (select h.run_id, h.key
      from sync.held h join sync.runs r on r.id = h.run_id
      where ${older('r.finished_at')} and ${sweptSince} order by 1, 2 limit $2)`,
  },
  // What a sweep leaves behind that failed at its end.
  ...['sync.sweep_parts', 'sync.sweep_ranges'].map(
    (name): Rule => ({
      name,
      days: 'day',
      sql: `delete from ${name} where ctid = any(array(select t.ctid from ${name} t join sync.runs r on r.id = t.run_id
      where r.status <> 'running' and ${older('r.finished_at')} limit $2))`,
    }),
  ),
  {
    name: 'sync.list_pages',
    days: 'day',
    sql: `delete from sync.list_pages where (stream, name) in
      (select stream, name from sync.list_pages where ${older('read_at')} order by 1, 2 limit $2)`,
  },
  {
    name: 'sync.detail_tags',
    days: 'day',
    sql: `delete from sync.detail_tags where (stream, key) in
      (select stream, key from sync.detail_tags where ${older('read_at')} order by 1, 2 limit $2)`,
  },
  {
    name: 'sync.requests',
    days: 'day',
    sql: `delete from sync.requests where id in
      (select id from sync.requests where ${older('finished_at')} order by id limit $2)`,
  },
]

/** A deletion of rows of the mirror, which are counted. Returns the rows. */
const counted = (stream: string, deletion: string): string =>
  `with gone as (${deletion} returning _deleted_at), noted as (${notingGone(stream, 'gone')}) select from gone`

/**
 * Days and years that have passed. Their records were not deleted upstream, so the change log has no entry for them.
 */
function pastDays(): readonly Rule[] {
  return streams.flatMap((stream): Rule[] => {
    if (stream.horizon === undefined) return []
    const key = stream.key.map(identifier).join(', ')
    const past =
      stream.horizon === 'date' ? 'date < current_date - $1::int' : 'year < extract(year from current_date - $1::int)'
    const table = `mirror.${identifier(stream.name)}`
    const sql = counted(
      stream.name,
      `delete from ${table} where (${key}) in (select ${key} from ${table} where ${past} limit $2)`,
    )
    return [{ name: `mirror.${stream.name}`, days: 'history', sql }]
  })
}

const belowDays = streams.filter((stream) => parentOf(stream)?.horizon === 'date')

/** What hung below slots whose day has passed goes after them. */
const belowPastDays = belowDays.map((stream): Rule => {
  const parent = streamNamed(stream.parent ?? '')
  const table = `mirror.${identifier(stream.name)}`
  const key = stream.key.map((column) => `c.${identifier(column)}`).join(', ')
  const same = parent.key.map((column, index) => {
    const own = stream.parentKey?.[index] ?? column
    return `p.${identifier(column)} = c.${identifier(own)}`
  })
  // Rows younger than the limit may be ahead of a parent that is about to be written.
  const sql = `delete from ${table} where (${stream.key.map(identifier).join(', ')}) in (select ${key} from ${table} c
          where ${older('c._read_at')} and not exists (select from mirror.${identifier(parent.name)} p where ${same.join(' and ')})
          limit $2)`
  return { name: `mirror.${stream.name}`, days: 'history', sql: counted(stream.name, sql) }
})

/** What is remembered of details below slots that are no longer there. */
const forgottenSlots: Rule = {
  name: 'sync.records',
  days: 'history',
  sql: `delete from sync.records where (stream, key) in (select r.stream, r.key from sync.records r
    where r.stream in (${belowDays.map((stream) => `'${stream.name}'`).join(', ')})
      and ${older('r.changed_at')} limit $2)`,
}

const rules: readonly Rule[] = [
  changeLog,
  runs,
  changes,
  requestCounts,
  deliveries,
  freshness,
  ...finishedWork,
  ...pastDays(),
  ...belowPastDays,
  forgottenSlots,
]

const defaultBatch = 2_000
/** A calendar month of a quota reaches back no further. */
const quotaDays = 62
const maxRounds = 500 // per rule and call: what is left then goes next time

/**
 * Deletes what is old enough, in batches; stops early when the signal is aborted. Returns rows deleted per table, and
 * months.
 */
export async function pruneHistory(
  db: Queryable,
  options: RetentionOptions,
): Promise<Readonly<Record<string, number>>> {
  const { historyDays, batch = defaultBatch, signal, onFailure } = options
  const failed = (table: string, error: unknown): void => {
    if (onFailure === undefined) throw error
    onFailure(table, reasonOf(error))
  }
  const deleted: Record<string, number> = {}
  const steps: readonly [string, () => Promise<void>][] = [
    [
      'mirror.change_log',
      async () => {
        const months = await dropLogMonths(db, historyDays, failed)
        if (months > 0) deleted['months of mirror.change_log'] = months
      },
    ],
    ...rules.map((rule): [string, () => Promise<void>] => [
      rule.name,
      async () => {
        const days = { history: historyDays, week: Math.min(7, historyDays), day: 1, none: 0, quota: quotaDays }[
          rule.days
        ]
        for (let round = 0; round < maxRounds && signal?.aborted !== true; round++) {
          const { rowCount } = await db.query(rule.sql, [days, batch])
          if (rowCount === null || rowCount === 0) break
          deleted[rule.name] = (deleted[rule.name] ?? 0) + rowCount
          if (rowCount < batch) break
        }
      },
    ]),
  ]
  for (const [table, step] of steps) {
    if (signal?.aborted === true) break
    await step().catch((error: unknown) => failed(table, error))
  }
  return deleted
}

/** What Postgres says, with what is in the way: the views on a table, the rows that refer to it. */
const reasonOf = (error: unknown): string =>
  [messageOf(error), (error as { readonly detail?: string }).detail].filter((text) => text !== undefined).join(': ')
