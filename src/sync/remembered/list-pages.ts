// Pages of lists that came with an entity tag, with what they said: while a page has the tag, it says the same.

import { sql } from 'kysely'
import type { KeptPage } from '../../api/client.ts'
import { on, type Queryable } from '../../database/sql.ts'

export type ListPage = KeptPage & {
  readonly next: string
  /** Identifies the page among all others. */
  readonly name: string
  /** Of the hashes of its records, in their order. */
  readonly hash: string
}

/** The pages of a stream's list that were received whole no longer ago than this, by their names. */
export async function keptNames(db: Queryable, stream: string, maxAgeMs: number): Promise<ReadonlySet<string>> {
  const rows = await on(db)
    .selectFrom('sync.list_pages')
    .select('name')
    .where('stream', '=', stream)
    .where('read_at', '>', sql<Date>`clock_timestamp() - ${maxAgeMs} * interval '1 ms'`)
    .execute()
  return new Set(rows.map(({ name }) => name))
}

export async function keptPage(db: Queryable, stream: string, name: string): Promise<ListPage | null> {
  const page = await on(db)
    .selectFrom('sync.list_pages')
    .select(['name', 'tag', 'keys', 'hash', 'next'])
    .where('stream', '=', stream)
    .where('name', '=', name)
    .executeTakeFirst()
  return page ?? null
}

/** Keeps pages as they were just received, in the transaction that writes their records. */
export async function keepPages(db: Queryable, stream: string, pages: readonly ListPage[]): Promise<void> {
  if (pages.length === 0) return
  await on(db)
    .insertInto('sync.list_pages')
    .values(pages.map(({ name, tag, keys, hash, next }) => ({ stream, name, tag, keys: [...keys], hash, next })))
    .onConflict((conflict) =>
      conflict.columns(['stream', 'name']).doUpdateSet((eb) => ({
        tag: eb.ref('excluded.tag'),
        keys: eb.ref('excluded.keys'),
        hash: eb.ref('excluded.hash'),
        next: eb.ref('excluded.next'),
        read_at: sql`clock_timestamp()`,
      })),
    )
    .execute()
}
