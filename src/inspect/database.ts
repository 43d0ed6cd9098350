// The database itself: its version, its size, its clock and the right to create schemas. Reads only.

import { sql } from 'kysely'
import { now, on, type Queryable } from '../database/sql.ts'

/** Version as Postgres names it (`16.4`), and the database's size in bytes. */
export async function databaseFacts(db: Queryable): Promise<{ readonly version: string; readonly size: number }> {
  return await on(db)
    .selectNoFrom(sql<string>`current_setting('server_version')`.as('version'))
    .select(sql<number>`pg_database_size(current_database())::float8`.as('size'))
    .executeTakeFirstOrThrow()
}

/** The database's own clock. */
export async function databaseClock(db: Queryable): Promise<Date> {
  return (await on(db).selectNoFrom(now.as('now')).executeTakeFirstOrThrow()).now
}

/** May this role create schemas in this database? */
export async function mayCreate(db: Queryable): Promise<boolean> {
  const allowed = sql<boolean>`has_database_privilege(current_database(), 'create')`.as('allowed')
  return (await on(db).selectNoFrom(allowed).executeTakeFirstOrThrow()).allowed
}
