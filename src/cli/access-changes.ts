// Changes of access: one transaction each, and what must be true before a role is restricted.

import { type Database, openDatabase } from '../database/database.ts'
import type { Queryable } from '../database/sql.ts'
import { BoatMirrorError } from '../errors.ts'
import { unguardedViews } from '../schema/company-policies.ts'
import type { CommandContext } from './context.ts'

/** Runs in one transaction past a pooler, as the role in DATABASE_URL, which is to own the tables. */
export async function changing<T>(context: CommandContext, change: (db: Queryable) => Promise<T>): Promise<T> {
  await using opened = await context.openDatabase()
  const database: Database = openDatabase({
    url: opened.directUrl,
    applicationName: 'boat-mirror access',
    max: 1,
    log: context.log,
  })
  try {
    return await database.transaction(change)
  } finally {
    await database.close()
  }
}

/**
 * Checks that views show rows by company. @throws BoatMirrorError DATABASE_PRIVILEGE when one would show all rows to
 * all roles.
 */
export async function assertViewsGuarded(db: Queryable): Promise<void> {
  const [view] = await unguardedViews(db)
  if (view === undefined) return
  throw new BoatMirrorError(
    'DATABASE_PRIVILEGE',
    `The view ${view} does not belong to role boat_mirror_views, so it would show all companies.`,
    {
      remedy:
        'As a role that may create roles, run: create role boat_mirror_views nologin; grant boat_mirror_views to the owner of the tables. Then run as the owner: boat-mirror migrate',
    },
  )
}
