// Runs: what is running, what came of it.

import { type QueryCreator, type Selectable, sql } from 'kysely'
import { descendantsOf, streamNamed, windowsOf } from '../../catalog/catalog.ts'
import type { Turn } from '../../catalog/turns.ts'
import type { MirrorDatabase } from '../../database/schema.generated.ts'
import { now, on, type Queryable } from '../../database/sql.ts'
import { addUpRowChanges } from '../../mirror/kept-counts.ts'
import { makeFollowersDue } from '../due/stream-state.ts'

type RunRow = Selectable<MirrorDatabase['sync.runs']>

export type RunStatus = RunRow['status']

/** What is said to have started the runs of a refresh. */
export const refreshTrigger = 'refresh'

/** What is counted of a run, by its columns. */
export const countNames = [
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
  'unexpected',
] as const

export type RunCounts = Readonly<Record<(typeof countNames)[number], number>>

export type Run = Readonly<Omit<RunRow, 'warnings'>> & { readonly warnings: readonly string[] }

export type RunningRun = Turn & { readonly swept: boolean }

/** The running runs; runs of one record block no other run. */
export const runningRuns = (db: Queryable): Promise<readonly RunningRun[]> =>
  on(db)
    .selectFrom('sync.runs')
    .select(['stream', 'hot', sql<boolean>`swept_at is not null`.as('swept')])
    .where('status', '=', 'running')
    .where('record_key', 'is', null)
    .execute()

/** Starts a run for all named requests, or for one record only (`recordKey`). Returns its id. */
export async function startRun(
  db: Queryable,
  run: Turn & {
    readonly trigger: string
    readonly full: boolean
    readonly requestIds: readonly string[]
    readonly recordKey?: string
  },
): Promise<string> {
  const ofRecord =
    run.recordKey === undefined ? {} : { record_key: run.recordKey, phase: 'details' as const, swept_at: now }
  const { id } = await on(db)
    .insertInto('sync.runs')
    .values({ stream: run.stream, hot: run.hot, trigger: run.trigger, full_read: run.full, ...ofRecord })
    .returning('id')
    .executeTakeFirstOrThrow()
  await on(db)
    .updateTable('sync.request_streams')
    .set({ run_id: id })
    .where('stream', '=', run.stream)
    .where((eb) => eb('request_id', '=', eb.fn.any(eb.val(run.requestIds))))
    .execute()
  return id
}

const updateRun = (db: Queryable, runId: string) => on(db).updateTable('sync.runs').where('id', '=', runId)

/**
 * The update that adds to a run's counts, as part of a statement or as a separate one; undefined where there is
 * nothing to add.
 */
export function addingCounts(
  q: Pick<QueryCreator<MirrorDatabase>, 'updateTable'>,
  runId: string,
  counts: Partial<RunCounts>,
) {
  const given = countNames.filter((name) => (counts[name] ?? 0) !== 0)
  if (given.length === 0) return undefined
  return q
    .updateTable('sync.runs')
    .where('id', '=', runId)
    .set((eb) => Object.fromEntries(given.map((name) => [name, eb(name, '+', String(counts[name]))])))
}

/** Adds to a run's counts, in the transaction of the work that is counted. */
export async function addCounts(db: Queryable, runId: string, counts: Partial<RunCounts>): Promise<void> {
  await addingCounts(on(db), runId, counts)?.execute()
}

export async function insertedBy(db: Queryable, runId: string): Promise<number> {
  const run = await on(db).selectFrom('sync.runs').select('inserted').where('id', '=', runId).executeTakeFirst()
  return Number(run?.inserted ?? 0)
}

/** Records a warning about a run, each text once. Keeps at most 50. */
export async function addWarnings(db: Queryable, runId: string, warnings: readonly string[]): Promise<void> {
  if (warnings.length === 0) return
  const all = sql`jsonb_array_elements(warnings || ${JSON.stringify(warnings)}::jsonb)`
  await updateRun(db, runId)
    .set({ warnings: sql`(select jsonb_agg(w) from (select distinct w from ${all} w limit 50) d)` })
    .execute()
}

/** Notes why a run is not all it should be; the first reason stays. */
export async function noteRunError(db: Queryable, runId: string, error: string): Promise<void> {
  await updateRun(db, runId)
    .set((eb) => ({ error: eb.fn.coalesce('error', eb.val(error.slice(0, 2_000))) }))
    .execute()
}

/** Marks a run's list as completely read (or given up): what builds on it may start. */
export async function markSwept(db: Queryable, runId: string, total: number | null): Promise<void> {
  await updateRun(db, runId)
    .set((eb) => ({
      phase: 'details',
      swept_at: eb.fn.coalesce('swept_at', now),
      total: eb.fn.coalesce('total', eb.val(total)),
    }))
    .execute()
}

