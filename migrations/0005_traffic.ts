// Calls of the API by minute and endpoint, so that the status page can draw rate, errors and latency over hours.
// Why a table: workers come and go, and several of them share one picture. Kept for a few days by whoever writes it.

import { type Kysely, sql } from 'kysely'

const comments: readonly (readonly [string, string])[] = [
  ['table sync.traffic', 'Calls of the API, added up by minute and endpoint over all workers; kept for seven days.'],
  ['column sync.traffic.minute', 'Beginning of the minute.'],
  ['column sync.traffic.endpoint', 'Method and path template.'],
  ['column sync.traffic.calls', 'Attempts, repeated ones included.'],
  ['column sync.traffic.failures', 'Attempts without an answer that helps; 404 and 410 are answers.'],
  ['column sync.traffic.throttled', 'Of these, answers 429.'],
  ['column sync.traffic.total_ms', 'Time of all attempts together, milliseconds.'],
  ['column sync.traffic.slowest_ms', 'Time of the slowest attempt, milliseconds.'],
]

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table sync.traffic (
    minute timestamptz not null,
    endpoint text not null,
    calls bigint not null default 0,
    failures bigint not null default 0,
    throttled bigint not null default 0,
    total_ms double precision not null default 0,
    slowest_ms double precision not null default 0,
    primary key (minute, endpoint)
  ) with (fillfactor = 80)`.execute(db)
  for (const [object, text] of comments) await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db)
}
