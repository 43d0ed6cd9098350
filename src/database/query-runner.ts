// What runs a statement for a partner's program: its Kysely, of whatever schema and of whatever version.

import { CompiledQuery } from 'kysely'
import type { QueryResult, QueryResultRow } from 'pg'
import type { Queryable } from './sql.ts'

/**
 * A Kysely, or a transaction of one. Typed by what is used of it: the types of two versions of Kysely are
 * incompatible.
 */
export type QueryRunner = {
  getExecutor(): { executeQuery(query: CompiledQuery): Promise<{ readonly rows: readonly unknown[] }> }
}

/** Runs statements by whatever Kysely runs. */
export function queryableOn(runner: QueryRunner): Queryable {
  return {
    query: async <R extends QueryResultRow>(text: string, values: unknown[] = []) => {
      const { rows } = await runner.getExecutor().executeQuery(CompiledQuery.raw(text, values))
      return { rows } as QueryResult<R>
    },
  }
}
