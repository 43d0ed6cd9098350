// Schema live: the tables of the mirror as questions want them. Its views are repeatable steps, as those of mirror_views are.
// Why a schema of its own: columns of mirror and mirror_views keep the types that partners built on.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create schema if not exists live`.execute(db)
}
