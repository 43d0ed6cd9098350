// Presence: heartbeats of workers (sync.workers) and of processes that serve the API (sync.servers), every five seconds.
// Rows without one for ten minutes are deleted.

import { hostname } from 'node:os'
import type { Logger } from '../log.ts'
import { processLife, type Service, service } from '../service.ts'
import { literal, type Queryable } from './sql.ts'

const everyMs = 5_000
/** A process without a heartbeat for half a minute has died or is cut off. */
const isSilent = `seen_at < clock_timestamp() - interval '30 s'`

/** SQL: since when there has been a worker without a break; null: there is none. */
export const livingSince = `(select min(started_at) from sync.workers where not ${isSilent})`

type WorkerIdentity = {
  /** One life of one process. */
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly version: string
}

/** What one process answered: since it started, and in the five minutes before. */
export type RecentAnswers = {
  readonly requests: number
  readonly recentRequests: number
  /** Status 400 to 499, and 500 or more. */
  readonly recentRefused: number
  readonly recentFailed: number
  /** Time from a request to its answer; null: no request. */
  readonly recentMeanMs: number | null
  readonly recentSlowestMs: number | null
  /** Greatest age of what an answer showed; null: none showed anything of the mirror. */
  readonly recentOldestS: number | null
}

export type Server = RecentAnswers &
  WorkerIdentity & {
    /** Where it listens. */
    readonly address: string
  }

type Seen = {
  readonly startedAt: Date
  readonly seenAt: Date
  /** No heartbeat for half a minute: it died, or is cut off. */
  readonly isSilent: boolean
}

export type WorkerStatus = WorkerIdentity &
  Seen & {
    /** Tasks and changes in work; null: none. */
    readonly doing: string | null
  }

export type ServerStatus = Server & Seen

type Heartbeat = {
  readonly table: 'sync.workers' | 'sync.servers'
  readonly columns: Readonly<Record<string, string | number | null>>
  /** More columns, as SQL. */
  readonly computed?: Readonly<Record<string, string>>
}

/** Writes the heartbeat of a process, and deletes rows without one for ten minutes. A process that was silent starts anew. */
async function note(db: Queryable, { table, columns, computed = {} }: Heartbeat): Promise<void> {
  const names = [...Object.keys(columns), ...Object.keys(computed)]
  const values = [...Object.keys(columns).map((_, index) => `$${index + 1}`), ...Object.values(computed)]
  await db.query(
    `insert into ${table} as p (${names.join()}) values (${values.join()})
     on conflict (id) do update set ${names.map((name) => `${name} = excluded.${name}`).join()}, seen_at = clock_timestamp(),
       started_at = case when p.${isSilent} then clock_timestamp() else p.started_at end`,
    Object.values(columns),
  )
  await db.query(`delete from ${table} where seen_at < clock_timestamp() - interval '10 min'`)
}

/** The tasks that a worker holds and the changes that it sends: `rentals: details, users: sweep, 2 changes`; null: none. */
const doing = (owner: string): string =>
  `(select string_agg(what, ', ' order by what) from (
    select distinct stream || ': ' || kind as what from sync.tasks where status = 'running' and owner = ${literal(owner)}
    union all
    select count(*) || ' change' || case count(*) when 1 then '' else 's' end from outbox.queue
      where status = 'sending' and lease_until is not null and starts_with(owner, ${literal(`${owner}:`)}) having count(*) > 0) d)`

/** Writes the heartbeat of a worker, with what it does. */
export const noteWorker = (db: Queryable, worker: WorkerIdentity): Promise<void> =>
  note(db, {
    table: 'sync.workers',
    columns: worker,
    computed: { doing: doing(`${worker.host}:${worker.pid}`) },
  })

/** Writes the heartbeat of a server, and notices the roles of its tokens. */
export async function noteServer(db: Queryable, { id, host, pid, version, address, ...recent }: Server): Promise<void> {
  await note(db, {
    table: 'sync.servers',
    columns: {
      ...{ id, host, pid, version, address },
      requests: recent.requests,
      recent_requests: recent.recentRequests,
      recent_refused: recent.recentRefused,
      recent_failed: recent.recentFailed,
      recent_mean_ms: recent.recentMeanMs,
      recent_slowest_ms: recent.recentSlowestMs,
      recent_oldest_s: recent.recentOldestS,
    },
  })
  await db.query('select outbox.notice_history()')
}

type PresenceOptions = { readonly db: Queryable; readonly version: string; readonly log: Logger }

/** Starts the heartbeats of this process; without a database it tries again. At the end the row is deleted. */
function startPresence(
  table: Heartbeat['table'],
  { db, version, log }: PresenceOptions,
  beat: (identity: WorkerIdentity) => Promise<void>,
): Service {
  const identity = { id: processLife(), host: hostname(), pid: process.pid, version }
  return service('the heartbeat', everyMs, () => beat(identity), {
    ...{ log, level: 'debug' },
    atEnd: () => db.query(`delete from ${table} where id = $1`, [identity.id]),
  })
}

export const startWorkerPresence = (options: PresenceOptions): Service =>
  startPresence('sync.workers', options, (worker) => noteWorker(options.db, worker))

export const startServerPresence = (
  options: PresenceOptions & { readonly address: string; readonly answers: () => RecentAnswers },
): Service =>
  startPresence('sync.servers', options, (server) =>
    noteServer(options.db, { ...server, address: options.address, ...options.answers() }),
  )

/** When a worker last had a heartbeat, or a run of the schedule began; null: never. */
export async function lastWorkerAt(db: Queryable): Promise<Date | null> {
  const { rows } = await db.query<{ at: Date | null }>(
    `select coalesce((select max(seen_at) from sync.workers),
       (select started_at from sync.runs where trigger = 'schedule' order by id desc limit 1)) as at`,
  )
  return rows[0]?.at ?? null
}

const seenColumns = `id, host, pid, version, started_at as "startedAt", seen_at as "seenAt", ${isSilent} as "isSilent"`

/** The workers with a heartbeat within ten minutes, the oldest first. */
export async function listWorkers(db: Queryable): Promise<readonly WorkerStatus[]> {
  const { rows } = await db.query<WorkerStatus>(
    `select ${seenColumns}, doing from sync.workers order by started_at, id`,
  )
  return rows
}

/** The servers with a heartbeat within ten minutes, the oldest first. */
export async function listServers(db: Queryable): Promise<readonly ServerStatus[]> {
  const { rows } = await db.query<ServerStatus>(
    `select ${seenColumns}, address, requests::float8 as requests, recent_requests::float8 as "recentRequests",
       recent_refused::float8 as "recentRefused", recent_failed::float8 as "recentFailed", recent_mean_ms as "recentMeanMs",
       recent_slowest_ms as "recentSlowestMs", recent_oldest_s as "recentOldestS"
     from sync.servers order by started_at, id`,
  )
  return rows
}
