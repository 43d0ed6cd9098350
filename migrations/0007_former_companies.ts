// Records that once belonged to another company, so that a role restricted to companies finds what the change log has for it.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `create index change_log_former_company on mirror.change_log ((coalesce(diff #> '{_before,company_id}', diff #> '{company_id,0}')))
       where stream in ('rentals', 'resources') and coalesce(diff #> '{_before,company_id}', diff #> '{company_id,0}') <> 'null'`,
    )
    .execute(db)
}
