// Requests and runs: what is asked for, what is running, what came of it.

import { type QueryCreator, type Selectable, sql } from 'kysely'
import { descendantsOf } from '../catalog/catalog.ts'
import type { MirrorDatabase } from '../database/schema.generated.ts'
import { now, on, type Queryable } from '../database/sql.ts'
import { affectedBy, countRows } from './stream-state.ts'

type RunRow = Selectable<MirrorDatabase['sync.runs']>

export type RunStatus = RunRow['status']

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

export type Run = Readonly<Omit<RunRow, 'warnings'>> & { readonly warnings: readonly string[] }

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
  { trigger, streams, full }: { readonly trigger: string; readonly streams: readonly string[]; readonly full: boolean },
): Promise<string> {
  const { id } = await on(db)
    .with('r', (q) => q.insertInto('sync.requests').values({ trigger, full_read: full }).returning('id'))
    .with('s', (q) =>
      q
        .insertInto('sync.request_streams')
        .columns(['request_id', 'stream'])
        .expression(q.selectFrom('r').select(['r.id', sql<string>`unnest(${streams}::text[])`.as('stream')])),
    )
    .selectFrom('r')
    .select('id')
    .executeTakeFirstOrThrow()
  return id
}

/** True when an open request already waits to start a run of this stream. */
export async function isRequested(db: Queryable, stream: string): Promise<boolean> {
  const waiting = await on(db)
    .selectFrom('sync.request_streams as s')
    .innerJoin('sync.requests as r', 'r.id', 's.request_id')
    .select('s.stream')
    .where('r.finished_at', 'is', null)
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
    .select(['s.request_id', 'q.trigger', 'q.full_read', 's.stream', 's.run_id', 'r.status as run_status'])
    .select(sql<boolean>`r.swept_at is not null`.as('swept'))
    .where('q.finished_at', 'is', null)
    .orderBy('q.id')
    .execute()
}

/** Streams with a running run. */
export async function runningStreams(db: Queryable): Promise<ReadonlySet<string>> {
  const rows = await on(db).selectFrom('sync.runs').select('stream').where('status', '=', 'running').execute()
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
  const { id } = await on(db)
    .insertInto('sync.runs')
    .values({ stream: run.stream, trigger: run.trigger, full_read: run.full })
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

/** The update that adds to a run's counts, as part of a statement or one of its own; undefined where there is nothing to add. */
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

/** Notes something a person may want to know of a run; the same text once. At most 50 are kept. */
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
  await updateRun(db, runId).set({ swept_at: now, phase: 'details', total }).execute()
}

/** Running runs without an open task, with what decides their status. */
export async function idleRuns(db: Queryable): Promise<
  readonly {
    readonly id: string
    readonly stream: string
    readonly held: number
    readonly error: string | null
    readonly read: number
    readonly failedKinds: readonly string[]
    readonly failure: string | null
  }[]
> {
  const rows = await on(db)
    .selectFrom('sync.runs as r')
    .leftJoinLateral(
      (q) =>
        q
          .selectFrom('sync.tasks as t')
          .select((eb) => eb.fn.min('t.error').as('failure'))
          .select(sql<string[] | null>`array_agg(distinct t.kind)`.as('kinds'))
          .whereRef('t.run_id', '=', 'r.id')
          .where('t.status', '=', 'failed')
          .as('f'),
      (join) => join.onTrue(),
    )
    .select(['r.id', 'r.stream', 'r.held', 'r.error', 'r.read', 'f.kinds', 'f.failure'])
    .where('r.status', '=', 'running')
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('sync.tasks as t')
            .select('t.id')
            .whereRef('t.run_id', '=', 'r.id')
            .where('t.status', 'in', ['waiting', 'running']),
        ),
      ),
    )
    .execute()
  return rows.map(({ kinds, held, read, ...run }) => ({
    ...run,
    held: Number(held),
    read: Number(read),
    failedKinds: kinds ?? [],
  }))
}

/** Ends a run and brings its stream's state up to date. */
export async function finishRun(
  db: Queryable,
  { id, stream, status, error }: Pick<Run, 'id' | 'stream' | 'status' | 'error'>,
): Promise<void> {
  const run = await updateRun(db, id)
    .set({ status, error, phase: 'finished', finished_at: now })
    .set((eb) => ({ swept_at: eb.fn.coalesce('swept_at', now) }))
    .returning(sql<boolean>`inserted + deleted > 0`.as('changed'))
    .executeTakeFirst()
  const inside = descendantsOf(stream).filter((child) => child.reads.kind === 'inside')
  for (const name of [stream, ...inside.map((child) => child.name)]) {
    const update = on(db).updateTable('sync.streams').set({ last_run_id: id }).where('stream', '=', name)
    const whole = update.set((eb) => ({
      as_of: eb.fn.coalesce(
        eb.selectFrom('sync.runs').select('started_at').where('id', '=', id).where('trigger', '<>', 'release'),
        'as_of',
      ),
    }))
    await (status === 'done' ? whole : update).execute()
  }
  if (run?.changed === true) await countRows(db, affectedBy(stream))
}

/** Ends the requests all of whose runs have ended. */
export async function finishRequests(db: Queryable): Promise<void> {
  await on(db)
    .updateTable('sync.requests as q')
    .set({ finished_at: now })
    .where('finished_at', 'is', null)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('sync.request_streams as s')
            .leftJoin('sync.runs as r', 'r.id', 's.run_id')
            .select('s.stream')
            .whereRef('s.request_id', '=', 'q.id')
            .where((e) => e.or([e('r.id', 'is', null), e('r.status', '=', 'running')])),
        ),
      ),
    )
    .execute()
}

/** Whole runs, their warnings as they are written. */
const selectRuns = (db: Queryable) =>
  on(db).selectFrom('sync.runs as r').selectAll('r').$narrowType<{ warnings: readonly string[] }>()

/** The runs of a request, in the order they started; streams whose run has not started are left out. */
export async function runsOfRequest(
  db: Queryable,
  requestId: string,
): Promise<{ finished: boolean; streams: number; runs: readonly Run[] }> {
  const request = await on(db)
    .selectFrom('sync.requests as q')
    .select(sql<boolean>`finished_at is not null`.as('finished'))
    .select(sql<number>`(select count(*)::int from sync.request_streams where request_id = q.id)`.as('streams'))
    .where('q.id', '=', requestId)
    .executeTakeFirst()
  const runs = await selectRuns(db)
    .innerJoin('sync.request_streams as s', 's.run_id', 'r.id')
    .where('s.request_id', '=', requestId)
    .orderBy('r.id')
    .execute()
  return { finished: request?.finished ?? true, streams: request?.streams ?? 0, runs }
}

/** The newest runs, newest first. */
export async function listRuns(
  db: Queryable,
  { stream, limit }: { readonly stream?: string; readonly limit: number },
): Promise<readonly Run[]> {
  const runs = selectRuns(db).orderBy('r.id', 'desc').limit(limit)
  return await (stream === undefined ? runs : runs.where('r.stream', '=', stream)).execute()
}

/** One run; null when there is none of this number. */
export async function findRun(db: Queryable, id: string): Promise<Run | null> {
  return (await selectRuns(db).where('r.id', '=', id).executeTakeFirst()) ?? null
}
