// The closes of a month for `close`: made, removed and read by the functions of schema report.

import { type Database, withStatementTimeout } from '../database/database.ts'
import type { Json } from '../json/lossless.ts'
import { refusedDecision } from '../sync/refused-decision.ts'

/** A row of report.closes, times as JSON has them. */
export type Close = {
  readonly name: string
  readonly company_id: string | number | null
  readonly closed_at: string
  readonly rentals: number
}

/** The one result of a statement, which may take as long as it needs. @throws BoatMirrorError NOT_FOUND, USAGE, DATABASE_PRIVILEGE */
async function ask<T>(database: Database, sql: string, values: readonly (string | null)[]): Promise<T> {
  try {
    return await database.transaction(async (client) => {
      const patient = await withStatementTimeout(client, 0)
      const { rows } = await patient.query<{ result: T }>(`select (${sql}) as result`, [...values])
      return rows[0]?.result as T
    })
  } catch (error) {
    throw refusedDecision(error)
  }
}

/** Makes a close of a company (null: of all), or returns the one that is there. Throws as {@link readClose}, and USAGE if another company has the name. */
export const makeClose = (database: Database, name: string, company: string | null): Promise<Close> =>
  ask(database, 'select to_jsonb(c) from report.close($1, $2) c', [name, company])

export const listCloses = (database: Database): Promise<readonly Close[]> =>
  ask(database, `select coalesce(jsonb_agg(c order by closed_at, name), '[]') from report.closes c`, [])

/** Removes a close. Throws as {@link readClose}. */
export const removeClose = async (database: Database, name: string): Promise<void> => {
  await ask(database, 'select report.remove_close($1)::text', [name])
}

/**
 * A close with its totals, and what has changed until another one (null: now), all rows as SQL has them.
 * @throws BoatMirrorError NOT_FOUND; USAGE for closes of different companies
 */
export const readClose = (database: Database, name: string, until: string | null): Promise<Json> =>
  ask(
    database,
    `select (select to_jsonb(c) from report.closes c where c.name = $1) || jsonb_build_object(
       'totals', (select coalesce(jsonb_agg(t), '[]') from report.close_totals($1) t),
       'changes', (select coalesce(jsonb_agg(s), '[]') from report.since_close($1, $2) s))`,
    [name, until],
  )
