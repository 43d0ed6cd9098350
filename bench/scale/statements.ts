// The statements of a worker on tables of two sizes, made in place: the rows that Postgres handles for each.

import { Pool } from 'pg'
import { readConfig } from '../../src/config.ts'
import type { Database } from '../../src/database/database.ts'
import { readStatus } from '../../src/inspect/read-status.ts'
import { reportViews } from '../../src/reports/report-views.ts'
import { statementsOf } from '../../test/helpers/plans.ts'
import { filling, works } from '../../test/helpers/statements.ts'
import type { Databases } from '../world.ts'

/** What one piece of work takes on tables of one size. */
export type WorkSize = {
  readonly what: string
  /** Of its most costly statement: rows that came out of the steps of its plan, and those that they dropped. */
  readonly rows: number
  readonly ms: number
}

/** A few more are the difference between two plans of one statement. */
export const fewRows = 500

export type Grown = { readonly what: string; readonly sql: string; readonly before: number; readonly rows: number }

export type StatementsResult = {
  readonly sizes: readonly [number, number]
  /** Of the smaller and of the larger tables. */
  readonly works: readonly { readonly what: string; readonly small: WorkSize; readonly large: WorkSize }[]
  /** Statements of the worker that handle more rows on the larger tables. */
  readonly grown: readonly Grown[]
  /** What adds everything up, in milliseconds; null: stopped after a minute. */
  readonly sums: readonly { readonly what: string; readonly small: number | null; readonly large: number | null }[]
}

const feed: (typeof works)[number] = [
  '1,000 changes by cursor and by consumer',
  async (db) => {
    const { rows } = await db.query<{ cursor: string }>('select cursor from mirror.changes_since(null, 1000)')
    await db.query('select * from mirror.changes_since($1, 1000)', [rows.at(-1)?.cursor])
    await db.query(`select mirror.register_consumer('scale')`)
    await db.query(`select mirror.reset_consumer('scale', $1)`, [rows[0]?.cursor])
    await db.query(`select * from mirror.next_changes('scale', 1000)`)
  },
]

type Measured = {
  readonly works: readonly WorkSize[]
  readonly statements: readonly { readonly what: string; readonly sql: string; readonly rows: number }[]
  readonly sums: readonly { readonly what: string; readonly ms: number | null }[]
}

/** Measures both sizes, each in a database of its own that is dropped afterwards. */
export async function measureStatements(
  databases: Databases,
  sizes: readonly [number, number],
): Promise<StatementsResult> {
  const [small, large] = [await measureSize(databases, sizes[0]), await measureSize(databases, sizes[1])]
  const before = new Map<string, number>()
  for (const { sql, rows } of small.statements) before.set(sql, Math.max(rows, before.get(sql) ?? 0))
  return {
    sizes,
    works: small.works.map((work, index) => ({ what: work.what, small: work, large: large.works[index] ?? work })),
    grown: large.statements.flatMap(({ what, sql, rows }) => {
      const few = before.get(sql) ?? 0
      return rows > 1.5 * few + fewRows ? [{ what, sql, before: few, rows }] : []
    }),
    sums: small.sums.map(({ what, ms }, index) => ({ what, small: ms, large: large.sums[index]?.ms ?? null })),
  }
}

async function measureSize(databases: Databases, size: number): Promise<Measured> {
  const url = await databases.create()
  const pool = new Pool({ connectionString: url, max: 1 })
  try {
    await fill(pool, size)
    const found: WorkSize[] = []
    const statements: { what: string; sql: string; rows: number }[] = []
    for (const [what, work] of [...works, feed]) {
      await statementsOf(pool, work) // what is read for the first time is in memory then
      const handled = await statementsOf(pool, work)
      statements.push(...handled.map(({ sql, rows }) => ({ what, sql, rows })))
      const ms = handled.reduce((sum, each) => sum + each.ms, 0)
      found.push({ what, rows: Math.max(...handled.map(({ rows }) => rows)), ms })
    }
    return { works: found, statements, sums: await measureSums(pool, url) }
  } finally {
    await pool.end()
    await databases.drop(url)
  }
}

/** Fills the tables without their indexes, which are made afterwards: that is many times as fast. */
async function fill(pool: Pool, size: number): Promise<void> {
  const { rows: indexes } = await pool.query<{ name: string; definition: string }>(
    `select i.indexrelid::regclass::text as name, replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ') as definition
     from pg_index i join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('mirror', 'sync', 'outbox') and not i.indisunique and not c.relispartition
       and not exists (select from pg_inherits h where h.inhrelid = i.indexrelid)`,
  )
  await pool.query(`set maintenance_work_mem = '512MB'`)
  for (const { name } of indexes) await pool.query(`drop index ${name}`)
  for (const statement of filling(size)) await pool.query(statement)
  for (const { definition } of indexes) await pool.query(definition)
  await pool.query('vacuum (analyze)')
}

const mostMs = 60_000

/** The status and the report views. */
async function measureSums(pool: Pool, url: string): Promise<Measured['sums']> {
  const config = readConfig({ DATABASE_URL: url }, '/nonexistent')
  const queries: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['status', () => readStatus(config, { database: { pool } as unknown as Database, url }, null)],
    ...reportViews.map(({ name }) => [`report.${name}`, () => pool.query(`select * from report.${name}`)] as const),
  ]
  const sums: { what: string; ms: number | null }[] = []
  await pool.query(`set statement_timeout = ${mostMs}`)
  for (const [what, run] of queries) {
    const began = performance.now()
    const isDone = await run().then(
      () => true,
      (error: { readonly code?: string }) => {
        if (error.code === '57014') return false
        throw error
      },
    )
    sums.push({ what, ms: isDone ? performance.now() - began : null })
  }
  return sums
}
