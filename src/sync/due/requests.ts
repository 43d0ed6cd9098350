// Requests: which streams to read.

import { sql } from 'kysely'
import type { Turn } from '../../catalog/turns.ts'
import { on, type Queryable } from '../../database/sql.ts'
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
  const waiting = await on(db)
    .selectFrom('sync.request_streams as s')
    .innerJoin('sync.requests as r', 'r.id', 's.request_id')
    .select('s.stream')
    .where('r.finished_at', 'is', null)
    .where('r.hot', '=', hot)
    .where('s.stream', '=', stream)
    .where('s.run_id', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return waiting !== undefined
}

/** All streams of all open requests. */
export async function openStreams(db: Queryable): Promise<readonly OpenStream[]> {
  return await on(db)
    .selectFrom('sync.requests as q')
    .innerJoin('sync.request_streams as s', 's.request_id', 'q.id')
    .leftJoin('sync.runs as r', 'r.id', 's.run_id')
    .select(['s.request_id', 'q.trigger', 'q.full_read', 'q.hot', 's.stream', 's.run_id', 'r.status as run_status'])
    .select(sql<boolean>`r.swept_at is not null`.as('swept'))
    .where('q.finished_at', 'is', null)
    .orderBy('q.id')
    .execute()
}

/** Removes paused streams from all requests, unless their runs have started. */
export async function dropPaused(db: Queryable): Promise<void> {
  await on(db)
    .deleteFrom('sync.request_streams')
    .where('run_id', 'is', null)
    .where('stream', 'in', (paused) =>
      paused.selectFrom('sync.streams').select('stream').where('paused_by', 'is not', null),
    )
    .execute()
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
