// Requests and runs: what is asked for, what is running, what came of it.

import { descendantsOf, streamNamed } from '../catalog/catalog.ts'
import type { Queryable } from '../database/sql.ts'

export type RunStatus = 'running' | 'done' | 'partial' | 'held' | 'failed'

export type RunCounts = {
  readonly pages: number
  readonly requests: number
  readonly retries: number
  readonly read: number
  readonly inserted: number
  readonly updated: number
  readonly unchanged: number
  readonly deleted: number
  readonly quarantined: number
  readonly held: number
  readonly bytes: number
}

const countNames = [
  'pages',
  'requests',
  'retries',
  'read',
  'inserted',
  'updated',
  'unchanged',
  'deleted',
  'quarantined',
  'held',
  'bytes',
] as const

export type Run = { [K in keyof RunCounts]: string } & {
  readonly id: string
  readonly stream: string
  readonly trigger: string
  readonly status: RunStatus
  readonly started_at: Date
  readonly finished_at: Date | null
  readonly error: string | null
  readonly full_read: boolean
  readonly phase: string
  readonly swept_at: Date | null
  readonly total: string | null
  readonly plan: unknown
  readonly warnings: readonly string[]
}

/** One stream of an open request, with the state of its run. */
export type OpenStream = {
  readonly request_id: string
  readonly trigger: string
  readonly full_read: boolean
  readonly stream: string
  readonly run_id: string | null
  readonly run_status: RunStatus | null
  readonly swept: boolean
}

/** Asks for a sync of streams. Returns the request's id. */
export async function createRequest(
  db: Queryable,
  request: { readonly trigger: string; readonly streams: readonly string[]; readonly full: boolean },
): Promise<string> {
  const { rows } = await db.query<{ id: string }>(
    `with r as (insert into sync.requests (trigger, full_read) values ($1, $2) returning id),
          s as (insert into sync.request_streams (request_id, stream) select r.id, unnest($3::text[]) from r)
     select id from r`,
    [request.trigger, request.full, request.streams],
  )
  return rows[0]?.id ?? ''
}

/** True when an open request already waits to start a run of this stream. */
export async function isRequested(db: Queryable, stream: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `select 1 from sync.request_streams s join sync.requests r on r.id = s.request_id
     where r.finished_at is null and s.stream = $1 and s.run_id is null limit 1`,
    [stream],
  )
  return (rowCount ?? 0) > 0
}

/** All streams of all open requests. */
export async function openStreams(db: Queryable): Promise<readonly OpenStream[]> {
  const { rows } = await db.query<OpenStream>(
    `select s.request_id, q.trigger, q.full_read, s.stream, s.run_id, r.status as run_status,
       coalesce(r.swept_at is not null, false) as swept
     from sync.requests q join sync.request_streams s on s.request_id = q.id left join sync.runs r on r.id = s.run_id
     where q.finished_at is null order by q.id`,
  )
  return rows
}

/** Streams with a running run. */
export async function runningStreams(db: Queryable): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ stream: string }>(`select stream from sync.runs where status = 'running'`)
  return new Set(rows.map((row) => row.stream))
}

/** Starts a run for all named requests. Returns its id. */
export async function startRun(
  db: Queryable,
  run: {
    readonly stream: string
    readonly trigger: string
    readonly full: boolean
    readonly requestIds: readonly string[]
  },
): Promise<string> {
  const { rows } = await db.query<{ id: string }>(
    `insert into sync.runs (stream, trigger, full_read) values ($1, $2, $3) returning id`,
    [run.stream, run.trigger, run.full],
  )
  const id = rows[0]?.id ?? ''
  await db.query(`update sync.request_streams set run_id = $1 where stream = $2 and request_id = any($3::bigint[])`, [
    id,
    run.stream,
    run.requestIds,
  ])
  return id
}

/** Adds to a run's counts, in the transaction of the work that is counted. */
export async function addCounts(db: Queryable, runId: string, counts: Partial<RunCounts>): Promise<void> {
  const given = countNames.filter((name) => (counts[name] ?? 0) !== 0)
  if (given.length === 0) return
  await db.query(
    `update sync.runs set ${given.map((name, i) => `${name} = ${name} + $${i + 2}`).join(', ')} where id = $1`,
    [runId, ...given.map((name) => counts[name])],
  )
}

/** Notes something a person may want to know of a run; the same text once. At most 50 are kept. */
export async function addWarnings(db: Queryable, runId: string, warnings: readonly string[]): Promise<void> {
  if (warnings.length === 0) return
  await db.query(
    `update sync.runs set warnings = (
       select jsonb_agg(w) from (select distinct w from jsonb_array_elements(warnings || $2::jsonb) w limit 50) d)
     where id = $1`,
    [runId, JSON.stringify(warnings)],
  )
}

/** Notes why a run is not all it should be; the first reason stays. */
export async function noteRunError(db: Queryable, runId: string, error: string): Promise<void> {
  await db.query(`update sync.runs set error = coalesce(error, $2) where id = $1`, [runId, error.slice(0, 2_000)])
}

