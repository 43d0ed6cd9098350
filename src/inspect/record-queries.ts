// What the database knows of one record: its row, the rows below it, history, runs and changes. Reads only.

import { columnType } from '../catalog/columns.ts'
import type { StreamDef } from '../catalog/types.ts'
import { hasKey, identifier, isReadAhead, type Queryable } from '../database/sql.ts'
import type { Reason } from '../sync/due/reasons.ts'
import type { RunStatus } from '../sync/runs/runs.ts'

/** A row of the mirror; values as Postgres writes them. */
export type RecordRow = {
  readonly values: Readonly<Record<string, string | null>>
  /** JSON text, exact. */
  readonly payload: string
  readonly source: string
  readonly readAt: Date
  /** The reading time is ahead of the database's clock. */
  readonly isAhead: boolean
  readonly changedAt: Date
  readonly deletedAt: Date | null
}

/** The row of this key; null when there is none. Throws Postgres's error for a key of the wrong type. */
export async function recordRow(db: Queryable, stream: StreamDef, key: readonly string[]): Promise<RecordRow | null> {
  type Fetched = Omit<RecordRow, 'values'> & { values: (string | null)[] }
  const list = stream.columns.map(({ name }) => `t.${identifier(name)}::text`).join(', ')
  const { rows } = await db.query<Fetched>(
    `select array[${list}] as values, t._payload::text as payload, t._source as source, t._read_at as "readAt",
       ${isReadAhead('t')} as "isAhead",
       t._changed_at as "changedAt", t._deleted_at as "deletedAt"
     from mirror.${identifier(stream.name)} t where ${hasKey(stream, 't', stream.key)}`,
    [...key],
  )
  const [row] = rows
  if (row === undefined) return null
  return { ...row, values: Object.fromEntries(stream.columns.map(({ name }, i) => [name, row.values[i] ?? null])) }
}

/** The rows below a record in one stream. */
export type Below = {
  readonly stream: string
  readonly live: number
  readonly deleted: number
  /** Endpoints that answered the live rows. */
  readonly sources: readonly string[]
  /** When the whole collection was last read; null: never, or it comes with another read. */
  readonly detailReadAt: Date | null
}

/** Counts the rows below a record in one stream. */
export async function rowsBelow(db: Queryable, child: StreamDef, key: readonly string[], text: string): Promise<Below> {
  const { rows } = await db.query<Below>(
    `select $${key.length + 1}::text as stream, count(*) filter (where t._deleted_at is null)::int as live,
       count(t._deleted_at)::int as deleted,
       coalesce(array_agg(distinct t._source) filter (where t._deleted_at is null), '{}') as sources,
       (select r.detail_read_at from sync.records r where r.stream = $${key.length + 1} and r.key = $${key.length + 2})
         as "detailReadAt"
     from mirror.${identifier(child.name)} t where ${hasKey(child, 't', child.parentKey ?? [])}`,
    [...key, child.name, text],
  )
  return rows[0] ?? { stream: child.name, live: 0, deleted: 0, sources: [], detailReadAt: null }
}

export type PastRead = {
  readonly at: Date
  readonly runId: string
  readonly reason: Reason | null
  readonly meaning: string | null
}

/** The tasks of a stream that read this key, newest first. They are kept for a day. */
export async function pastReads(db: Queryable, stream: string, key: string): Promise<readonly PastRead[]> {
  const { rows } = await db.query<PastRead>(
    `select t.finished_at as at, t.run_id as "runId", r.reason, r.meaning
     from sync.tasks t left join sync.reasons r on r.number = t.reason
     where t.stream = $1 and t.status = 'done' and (t.payload -> 'keys' ? $2 or t.kind = 'sweep'
       and exists (select from sync.sweep_pages p where p.run_id = t.run_id and $2 = any (p.keys)))
     order by t.id desc limit 10`,
    [stream, key],
  )
  return rows
}

export type HistoryEntry = {
  readonly seq: string
  readonly operation: 'insert' | 'update' | 'delete'
  readonly changedAt: Date
  /** `{column: [old, new]}` as JSON text. */
  readonly diff: string
}

