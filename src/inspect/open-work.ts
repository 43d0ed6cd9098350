// What the open syncs have done and still have to do: what an estimate is made of. One query.

import { sql } from 'kysely'
import { on, type Queryable } from '../database/sql.ts'

export type OpenRun = {
  readonly stream: string
  /**
   * `waiting`: requested, not started. `listing`: its list is being read. `swept`: the list is done, or there is
   * none, and the due details are not known yet. `detailed`: the rest is in tasks. `ended`.
   */
  readonly state: 'waiting' | 'listing' | 'swept' | 'detailed' | 'ended'
  /** The details of all records are read: the stream was never read completely, or everything must be read again. */
  readonly isWhole: boolean
  readonly requests: number
  /** Of them, pages of the list. */
  readonly pages: number
  /** Records of the list, as far as that is known. */
  readonly total: number | null
  /** Records in tasks, by the state of the task. */
  readonly keys: { readonly waiting: number; readonly running: number; readonly done: number }
}

export type OpenWork = {
  /** Runs of open requests, those that run, and those that wait to begin. */
  readonly runs: readonly OpenRun[]
  /** Rows by stream, as counted when a run last ended. */
  readonly rows: ReadonlyMap<string, number>
  /** Reads that show more than those they repeat. */
  readonly needed: ReadonlySet<string>
  /** Since the oldest of the runs began, in seconds; 0: none began. */
  readonly elapsedS: number
  /** Reads since the minute before the present one began, and how long that is. */
  readonly lately: { readonly reads: number; readonly seconds: number }
}

const keysOf = (status: string) =>
  sql<number>`coalesce(sum(jsonb_array_length(payload -> 'keys')) filter (where status = ${status} and kind = 'details'), 0)::int`

const lately = sql<Date>`date_trunc('minute', clock_timestamp() - interval '1 min')`

/** Reads it. */
export async function openWork(db: Queryable): Promise<OpenWork> {
  const rows = await on(db)
    .with('open', (q) =>
      q
        .selectFrom('sync.requests as q')
        .innerJoin('sync.request_streams as s', 's.request_id', 'q.id')
        .select(['s.stream', 's.run_id as runId', 'q.full_read as full'])
        .where('q.finished_at', 'is', null)
        .where('q.record_key', 'is', null)
        .where('q.hot', '=', false)
        .union(
          q
            .selectFrom('sync.runs')
            .select(['stream', 'id as runId', 'full_read as full'])
            .where('status', '=', 'running')
            .where('record_key', 'is', null)
            .where('hot', '=', false),
        ),
    )
    .selectFrom('sync.streams as s')
    .leftJoin('open as o', 'o.stream', 's.stream')
    .leftJoin('sync.runs as r', 'r.id', 'o.runId')
    .leftJoinLateral(
      (q) =>
        q
          .selectFrom('sync.tasks')
          .select([keysOf('waiting').as('waiting'), keysOf('running').as('running'), keysOf('done').as('done')])
          .select([
            sql<boolean>`bool_or(kind in ('sweep', 'plan') and status in ('waiting', 'running'))`.as('isPlanning'),
            sql<number | null>`max((checkpoint -> 'totals' ->> -1)::float8) filter (where kind = 'sweep')`.as('total'),
          ])
          .whereRef('run_id', '=', 'r.id')
          .as('t'),
      (join) => join.onTrue(),
    )
    .distinctOn(['s.stream', 'o.runId'])
    .select((eb) => [
      's.stream',
      eb.cast<number>('s.rows', 'float8').as('rows'),
      sql<OpenRun['state'] | null>`case when o.stream is null then null when r.id is null then 'waiting'
        when r.status <> 'running' then 'ended' when r.swept_at is null and r.phase = 'sweep' then 'listing'
        when t."isPlanning" then 'swept' else 'detailed' end`.as('state'),
      sql<boolean>`s.as_of is null or coalesce(r.full_read, o.full)`.as('isWhole'),
      sql<number>`coalesce(r.requests, 0)::float8`.as('requests'),
      sql<number>`coalesce(r.pages, 0)::float8`.as('pages'),
      // Of a further pass the total is that of the pass.
      sql<
        number | null
      >`coalesce(r.total, greatest(t.total, case when t.total is not null then r.read end))::float8`.as('total'),
      't.waiting',
      't.running',
      't.done',
      sql<string[]>`array(select endpoint from sync.reads where state = 'needed')`.as('needed'),
      sql<number>`extract(epoch from clock_timestamp() - min(r.started_at) over ())::float8`.as('elapsedS'),
      sql<number>`(select coalesce(sum(calls), 0) from sync.traffic where minute >= ${lately} and starts_with(endpoint, 'GET '))::float8`.as(
        'reads',
      ),
      sql<number>`extract(epoch from clock_timestamp() - ${lately})::float8`.as('seconds'),
    ])
    .orderBy('s.stream')
    .orderBy('o.runId')
    .orderBy('o.full', 'desc')
    .execute()
  return {
    runs: rows.flatMap(({ stream, state, isWhole, requests, pages, total, waiting, running, done }) =>
      state === null
        ? []
        : [{ stream, state, isWhole, requests, pages, total, keys: { waiting, running, done } } as OpenRun],
    ),
    rows: new Map(rows.map(({ stream, rows }) => [stream, rows])),
    needed: new Set(rows[0]?.needed ?? []),
    elapsedS: rows[0]?.elapsedS ?? 0,
    lately: { reads: rows[0]?.reads ?? 0, seconds: rows[0]?.seconds ?? 0 },
  }
}
