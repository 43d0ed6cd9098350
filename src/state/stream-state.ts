// When streams are due: sync.streams holds the schedule's truth, BullMQ's schedulers only wake us.

import type { Queryable } from '../database/sql.ts'

export type StreamState = {
  readonly stream: string
  readonly as_of: Date | null
  readonly rows: string
  readonly last_run_id: string | null
  readonly next_due_at: Date | null
  readonly interval_s: string | null
  readonly target_s: string | null
}

/** All streams with what is known of them. */
export async function listStreams(db: Queryable): Promise<readonly StreamState[]> {
  const { rows } = await db.query<StreamState>(`select * from sync.streams order by stream`)
  return rows
}

/** Stores effective intervals and targets, in seconds; a stream without an interval is on no schedule. Due times already set stay. */
export async function saveIntervals(
  db: Queryable,
  streams: readonly { readonly stream: string; readonly intervalS: number | null; readonly targetS: number | null }[],
): Promise<void> {
  await db.query(
    `update sync.streams s set interval_s = t.interval_s, target_s = t.target_s,
       next_due_at = case when t.interval_s is null then null
         else least(s.next_due_at, clock_timestamp() + t.interval_s * interval '1 s') end
     from jsonb_to_recordset($1::jsonb) as t(stream text, interval_s numeric, target_s numeric)
     where s.stream = t.stream and (s.interval_s is distinct from t.interval_s or s.target_s is distinct from t.target_s)`,
    [
      JSON.stringify(
        streams.map(({ stream, intervalS, targetS }) => ({ stream, interval_s: intervalS, target_s: targetS })),
      ),
    ],
  )
}

/**
 * Takes a stream's turn if it is due (at most `earlyS` seconds early) and sets the next one; turns missed meanwhile count as one.
 * Two callers never both get it.
 */
export async function takeTurn(db: Queryable, stream: string, earlyS: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `update sync.streams set next_due_at = greatest(next_due_at, clock_timestamp()) + interval_s * interval '1 s'
     where stream = $1 and interval_s is not null
       and (next_due_at is null or next_due_at <= clock_timestamp() + $2 * interval '1 s')`,
    [stream, earlyS],
  )
  return rowCount === 1
}

/** Streams whose turn came more than `lateS` seconds ago: their wake-up was lost. */
export async function overdueStreams(db: Queryable, lateS: number): Promise<readonly string[]> {
  const { rows } = await db.query<{ stream: string }>(
    `select stream from sync.streams where interval_s is not null and next_due_at < clock_timestamp() - $1 * interval '1 s'
     order by next_due_at`,
    [lateS],
  )
  return rows.map((row) => row.stream)
}

/** Nothing below the parent is due: the stream is as fresh as its parent. */
export async function inheritFreshness(db: Queryable, stream: string, parent: string): Promise<void> {
  await db.query(
    `update sync.streams s set as_of = greatest(s.as_of, p.as_of) from sync.streams p where s.stream = $1 and p.stream = $2`,
    [stream, parent],
  )
}

/** Average requests of a stream's last runs, the first one left out: what a turn costs. */
export async function turnCosts(db: Queryable): Promise<ReadonlyMap<string, number>> {
  const { rows } = await db.query<{ stream: string; cost: number }>(
    `select stream, avg(requests)::float8 as cost from (
       select stream, requests, row_number() over (partition by stream order by id desc) as recent, row_number() over (partition by stream order by id) as nth
       from sync.runs where status in ('done', 'partial', 'held') and trigger = 'schedule' and started_at > now() - interval '7 days') r
     where recent <= 10 group by stream`,
  )
  return new Map(rows.map((row) => [row.stream, row.cost]))
}