/** Changes of one record, newest first, and how many there are. */
export async function recordHistory(
  db: Queryable,
  stream: StreamDef,
  key: readonly string[],
  limit: number,
): Promise<{ readonly total: number; readonly entries: readonly HistoryEntry[] }> {
  const object = stream.key.map((name, index) => `'${name}', $${index + 2}::${columnType(stream, name)}`).join(', ')
  const { rows } = await db.query<HistoryEntry & { total: number }>(
    `select c.seq::text as seq, c.operation, c.changed_at as "changedAt", c.diff::text as diff, count(*) over ()::int as total
     from mirror.changes c where c.stream = $1 and c.key = jsonb_build_object(${object})
     order by c.seq desc limit ${limit}`,
    [stream.name, ...key],
  )
  return { total: rows[0]?.total ?? 0, entries: rows.map(({ total: _, ...entry }) => entry) }
}

export type RecordChange = {
  readonly id: string
  readonly operation: string
  readonly status: string
  /** Fields as JSON text; null once the person was erased. */
  readonly body: string | null
  readonly error: string | null
  readonly enqueuedAt: Date
  readonly settledAt: Date | null
}

/** Which changes concern a record. */
type ChangeScope = {
  /** `rental:42` or `user:7`. */
  readonly aggregate: string
  /** True for the rental or user itself: every change of its aggregate concerns it. */
  readonly whole: boolean
  readonly stream: string
  readonly key: readonly string[]
  /** The key as one text. */
  readonly text: string
}

/** Changes in the outbox that wrote or will write a record: open ones first, then the newest. */
export async function recordChanges(
  db: Queryable,
  scope: ChangeScope,
  limit: number,
): Promise<readonly RecordChange[]> {
  const { rows } = await db.query<RecordChange>(
    `select q.id::text as id, q.operation, q.status, q.body::text as body, q.error, q.enqueued_at as "enqueuedAt",
       q.settled_at as "settledAt"
     from outbox.queue q join outbox.operations o on o.operation = q.operation
     where q.aggregate = $1 and ($2 or o.stream = $3 and (q.record_key = $4 or q.record_key is null and
       ($5 = 1 or exists (select from jsonb_each_text(q.target) t where t.key not in ('rentalId', 'userId') and t.value = $6))))
     order by q.settled_at is not null, q.id desc limit ${limit}`,
    [scope.aggregate, scope.whole, scope.stream, scope.text, scope.key.length, scope.key.at(-1)],
  )
  return rows
}

export type RunAround = { readonly id: string; readonly startedAt: Date; readonly status: RunStatus }

/** The newest run of a stream that fits; null when none does. */
async function newestRun<Run extends RunAround>(
  db: Queryable,
  [condition, more = '']: readonly [condition: string, columns?: string],
  values: readonly unknown[],
): Promise<Run | null> {
  const { rows } = await db.query<Run>(
    `select r.id, r.started_at as "startedAt", r.status ${more} from sync.runs r
     where r.stream = $1 and ${condition} order by r.id desc limit 1`,
    [...values],
  )
  return rows[0] ?? null
}

/** The run of a stream that deleted records while something happened; null when none did. */
export const deletingRunAround = (db: Queryable, stream: string, instant: Date): Promise<RunAround | null> =>
  newestRun(
    db,
    ['r.started_at <= $2 and r.deleted > 0 and (r.finished_at is null or r.finished_at >= $2)'],
    [stream, instant],
  )

/** `seen`: the key was on one of its pages. */
export type LastSweep = RunAround & { readonly seen: boolean }

/** The last complete sweep; null if it is unknown, because the pages of a sweep are stored for a day at most. */
export function lastSweep(db: Queryable, stream: string, key: string): Promise<LastSweep | null> {
  const pages = 'select from sync.sweep_pages p where p.run_id = r.id'
  const isSweep = `not r.hot and r.swept_at is not null and r.status in ('done', 'held') and exists (${pages})`
  return newestRun(db, [isSweep, `, exists (${pages} and $2 = any(p.keys)) as seen`], [stream, key])
}

/** The run that holds the deletion of this key; null: none does, or a later run has settled it. */
export async function heldBy(db: Queryable, stream: string, key: string): Promise<string | null> {
  const holds = `exists (select from sync.held_plans p where p.run_id = r.id)
    and exists (select from sync.held h where h.run_id = r.id and h.key = $2 and h.released_at is null)`
  return (await newestRun(db, [holds], [stream, key]))?.id ?? null
}
