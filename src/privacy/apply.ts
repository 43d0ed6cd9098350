// `privacy apply`: rewrites stored data under new settings of personal data. It writes the new settings first: from
// then on the commits of every process with the old ones fail. Then it goes through the tables, a batch per
// transaction, and records its position with each, so that it continues there after a crash.

import type { PoolClient } from 'pg'
import type { Database } from '../database/database.ts'
import { newerProgram, newerRelease } from '../database/release.ts'
import type { Queryable } from '../database/sql.ts'
import { BoatMirrorError } from '../errors.ts'
import { type Privacy, privacyOf } from './privacy.ts'
import type { Rewrite, StepOptions } from './rewrites.ts'
import { type Action, actionOf, changesValues, fingerprintOf, type PrivacySettings, personalColumns } from './rules.ts'
import { type Applying, differenceOf, type RecordHashes, readErased, readStored, type StoredPrivacy } from './stored.ts'

/** The tables to go through, in order. */
export type RewritesOf = (db: Queryable, privacy: Privacy, applying: Applying) => Promise<readonly Rewrite[]>

export type ApplyOptions = {
  readonly settings: PrivacySettings
  readonly rewritesOf: RewritesOf
  /** Asks for a sync of everything, in this transaction: values are needed that are not stored. */
  readonly requestSync: (client: PoolClient) => Promise<unknown>
  /** Rows that one transaction locks at most; 500 by default. */
  readonly batchSize?: number
  /** Called with the number of rows of a table that have changed, or would change, once the table is done. */
  readonly onTable?: (table: string, rows: number) => void
}

type Applied = {
  /** How the settings differed; null: only an apply that was stopped had to be ended. */
  readonly difference: string | null
  /** The API has to be read again. */
  readonly rereads: boolean
  /** Rows that changed, or would change, by table; tables without any are missing. */
  readonly rows: Readonly<Record<string, number>>
}

const strength: Readonly<Record<Action, number>> = { keep: 0, hash: 1, drop: 2 }

/** Whether values are needed that the database does not hold: of a column that is kept more exactly from now on, or by another key. */
function needsValues(stored: StoredPrivacy, settings: PrivacySettings): boolean {
  const before: PrivacySettings = { mode: stored.mode, columns: stored.columns, hasher: null }
  const isWeaker = (now: Action, then: Action): boolean => strength[now] < strength[then]
  const key = fingerprintOf(settings)
  return (
    isWeaker(settings.mode, stored.mode) ||
    [...personalColumns.values()].some(({ stream, column }) =>
      isWeaker(actionOf(settings, stream, column), actionOf(before, stream, column)),
    ) ||
    (key !== null && stored.fingerprint !== null && key !== stored.fingerprint)
  )
}

/** Records whose hashes are kept can be recognized without reading all of them again. */
function recordHashesOf(stored: StoredPrivacy, { hasher }: PrivacySettings): RecordHashes {
  if (hasher === null) return 'forgotten'
  if (!changesValues({ ...stored, hasher: null })) return 'keyed'
  return stored.fingerprint === hasher.fingerprint ? 'kept' : 'forgotten'
}

/** The work to do; it includes what an apply for other settings has left undone. */
function applyingOf(stored: StoredPrivacy, settings: PrivacySettings): Applying {
  const before = stored.applying
  const rereads = needsValues(stored, settings) || before?.rereads === true
  const recordHashes = rereads || before !== null ? 'forgotten' : recordHashesOf(stored, settings)
  return { rereads, recordHashes, done: {} }
}

/** Takes the lock that only one apply can hold. @throws BoatMirrorError DATABASE_BUSY, DATABASE_SCHEMA */
async function alone(client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ free: boolean }>(
    `select pg_try_advisory_xact_lock(hashtext('boat-mirror.privacy-apply')) as free`,
  )
  if (rows[0]?.free !== true)
    throw new BoatMirrorError('DATABASE_BUSY', 'Another `privacy apply` is running on this database.', {
      remedy: 'Wait until it ends.',
    })
  const newer = newerRelease((await readStored(client)).schema)
  if (newer.length > 0) throw newerProgram(newer)
}