type IdleRun = {
  readonly id: string
  readonly stream: string
  readonly held: number
  readonly error: string | null
  readonly read: number
  readonly failedKinds: readonly string[]
  readonly failure: string | null
  /** It found rows missing below records, and has not decided about them. */
  readonly isUndecided: boolean
}

/** Running runs without an open task, with what decides their status. */
export async function idleRuns(db: Queryable): Promise<readonly IdleRun[]> {
  const { rows } = await db.query<IdleRun>(
    `select r.id, r.stream, r.held::float8 as held, r.error, r.read::float8 as read, f.failure, coalesce(f.kinds, '{}') as "failedKinds",
       exists (select from sync.held h where h.run_id = r.id and h.released_at = '-infinity') as "isUndecided"
     from sync.runs r cross join lateral (select min(t.error) as failure, array_agg(distinct t.kind) as kinds
       from sync.tasks t where t.run_id = r.id and t.status = 'failed') f
     where r.status = 'running'
       and not exists (select from sync.tasks t where t.run_id = r.id and t.status in ('waiting', 'running'))`,
  )
  return rows
}

/** Ends a run and brings its stream's state up to date. */
export async function finishRun(
  db: Queryable,
  { id, stream, status, error }: Pick<Run, 'id' | 'stream' | 'status' | 'error'>,
): Promise<Run> {
  const run = await updateRun(db, id)
    .set({ status, error, phase: 'finished', finished_at: now })
    .set((eb) => ({ swept_at: eb.fn.coalesce('swept_at', now) }))
    .returningAll()
    .$narrowType<{ warnings: readonly string[] }>()
    .executeTakeFirstOrThrow()
  const { hot, trigger, record_key, started_at } = run
  const inside = descendantsOf(stream).filter((child) => child.reads.kind === 'inside')
  const isWhole = !hot && record_key === null
  const isFresh = status === 'done' && trigger !== 'release' && record_key === null
  const dueAfter = sql<Date>`case when next_due_at between ${started_at} and clock_timestamp() then next_due_at
    else greatest(next_due_at, ${started_at}::timestamptz + interval_s * interval '1 s') end`
  const facts = {
    // A release reads no list: it does not hide that the last run failed.
    ...(isWhole && {
      last_run_id:
        trigger === 'release'
          ? sql<string>`case when exists (select from sync.runs l where l.id = last_run_id and l.status in ('failed', 'partial'))
              then last_run_id else ${id} end`
          : id,
    }),
    // The schedule has counted its own turns. What became due while the run read stays due.
    ...(isWhole && isFresh && { as_of: started_at, ...(trigger !== 'schedule' && { next_due_at: dueAfter }) }),
    // A complete run reads what the hot ones read, too; it may end after one that began later.
    ...(isFresh && windowsOf(streamNamed(stream)) && { hot_as_of: sql<Date>`greatest(hot_as_of, ${started_at})` }),
  }
  if (Object.keys(facts).length > 0)
    await on(db)
      .updateTable('sync.streams')
      .set(facts)
      .where('stream', 'in', [stream, ...inside.map(({ name }) => name)])
      .execute()
  await addUpRowChanges(db)
  if (hasChanged(run)) await makeFollowersDue(db, stream)
  return run
}

export const hasChanged = (run: Pick<Run, 'inserted' | 'updated' | 'deleted'>): boolean =>
  [run.inserted, run.updated, run.deleted].some((rows) => Number(rows) > 0)

/** Whole runs, their warnings as they are written. */
const selectRuns = (db: Queryable) =>
  on(db).selectFrom('sync.runs as r').selectAll('r').$narrowType<{ warnings: readonly string[] }>()

/** The runs of a request, in the order they started; streams whose run has not started are missing. */
export async function runsOfRequest(
  db: Queryable,
  requestId: string,
): Promise<{ finished: boolean; streams: number; runs: readonly Run[] }> {
  const { rows } = await db.query<{ finished: boolean; streams: number }>(
    `select finished_at is not null as finished, (select count(*)::int from sync.request_streams where request_id = q.id) as streams
     from sync.requests q where id = $1`,
    [requestId],
  )
  const runs = await selectRuns(db)
    .innerJoin('sync.request_streams as s', 's.run_id', 'r.id')
    .where('s.request_id', '=', requestId)
    .orderBy('r.id')
    .execute()
  return { ...(rows[0] ?? { finished: true, streams: 0 }), runs }
}

/** The newest runs, newest first. */
export async function listRuns(
  db: Queryable,
  { stream, limit }: { readonly stream?: string; readonly limit: number },
): Promise<readonly Run[]> {
  const runs = selectRuns(db).orderBy('r.id', 'desc').limit(limit)
  return await (stream === undefined ? runs : runs.where('r.stream', '=', stream)).execute()
}

export async function findRun(db: Queryable, id: string): Promise<Run | null> {
  return (await selectRuns(db).where('r.id', '=', id).executeTakeFirst()) ?? null
}
