// Refreshes: requests to read a stream, or one record, now; made by `mirror.refresh` or the command.

import { sql } from 'kysely'
import { companyStreamOf, streams } from '../../catalog/catalog.ts'
import { columnType } from '../../catalog/columns.ts'
import type { StreamDef } from '../../catalog/types.ts'
import type { RepeatableStep } from '../../database/repeatable-step.ts'
import { fillSql, keyTextSql, literal, now, on, type Queryable } from '../../database/sql.ts'
import { isDataError, sqlStateOf } from '../../database/sql-states.ts'
import { BoatMirrorError, messageOf } from '../../errors.ts'
import { givenJson } from '../../json/plain.ts'
import { nameOfPartner } from '../partners.ts'
import { refreshTrigger } from '../runs/runs.ts'
import refresh from './refresh.sql'

/** What `mirror.refresh` notifies, with a constant payload. */
export const refreshChannel = 'boat_mirror_refresh'

/** Refreshes that a role may ask for in a minute. */
const perMinute = 60

/** A `when` of a `case` for each stream. */
const byStream = (result: (stream: StreamDef) => string): string =>
  streams.map((stream) => `when ${literal(stream.name)} then ${result(stream)}`).join('\n    ')

const typed = (stream: StreamDef): readonly string[] =>
  stream.key.map((name) => `(wanted_key ->> ${literal(name)})::${columnType(stream, name)}`)

/** The company of the requested record. */
function company(stream: StreamDef): string {
  const [key = ''] = typed(stream)
  const told = companyStreamOf(stream)
  return told === undefined ? 'null' : `company_access.of_${told.name}(${key})`
}

export const refreshFunction: RepeatableStep = {
  name: 'refresh-function',
  sql: fillSql(refresh, {
    columns: byStream(({ key }) => `array[${key.map(literal).join(', ')}]`),
    key: byStream((stream) => keyTextSql(typed(stream))),
    company: byStream(company),
    types: byStream((stream) => literal(stream.key.map((name) => `${name} ${columnType(stream, name)}`).join(', '))),
    trigger: literal(refreshTrigger),
    channel: literal(refreshChannel),
    per_minute: String(perMinute),
  }),
}

/** The refreshes for who reads them as a table. */
export const refreshesView: RepeatableStep = {
  name: 'refreshes-view',
  views: [
    {
      schema: 'sync',
      name: 'refreshes',
      comment: 'Requests made with mirror.refresh or `boat-mirror refresh`, and their state. Rows are kept for a day.',
      columns: {
        id: ['q.id', 'Number of the request, as returned by mirror.refresh.'],
        stream: ['q.stream', 'Name of the stream and of its table.'],
        key: ['q.record_key', 'Key of the record, for several columns a JSON array of texts; null: the whole stream.'],
        role: [`${nameOfPartner('q.role')}::text collate "default"`, 'The role that requested it.'],
        requested_at: ['q.requested_at', 'When it was requested.'],
        finished_at: ['q.finished_at', 'When it ended; null: it is still running.'],
        state: [
          `case when q.finished_at is null then case when r.runs > 0 then 'running' else 'waiting' end
            when q.error is not null then 'failed' else coalesce(r.worst, 'done') end`,
          'waiting, running, done, partial (not everything could be read), held (deletions need your decision) or failed.',
        ],
        error: ['coalesce(q.error, r.error)', 'Why it is not done.'],
        run_id: ['r.run_id', 'sync.runs.id of its run; of a stream and those above it that of the stream.'],
      },
      source: `from sync.requests q cross join lateral (
          select count(r.id) as runs, min(r.error) as error, max(r.id) as run_id,
            (array_agg(r.status order by array_position(array['failed', 'partial', 'held', 'done'], r.status)))[1] as worst
          from sync.request_streams s left join sync.runs r on r.id = s.run_id where s.request_id = q.id) r
        where q.stream is not null and (select company_access.refuse('refreshes'))`,
    },
  ],
  sql: '',
}

export type RefreshState = 'waiting' | 'running' | 'done' | 'partial' | 'held' | 'failed'

export type Refresh = {
  readonly id: string
  readonly state: RefreshState
  readonly error: string | null
  readonly finished: boolean
}

/**
 * Asks for a refresh; the same one while it is open is that one.
 * @param key values by key column; null: the whole stream
 * @returns the number of the request
 * @throws BoatMirrorError USAGE for a stream or key that there cannot be, and where a minute's refreshes are used up
 */
export async function askRefresh(
  db: Queryable,
  stream: string,
  key: Readonly<Record<string, unknown>> | null,
): Promise<string> {
  try {
    const { rows } = await db.query<{ id: string }>('select mirror.refresh($1, $2::jsonb)::text as id', [
      stream,
      key === null ? null : givenJson(`${stream}: key`, key),
    ])
    return rows[0]?.id ?? ''
  } catch (error) {
    if (!isDataError(error) && !isRefusal(error)) throw error
    throw new BoatMirrorError('USAGE', messageOf(error), { cause: error })
  }
}

/** Too many within a minute, or the stream is paused. */
const isRefusal = (error: unknown): boolean => ['53400', '55000'].includes(sqlStateOf(error) ?? '')

/** A refresh as it stands. @throws BoatMirrorError NOT_FOUND when there is none of this number. */
export async function findRefresh(db: Queryable, id: string): Promise<Refresh> {
  const row = await on(db)
    .selectFrom('sync.refreshes')
    .select(['id', 'state', 'error', sql<boolean>`finished_at is not null`.as('finished')])
    .$narrowType<{ id: string; state: RefreshState }>()
    .where('id', '=', id)
    .executeTakeFirst()
  if (row !== undefined) return row
  throw new BoatMirrorError('NOT_FOUND', `There is no refresh ${id}. Refreshes are kept for a day.`)
}

/** A refresh that has not started. */
export type NewRefresh = {
  readonly id: string
  readonly stream: string
  readonly key: string | null
  readonly isPaused: boolean
}

/** Refreshes without streams to read, oldest first. */
export async function newRefreshes(db: Queryable): Promise<readonly NewRefresh[]> {
  const { rows } = await db.query<NewRefresh>(
    `select q.id, q.stream, q.record_key as key,
       exists (select from sync.streams p where p.stream = q.stream and p.paused_by is not null) as "isPaused"
     from sync.requests q
     where q.stream is not null and q.finished_at is null
       and not exists (select from sync.request_streams s where s.request_id = q.id) order by q.id`,
  )
  return rows
}

/** Records what a request reads. `runId`: the run that already reads it. */
export async function addRequestStreams(
  db: Queryable,
  id: string,
  streams: readonly string[],
  runId: string | null = null,
): Promise<void> {
  await on(db)
    .insertInto('sync.request_streams')
    .values(streams.map((stream) => ({ request_id: id, stream, run_id: runId })))
    .execute()
}

/** Ends a request that nothing can be read for. */
export async function refuseRequest(db: Queryable, id: string, error: string): Promise<void> {
  await on(db).updateTable('sync.requests').set({ error, finished_at: now }).where('id', '=', id).execute()
}
