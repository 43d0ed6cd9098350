// sync.servers: each process that serves the API says every few seconds that it is there and what it answered lately;
// one that has died is forgotten.

import { inMs, now, on, type Queryable } from './sql.ts'

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

export type Server = RecentAnswers & {
  /** One life of one process. */
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly version: string
  /** Where it listens. */
  readonly address: string
}

/** A server that says nothing for this long has died or is cut off, in milliseconds; it is forgotten after ten minutes. */
const silentAfterMs = 30_000
const forgottenAfterMs = 600_000

/** Says that a server is there, forgets those that have said nothing for ten minutes, and notices the roles of its tokens. */
export async function noteServer(db: Queryable, server: Server): Promise<void> {
  const { id, host, pid, version, address } = server
  const seen = {
    seen_at: now,
    requests: server.requests,
    recent_requests: server.recentRequests,
    recent_refused: server.recentRefused,
    recent_failed: server.recentFailed,
    recent_mean_ms: server.recentMeanMs,
    recent_slowest_ms: server.recentSlowestMs,
    recent_oldest_s: server.recentOldestS,
  }
  await on(db)
    .insertInto('sync.servers')
    .values({ id, host, pid, version, address, ...seen })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(seen))
    .execute()
  await on(db).deleteFrom('sync.servers').where('seen_at', '<', inMs(-forgottenAfterMs)).execute()
  await db.query('select outbox.notice_history()')
}

/** Forgets a server that ends. */
export async function forgetServer(db: Queryable, id: string): Promise<void> {
  await on(db).deleteFrom('sync.servers').where('id', '=', id).execute()
}

export type ServerStatus = Server & {
  readonly startedAt: Date
  readonly seenAt: Date
  /** It has said nothing for half a minute: it died, or is cut off. */
  readonly isSilent: boolean
}

/** The servers that were heard of within ten minutes, the oldest first. */
export async function listServers(db: Queryable): Promise<readonly ServerStatus[]> {
  const rows = await on(db)
    .selectFrom('sync.servers')
    .selectAll()
    .select((eb) => eb('seen_at', '<', inMs(-silentAfterMs)).$castTo<boolean>().as('isSilent'))
    .orderBy('started_at')
    .orderBy('id')
    .execute()
  return rows.map(({ id, host, pid, version, address, isSilent, ...row }) => ({
    ...{ id, host, pid, version, address, isSilent },
    startedAt: row.started_at,
    seenAt: row.seen_at,
    requests: Number(row.requests),
    recentRequests: Number(row.recent_requests),
    recentRefused: Number(row.recent_refused),
    recentFailed: Number(row.recent_failed),
    recentMeanMs: row.recent_mean_ms,
    recentSlowestMs: row.recent_slowest_ms,
    recentOldestS: row.recent_oldest_s,
  }))
}
