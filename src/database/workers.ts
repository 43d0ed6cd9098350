// sync.workers: each worker says every few seconds that it is there, and what it does; who has died is forgotten.

import { sql } from 'kysely'
import { inMs, now, on, type Queryable } from './sql.ts'

export type WorkerIdentity = {
  /** One life of one process. */
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly version: string
}

/** A worker that says nothing for this long has died or is cut off, in milliseconds; it is forgotten after ten minutes. */
const silentAfterMs = 30_000
const forgottenAfterMs = 600_000

/** The tasks that a worker holds and the changes that it sends: `rentals: details, users: sweep, 2 changes`; null: none. */
const doing = ({ host, pid }: WorkerIdentity) => {
  const owner = `${host}:${pid}`
  return sql<string | null>`(select string_agg(what, ', ' order by what) from (
    select distinct stream || ': ' || kind as what from sync.tasks where status = 'running' and owner = ${owner}
    union all
    select count(*) || ' change' || case count(*) when 1 then '' else 's' end from outbox.queue
      where status = 'sending' and lease_until is not null and starts_with(owner, ${`${owner}:`}) having count(*) > 0) d)`
}

/** SQL: since when there has been a worker without a break; null: there is none. */
export const livingSince = `(select min(started_at) from sync.workers
  where seen_at >= clock_timestamp() - interval '${silentAfterMs} ms')`

/** Says that a worker is there, since now where it had been silent, and forgets those that have said nothing for ten minutes. */
export async function noteWorker(db: Queryable, worker: WorkerIdentity): Promise<void> {
  const seen = { seen_at: now, doing: doing(worker) }
  await on(db)
    .insertInto('sync.workers')
    .values({ ...worker, ...seen })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet((eb) => ({
        ...seen,
        started_at: eb
          .case()
          .when('sync.workers.seen_at', '<', inMs(-silentAfterMs))
          .then(now)
          .else(eb.ref('sync.workers.started_at'))
          .end(),
      })),
    )
    .execute()
  await on(db).deleteFrom('sync.workers').where('seen_at', '<', inMs(-forgottenAfterMs)).execute()
}

/** Forgets a worker that ends. */
export async function forgetWorker(db: Queryable, { id }: WorkerIdentity): Promise<void> {
  await on(db).deleteFrom('sync.workers').where('id', '=', id).execute()
}

export type WorkerStatus = WorkerIdentity & {
  readonly startedAt: Date
  readonly seenAt: Date
  /** Tasks and changes in work; null: none. */
  readonly doing: string | null
  /** It has said nothing for half a minute: it died, or is cut off. */
  readonly isSilent: boolean
}

/** When a worker was last heard of, or a run of the schedule began; null: never. */
export async function lastWorkerAt(db: Queryable): Promise<Date | null> {
  const run = sql<Date | null>`(select started_at from sync.runs where trigger = 'schedule' order by id desc limit 1)`
  const { at } = await on(db)
    .selectFrom('sync.workers')
    .select((eb) => sql<Date | null>`coalesce(${eb.fn.max('seen_at')}, ${run})`.as('at'))
    .executeTakeFirstOrThrow()
  return at
}

/** The workers that were heard of within ten minutes, the oldest first. */
export async function listWorkers(db: Queryable): Promise<readonly WorkerStatus[]> {
  return await on(db)
    .selectFrom('sync.workers')
    .select(['id', 'host', 'pid', 'version', 'started_at as startedAt', 'seen_at as seenAt', 'doing'])
    .select((eb) => eb('seen_at', '<', inMs(-silentAfterMs)).$castTo<boolean>().as('isSilent'))
    .orderBy('started_at')
    .orderBy('id')
    .execute()
}