/** Writes the new settings, unless they are current: after this, no process with others commits records. */
async function begin(client: PoolClient, { settings, requestSync }: ApplyOptions): Promise<StoredPrivacy> {
  await alone(client)
  await client.query('select from sync.privacy for update') // waits for running commits
  const stored = await readStored(client)
  if (differenceOf(stored, settings) === null) return stored
  const applying = applyingOf(stored, settings)
  await client.query(
    `update sync.privacy set mode = $1, columns = $2, key_fingerprint = $3, set_at = clock_timestamp(),
       generation = generation + 1, applying = $4`,
    [settings.mode, JSON.stringify(settings.columns), fingerprintOf(settings), JSON.stringify(applying)],
  )
  if (applying.rereads) await requestSync(client)
  return { ...stored, applying }
}

const noteSql = `update sync.privacy set applying = jsonb_set(applying, array['done', $1], $2::jsonb)`

/** Goes through a table to its end. @returns how many rows changed */
async function goThrough(database: Database, rewrite: Rewrite, given: StepOptions): Promise<number> {
  const { writes } = given
  let changed = 0
  for (let { after } = given; ; ) {
    const step = await database.transaction(
      async (client) => {
        if (writes) await alone(client)
        const made = await rewrite.step(client, { ...given, after })
        if (writes) await client.query(noteSql, [rewrite.table, JSON.stringify(made.next)])
        return made
      },
      { readOnly: !writes },
    )
    changed += step.changed
    if (step.next === null) return changed
    after = step.next
  }
}

/** The tables that these settings concern. */
async function tablesOf(
  { pool }: Database,
  { settings, rewritesOf }: ApplyOptions,
  { generation }: StoredPrivacy,
  applying: Applying,
): Promise<readonly Rewrite[]> {
  return await rewritesOf(pool, privacyOf(settings, { generation, erased: await readErased(pool) }), applying)
}

/** Goes through the tables that are not done. @returns how many rows changed in each */
async function goThroughAll(
  database: Database,
  tables: readonly Rewrite[],
  { applying: { done }, writes, ...options }: ApplyOptions & { readonly applying: Applying; readonly writes: boolean },
): Promise<Readonly<Record<string, number>>> {
  const { batchSize: most = 500, onTable } = options
  const rows: Record<string, number> = {}
  for (const rewrite of tables) {
    const after = done[rewrite.table]
    const changed = after === null ? 0 : await goThrough(database, rewrite, { after: after ?? null, writes, most })
    if (changed === 0) continue
    rows[rewrite.table] = changed
    onTable?.(rewrite.table, changed)
  }
  return rows
}

/** Computes what `applySettings` would do. Changes nothing. */
export async function previewSettings(database: Database, options: ApplyOptions): Promise<Applied> {
  const stored = await readStored(database.pool)
  const difference = differenceOf(stored, options.settings)
  const applying = difference === null ? stored.applying : applyingOf(stored, options.settings)
  if (applying === null) return { difference, rereads: false, rows: {} }
  const tables = await tablesOf(database, options, stored, applying)
  const rows = await goThroughAll(database, tables, { ...options, applying, writes: false })
  return { difference, rereads: applying.rereads, rows }
}

/**
 * Brings what is stored under these settings. It may be stopped at any point and called again. The owner of the tables calls
 * it, past a pooler.
 * @throws BoatMirrorError DATABASE_BUSY while another one is at work
 */
export async function applySettings(database: Database, options: ApplyOptions): Promise<Applied> {
  const { pool } = database
  const difference = differenceOf(await readStored(pool), options.settings)
  const stored = await database.transaction((client) => begin(client, options))
  const { applying } = stored
  if (applying === null) return { difference, rereads: false, rows: {} }
  const tables = await tablesOf(database, options, stored, applying)
  const rows = await goThroughAll(database, tables, { ...options, applying, writes: true })
  // Former versions of the rows leave the tables, and their values the statistics of the planner.
  for (const { table } of tables) await pool.query(`vacuum (analyze) ${table}`)
  await pool.query('update sync.privacy set applying = null')
  return { difference, rereads: applying.rereads, rows }
}
