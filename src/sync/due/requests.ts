// Requests: which streams to read.

import type { Turn } from '../../catalog/turns.ts'
import type { Queryable } from '../../database/sql.ts'
import type { RunStatus } from '../runs/runs.ts'

/** One stream of an open request, with the state of its run. */
export type OpenStream = {
  readonly request_id: string
  readonly trigger: string
  readonly full_read: boolean
  readonly hot: boolean
  readonly stream: string
  readonly run_id: string | null
  readonly run_status: RunStatus | null
  readonly swept: boolean
}

type RequestedSync = {
  readonly trigger: string
  readonly streams: readonly string[]
  readonly full: boolean
  /** Only what is most likely to have changed. */
  readonly hot?: boolean
}

/** Asks for a sync of streams. Returns the request's id. */
export async function createRequest(
  db: Queryable,
  { trigger, streams, full, hot = false }: RequestedSync,
): Promise<string> {
  const { rows } = await db.query<{ id: string }>(
    `with r as (insert into sync.requests (trigger, full_read, hot) values ($1, $2, $3) returning id),
       s as (insert into sync.request_streams (request_id, stream) select r.id, unnest($4::text[]) from r)
     select id from r`,
    [trigger, full, hot, streams],
  )
  return String(rows[0]?.id)
}

/** True when an open request already waits to start this run. */
export async function isRequested(db: Queryable, { stream, hot }: Turn): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from sync.request_streams s join sync.requests r on r.id = s.request_id
     where r.finished_at is null and r.hot = $2 and s.stream = $1 and s.run_id is null limit 1`,
    [stream, hot],
  )
  return rowCount === 1
}

/** The streams of open requests, without what a pause keeps from being started. */
export async function openStreams(db: Queryable): Promise<readonly OpenStream[]> {
  const { rows } = await db.query<OpenStream>(
    `select s.request_id, q.trigger, q.full_read, q.hot, s.stream, s.run_id, r.status as run_status, r.swept_at is not null as swept
     from sync.requests q join sync.request_streams s on s.request_id = q.id left join sync.runs r on r.id = s.run_id
     where q.finished_at is null and (r.id is not null
       or not exists (select from sync.streams p where p.stream = s.stream and p.paused_by is not null)) order by q.id`,
  )
  return rows
}

/** Removes paused streams from all requests, unless their runs have started. */
export async function dropPaused(db: Queryable): Promise<void> {
  await db.query(
    `delete from sync.request_streams s using sync.streams p
     where s.run_id is null and p.stream = s.stream and p.paused_by is not null`,
  )
}

/** Ends the requests whose runs have all ended; a refresh that is not claimed yet has none. */
export async function finishRequests(db: Queryable): Promise<void> {
  await db.query(
    `update sync.requests q set finished_at = clock_timestamp()
     where q.finished_at is null
       and (q.stream is null or exists (select from sync.request_streams p where p.request_id = q.id))
       and not exists (select from sync.request_streams s left join sync.runs r on r.id = s.run_id
         where s.request_id = q.id and (r.id is null or r.status = 'running'))`,
  )
}