/** Marks a run's list as completely read (or given up): what builds on it may start. */
export async function markSwept(db: Queryable, runId: string, total: number | null): Promise<void> {
  await db.query(`update sync.runs set swept_at = clock_timestamp(), phase = 'details', total = $2 where id = $1`, [
    runId,
    total,
  ])
}

/** Running runs without an open task, with what decides their status. */
export async function idleRuns(db: Queryable): Promise<
  readonly {
    id: string
    stream: string
    held: number
    error: string | null
    read: number
    failedKinds: readonly string[]
    failure: string | null
  }[]
> {
  const { rows } = await db.query<{
    id: string
    stream: string
    held: string
    error: string | null
    read: string
    failed_kinds: string[] | null
    failure: string | null
  }>(
    `select r.id, r.stream, r.held, r.error, r.read, f.kinds as failed_kinds, f.failure
     from sync.runs r
     left join lateral (
       select array_agg(distinct t.kind) as kinds, min(t.error) as failure from sync.tasks t
       where t.run_id = r.id and t.status = 'failed') f on true
     where r.status = 'running'
       and not exists (select 1 from sync.tasks t where t.run_id = r.id and t.status in ('waiting', 'running'))`,
  )
  return rows.map((row) => ({
    id: row.id,
    stream: row.stream,
    held: Number(row.held),
    error: row.error,
    read: Number(row.read),
    failedKinds: row.failed_kinds ?? [],
    failure: row.failure,
  }))
}

/** Ends a run and brings its stream's state up to date. */
export async function finishRun(
  db: Queryable,
  run: { readonly id: string; readonly stream: string; readonly status: RunStatus; readonly error: string | null },
): Promise<void> {
  const { rows } = await db.query<{ changed: boolean }>(
    `update sync.runs set status = $2, error = $3, phase = 'finished', finished_at = clock_timestamp(),
       swept_at = coalesce(swept_at, clock_timestamp())
     where id = $1 returning inserted + deleted > 0 as changed`,
    [run.id, run.status, run.error],
  )
  const stream = streamNamed(run.stream)
  const inside = descendantsOf(run.stream).filter((child) => child.reads.kind === 'inside')
  for (const each of [stream, ...inside])
    await db.query(
      `update sync.streams s set last_run_id = $2,
         as_of = case when $3 = 'done' then coalesce((select started_at from sync.runs where id = $2 and trigger <> 'release'), s.as_of)
           else s.as_of end
       where stream = $1`,
      [each.name, run.id, run.status],
    )
  if (rows[0]?.changed === true) await countRows(db, affectedBy(run.stream))
}

/** The tables a run of this stream may have added rows to or taken rows from. */
function affectedBy(name: string): readonly string[] {
  const stream = streamNamed(name)
  const embeds = (stream.embeds ?? []).flatMap((embed) => affectedBy(embed.stream))
  return [...new Set([name, ...descendantsOf(name).map((child) => child.name), ...embeds])]
}

/** Counts live rows into sync.streams. */
export async function countRows(db: Queryable, names: readonly string[]): Promise<void> {
  for (const name of names)
    await db.query(
      `update sync.streams set rows = (select count(*) from mirror.${streamNamed(name).name} where _deleted_at is null)
       where stream = $1`,
      [name],
    )
}

/** Ends the requests all of whose runs have ended. */
export async function finishRequests(db: Queryable): Promise<void> {
  await db.query(
    `update sync.requests q set finished_at = clock_timestamp() where finished_at is null and not exists (
       select 1 from sync.request_streams s left join sync.runs r on r.id = s.run_id
       where s.request_id = q.id and (r.id is null or r.status = 'running'))`,
  )
}

/** The runs of a request, in the order they started; streams whose run has not started are left out. */
export async function runsOfRequest(
  db: Queryable,
  requestId: string,
): Promise<{ finished: boolean; streams: number; runs: readonly Run[] }> {
  const request = await db.query<{ finished: boolean; streams: number }>(
    `select finished_at is not null as finished, (select count(*)::int from sync.request_streams where request_id = $1) as streams
     from sync.requests where id = $1`,
    [requestId],
  )
  const { rows } = await db.query<Run>(
    `select r.* from sync.request_streams s join sync.runs r on r.id = s.run_id where s.request_id = $1 order by r.id`,
    [requestId],
  )
  return { finished: request.rows[0]?.finished ?? true, streams: request.rows[0]?.streams ?? 0, runs: rows }
}

/** The newest runs, newest first. */
export async function listRuns(
  db: Queryable,
  filter: { readonly stream?: string; readonly limit: number },
): Promise<readonly Run[]> {
  const { rows } = await db.query<Run>(
    `select * from sync.runs where $1::text is null or stream = $1 order by id desc limit $2`,
    [filter.stream ?? null, filter.limit],
  )
  return rows
}
