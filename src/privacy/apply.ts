// `privacy apply`: erases personal values that were stored under other settings. It writes the new settings first: from then on
// the commits of every process with the old ones fail. What it erases is due, so the next sync reads it again and stores it
// under the new settings. Nothing that is erased is found again, so a run that was stopped starts again at the beginning.

import type { PoolClient } from 'pg'
import type { Database } from '../database/database.ts'
import { newerProgram, newerRelease } from '../database/release.ts'
import { BoatMirrorError } from '../errors.ts'
import { fingerprintOf, type PrivacySettings } from './rules.ts'
import { differenceOf, readStored, type StoredPrivacy } from './stored.ts'

/** What is erased of one table. */
export type Erasure = {
  /** With its schema: `mirror.users`. */
  readonly table: string
  /** A condition of SQL: a row `t` holds something. */
  readonly holds: string
  /** The statement that erases the rows `t` of a condition, after which they hold nothing. It returns or changes one row for each. */
  readonly erase: (rows: string) => string
}

export type ApplyOptions = {
  readonly settings: PrivacySettings
  /** All tables that can hold a person, in order. */
  readonly erasures: readonly Erasure[]
  /** Asks for a sync of everything, in this transaction. */
  readonly requestSync: (client: PoolClient) => Promise<unknown>
  /** Blocks of a table that one transaction goes through; 500 (4 MB) by default. */
  readonly batchBlocks?: number
  /** Called with the number of rows of a table that were erased, once the table is done. */
  readonly onTable?: (table: string, rows: number) => void
}

type Applied = {
  /** How the settings differed; null: only an apply that was stopped had to be ended. */
  readonly difference: string | null
  /** The API has to be read again. */
  readonly rereads: boolean
  /** Rows that were erased, or would be, by table; tables without any are missing. */
  readonly rows: Readonly<Record<string, number>>
}

/** Takes the lock that only one apply can hold. @throws BoatMirrorError DATABASE_BUSY, DATABASE_SCHEMA */
async function alone(client: PoolClient): Promise<StoredPrivacy> {
  const { rows } = await client.query<{ free: boolean }>(
    `select pg_try_advisory_xact_lock(hashtext('boat-mirror.privacy-apply')) as free`,
  )
  if (rows[0]?.free !== true)
    throw new BoatMirrorError('DATABASE_BUSY', 'Another `privacy apply` is running on this database.', {
      remedy: 'Wait until it ends.',
    })
  const stored = await readStored(client)
  const newer = newerRelease(stored.schema)
  if (newer.length > 0) throw newerProgram(newer)
  return stored
}

/** Writes the new settings, unless they are current. @returns whether there is something to erase, and how they differed */
async function begin(client: PoolClient, { settings, requestSync }: ApplyOptions): Promise<Omit<Applied, 'rows'>> {
  await client.query('select from sync.privacy for update') // waits for running commits
  const stored = await alone(client)
  const difference = differenceOf(stored, settings)
  if (difference === null) return { difference, rereads: stored.isApplying }
  await client.query(
    `update sync.privacy set mode = $1, columns = $2, key_fingerprint = $3, set_at = clock_timestamp(),
       generation = generation + 1, applying = '{}'`,
    [settings.mode, JSON.stringify(settings.columns), fingerprintOf(settings)],
  )
  await requestSync(client)
  return { difference, rereads: true }
}

const blocksSql = `select ceil(coalesce(max(pg_relation_size(relid)), pg_relation_size($1::regclass))
    / current_setting('block_size')::float8)::int as blocks from pg_partition_tree($1::regclass)`

/** Goes through the blocks of a table. @returns how many rows were erased */
async function eraseBlocks(database: Database, { table, holds, erase }: Erasure, batchBlocks = 500): Promise<number> {
  const { rows } = await database.pool.query<{ blocks: number }>(blocksSql, [table])
  let erased = 0
  for (let block = 0; block < (rows[0]?.blocks ?? 0); block += batchBlocks)
    erased += await database.transaction(async (client) => {
      await alone(client)
      const batch = `t.ctid >= '(${block},0)' and t.ctid < '(${block + batchBlocks},0)'`
      return (await client.query(erase(`${batch} and (${holds})`))).rowCount ?? 0
    })
  return erased
}

/** Nobody moves the same rows so often, and a row that is found again after it was erased would be a fault of ours. */
const mostPasses = 20

/**
 * Repeats that until nothing is found: a row that others update, in a column of their own, moves to another block.
 * @throws BoatMirrorError DATABASE_BUSY
 */
async function eraseTable(database: Database, erasure: Erasure, batchBlocks?: number): Promise<number> {
  let all = 0
  for (let pass = 1; pass <= mostPasses; pass++) {
    const erased = await eraseBlocks(database, erasure, batchBlocks)
    if (erased === 0) return all
    all += erased
  }
  throw new BoatMirrorError('DATABASE_BUSY', `Rows of ${erasure.table} were still found after ${mostPasses} passes.`, {
    remedy: 'Run `boat-mirror privacy apply` again while nothing else updates this table.',
  })
}

/** Adds up the rows of each table. */
async function eachTable(
  { erasures, onTable }: ApplyOptions,
  rowsOf: (erasure: Erasure) => Promise<number>,
): Promise<Readonly<Record<string, number>>> {
  const all: Record<string, number> = {}
  for (const erasure of erasures) {
    const rows = await rowsOf(erasure)
    if (rows === 0) continue
    all[erasure.table] = (all[erasure.table] ?? 0) + rows
    onTable?.(erasure.table, rows)
  }
  return all
}

/** Counts what `applySettings` would erase. Changes nothing. */
export async function previewSettings({ pool }: Database, options: ApplyOptions): Promise<Applied> {
  const stored = await readStored(pool)
  const difference = differenceOf(stored, options.settings)
  const rereads = difference !== null || stored.isApplying
  const count = async ({ table, holds }: Erasure): Promise<number> =>
    (await pool.query<{ count: number }>(`select count(*)::int as count from ${table} t where ${holds}`)).rows[0]
      ?.count ?? 0
  return { difference, rereads, rows: rereads ? await eachTable(options, count) : {} }
}

/**
 * Erases what is stored under other settings. It may be stopped at any point and called again. The owner of the tables calls it,
 * past a pooler.
 * @throws BoatMirrorError DATABASE_BUSY while another one is at work
 */
export async function applySettings(database: Database, options: ApplyOptions): Promise<Applied> {
  const { pool } = database
  const begun = await database.transaction((client) => begin(client, options))
  if (!begun.rereads) return { ...begun, rows: {} }
  const rows = await eachTable(options, (erasure) => eraseTable(database, erasure, options.batchBlocks))
  // Former versions of the rows leave the tables, and their values the statistics of the planner.
  for (const table of new Set(options.erasures.map((erasure) => erasure.table)))
    await pool.query(`vacuum (analyze) ${table}`)
  await pool.query('update sync.privacy set applying = null')
  return { ...begun, rows }
}
