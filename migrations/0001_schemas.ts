// The schemas as the first release has them, one file of SQL each. Functions, views, comments and grants are repeatable steps;
// only what holds data is here, and the one function that a column's default calls.

import { type Kysely, sql } from 'kysely'
import changeLog from './0001_schemas/change_log.sql'
import companyAccess from './0001_schemas/company_access.sql'
import mirror from './0001_schemas/mirror.sql'
import outbox from './0001_schemas/outbox.sql'
import sync from './0001_schemas/sync.sql'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const schema of [sync, mirror, changeLog, outbox, companyAccess]) await sql.raw(schema).execute(db)
}
