// Statistics of our own tables, for a Postgres that does not gather them in time: autovacuum is off, rows were loaded a
// moment ago, or a dump was restored. Every statement is written to be right without them; with them many are faster.

import { identifier, type Queryable } from '../database/sql.ts'
import { messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'

/**
 * Tables of more than a few pages that were never analysed, were analysed while their first rows were not committed yet,
 * or have more than doubled since: by the rows that Postgres counted, or by their pages, since a crash, a copy or a restore
 * forgets that count. Others' tables are theirs to analyse.
 */
const outdatedSql = `select n.nspname as schema, c.relname as name
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('mirror', 'mirror_log', 'sync', 'outbox') and c.relkind = 'r' and pg_has_role(c.relowner, 'usage')
    and ((c.reltuples < 0 or c.reltuples = 0 and pg_stat_get_mod_since_analyze(c.oid) > 0) and pg_relation_size(c.oid) > 65536
      or pg_stat_get_mod_since_analyze(c.oid) > 1000 + greatest(c.reltuples, 0)
      or pg_relation_size(c.oid) > 65536 + 2 * c.relpages::bigint * current_setting('block_size')::int)
  order by 1, 2`

/** So many tables at once, each by a connection of the pool. */
const atOnce = 2

const underWay = new WeakMap<Queryable, Promise<readonly string[]>>()

/**
 * Analyses tables that grew since they were last analysed, one at a time, outside of transactions; a second caller
 * waits for the first. Skips tables that are being analysed already. Logs failures, which cost speed and lose no
 * work. Returns the names of the tables.
 */
export function analyzeGrown(db: Queryable, log: Logger): Promise<readonly string[]> {
  const going = underWay.get(db) ?? analyzeAll(db, log).finally(() => underWay.delete(db))
  underWay.set(db, going)
  return going
}

async function analyzeAll(db: Queryable, log: Logger): Promise<readonly string[]> {
  const { rows } = await db.query<{ schema: string; name: string }>(outdatedSql)
  const analyzed: string[] = []
  const waiting = rows.values()
  const analyzeOthers = async (): Promise<void> => {
    for (const { schema, name } of waiting) {
      const table = `${schema}.${name}`
      try {
        await db.query(`analyze (skip_locked) ${identifier(schema)}.${identifier(name)}`)
        analyzed.push(table)
      } catch (error) {
        log.warn({ event: 'not_analyzed', table, reason: messageOf(error) }, 'could not analyze a table that grew')
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, analyzeOthers))
  analyzed.sort()
  if (analyzed.length > 0) log.debug({ event: 'analyzed', tables: analyzed }, 'analyzed tables that grew')
  return analyzed
}
