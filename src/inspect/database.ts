// The database itself: its version, its size, its clock and the right to create schemas. Reads only.

import type { Queryable } from '../database/sql.ts'

/** The one row of a select without a table. */
async function valuesOf<Values extends object>(db: Queryable, values: string): Promise<Values> {
  const { rows } = await db.query<Values>(`select ${values}`)
  return rows[0] as Values
}

/** Version as Postgres names it (`16.4`), and the database's size in bytes. */
export const databaseFacts = (db: Queryable): Promise<{ readonly version: string; readonly size: number }> =>
  valuesOf(db, `current_setting('server_version') as version, pg_database_size(current_database())::float8 as size`)

export const databaseClock = async (db: Queryable): Promise<Date> =>
  (await valuesOf<{ now: Date }>(db, 'clock_timestamp() as now')).now

/** May this role create schemas in this database? */
export const mayCreate = async (db: Queryable): Promise<boolean> =>
  (await valuesOf<{ may: boolean }>(db, `has_database_privilege(current_database(), 'create') as may`)).may
