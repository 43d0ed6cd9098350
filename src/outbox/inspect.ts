// The outbox for operators: lists of changes, one change in full, and OUTBOX_LIMIT.

import { on, type Queryable } from '../database/sql.ts'
import { type Status, stateSets } from './states.ts'

/** A row of outbox.changes. */
export type ChangeInfo = {
  readonly id: string
  readonly operation: string
  readonly target: Record<string, unknown>
  readonly body: Record<string, unknown> | null
  readonly aggregate: string
  readonly reference: string | null
  readonly enqueued_by: string
  readonly status: Status
  readonly attempts: number
  readonly next_attempt_at: Date | null
  readonly result: Record<string, unknown> | null
  readonly request: Record<string, unknown> | null
  readonly response: Record<string, unknown> | null
  readonly conflict: Record<string, { base: unknown; local: unknown; remote: unknown }> | null
  readonly error: string | null
  readonly warning: string | null
  readonly enqueued_at: Date
  readonly sent_at: Date | null
  readonly settled_at: Date | null
  /** The hash of what a decision would do; lists leave it out. */
  readonly plan?: string
}

type InCamelCase<N extends string> = N extends `${infer Word}_${infer Rest}`
  ? `${Word}${Capitalize<InCamelCase<Rest>>}`
  : N

/** A change for JSON and programs: its columns with names in camelCase. */
export type ChangeFacts = { readonly [K in keyof ChangeInfo as InCamelCase<K>]: ChangeInfo[K] }

/** Makes {@link ChangeFacts} of a change; the data in its columns keeps its names. */
export const changeFacts = (change: ChangeInfo): ChangeFacts =>
  Object.fromEntries(
    Object.entries(change).map(([column, value]) => [
      column.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  ) as ChangeFacts

type ChangeFilter = {
  readonly statuses?: readonly Status[]
  readonly aggregate?: string
  /** Settled at or after this instant, or not settled at all. */
  readonly since?: Date
  readonly limit: number
}

/** All columns except `plan`. */
const listed = `id, operation, target, body, aggregate, reference, enqueued_by, status, attempts, next_attempt_at, result, request,
  response, conflict, error, warning, enqueued_at, sent_at, settled_at`

/** Newest first. The view's other columns are worked out for those listed, not for each that is sorted: of 51,200, 31 ms instead of 420. */
export async function listChanges(db: Queryable, filter: ChangeFilter): Promise<readonly ChangeInfo[]> {
  const { rows } = await db.query<ChangeInfo>(
    `select ${listed} from outbox.changes where id = any(array(
       select id from outbox.changes where ($1::text[] is null or status = any($1)) and ($2::text is null or aggregate = $2)
         and ($3::timestamptz is null or settled_at is null or settled_at >= $3) order by id desc limit $4)) order by id desc`,
    [filter.statuses ?? null, filter.aggregate ?? null, filter.since ?? null, filter.limit],
  )
  return rows
}

export async function findChange(db: Queryable, id: string): Promise<ChangeInfo | null> {
  const { rows } = await db.query<ChangeInfo>(`select * from outbox.changes where id = $1`, [id])
  return rows[0] ?? null
}

type Neighbour = { readonly id: string; readonly operation: string; readonly status: Status }

/** The changes that a change waits for, and those that wait for it. */
export async function neighboursOf(
  db: Queryable,
  id: string,
): Promise<{ readonly waitsFor: readonly Neighbour[]; readonly neededBy: readonly Neighbour[] }> {
  const { rows } = await db.query<Neighbour & { earlier: boolean }>(
    `select q.id, q.operation, q.status, true as earlier from outbox.dependencies d
       join outbox.queue q on q.id = d.depends_on where d.change_id = $1
     union all
     select q.id, q.operation, q.status, false from outbox.dependencies d
       join outbox.queue q on q.id = d.change_id where d.depends_on = $1
     order by 1`,
    [id],
  )
  const pick = (earlier: boolean): readonly Neighbour[] =>
    rows
      .filter((row) => row.earlier === earlier)
      .map(({ id: number, operation, status }) => ({ id: number, operation, status }))
  return { waitsFor: pick(true), neededBy: pick(false) }
}

/** Ids of settled changes that need a decision. */
export async function changesForPerson(db: Queryable): Promise<readonly string[]> {
  const rows = await on(db)
    .selectFrom('outbox.queue')
    .select('id')
    .where('status', 'in', stateSets.person)
    .orderBy('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** Stores how many open changes a role may have; null: any number. Writes nothing if it is unchanged. */
export async function saveOutboxLimit(db: Queryable, limit: number | null): Promise<void> {
  await on(db)
    .updateTable('sync.settings')
    .set({ outbox_limit: limit })
    .where('outbox_limit', 'is distinct from', limit)
    .execute()
}
