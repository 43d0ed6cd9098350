// Writes records, stubs, filled columns and tombstones in the caller's transaction: rows, change log and redactions
// together. Tables in catalog order, rows in key order, so that writers meet in the same order.

import type { PoolClient, QueryResult } from 'pg'
import { copiedColumns, descendantsOf, followersByColumn, streams } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { Database } from '../database/database.ts'
import { queryPrepared } from '../database/session.ts'
import { isDataError } from '../database/sql-states.ts'
import { BoatMirrorError, messageOf } from '../errors.ts'
import {
  confirmTombstones,
  groupScopes,
  scopeParameters,
  tombstoneByKey,
  tombstoneDescendants,
  tombstoneInScope,
} from './change-statements.ts'
import { insertDirectly, splitDirect } from './direct-insert.ts'
import { keepFeedOrder } from './feed-order.ts'
import { copyStatement, fillStatement } from './fill-statements.ts'
import { noteRowChanges } from './kept-counts.ts'
import { mergeStatement } from './merge-statements.ts'
import { keyArrays, lockParents } from './parent-locks.ts'
import { type Refusal, refusalByPartner } from './partner-objects.ts'
import { forgetRecords, makeDue, type RecordKeys } from './records.ts'
import { redactPersons } from './redact.ts'
import type { FilledWrite, MirrorWrites, SourcedRow, TableWrite, Tombstones, WriteCounts, Written } from './rows.ts'
import { type Batch, stageRows } from './staging.ts'

/** Postgres refused the data of a batch; `findRefusedRows` finds the rows. Roll the transaction back. */
export class DataRefused extends BoatMirrorError {
  /** Name of the stream whose rows were refused; null: unknown. */
  readonly stream: string | null
  readonly reason: string
  /** Every row is refused, by what a partner added to the table. */
  readonly everyRow: boolean

  constructor(stream: string | null, { reason, everyRow }: Refusal, cause: unknown) {
    super('DATA_REFUSED', `Postgres refused data of ${stream ?? 'a batch'}: ${reason}.`, { cause })
    this.name = 'DataRefused'
    this.stream = stream
    this.reason = reason
    this.everyRow = everyRow
  }
}

type Tally = { -readonly [K in keyof WriteCounts]: number }

type Merged = {
  readonly inserted: number
  readonly revived: number
  readonly updated: number
  readonly missed: number
}

/** One call of `applyWrites`: its transaction, its staged batch, what came of it by stream, and which records go. */
type Writing = {
  readonly client: PoolClient
  readonly batch: Batch
  readonly counts: Map<string, Tally>
  readonly going: RecordKeys[]
}

/** The counts of a stream; only streams that were given something or lost something have any. */
function tallyOf({ counts }: Writing, { name }: StreamDef): Tally {
  const tally = counts.get(name) ?? { inserted: 0, updated: 0, unchanged: 0, deleted: 0 }
  counts.set(name, tally)
  return tally
}

/**
 * Applies everything in the caller's transaction (read committed). Unchanged rows write nothing, children of a
 * deleted record are skipped, and the stored state of deleted records is removed.
 * @throws DataRefused when Postgres refuses the data of a row.
 */
export async function applyWrites(client: PoolClient, writes: MirrorWrites): Promise<Written> {
  const { tables = [], filled = [], tombstones = [] } = writes
  const { direct, others } = splitDirect(tables)
  const batch = await refusing(null, () => stageRows(client, others))
  const writing: Writing = { client, batch, counts: new Map(), going: [] }
  const gone = new Map<string, ReadonlySet<string>>()
  for (const stream of streams) {
    const isOwn = (each: { readonly stream: StreamDef }): boolean => each.stream.name === stream.name
    const [inserts, own] = [direct.filter(isOwn), others.filter(isOwn)]
    const [fills, goers] = [filled.filter(isOwn), tombstones.filter(isOwn)]
    gone.set(stream.name, await refusing(null, () => lockParents(client, stream, writes)))
    const copied = copiedColumns(stream)
    const sources = copied === undefined ? [] : keysIn(tables, copied.source)
    if (inserts.length + own.length + goers.length + fills.length + sources.length === 0) continue
    await refusing(stream.name, async () => {
      if (inserts.length > 0) await insert(writing, stream, inserts)
      if (own.some((table) => table.rows.length > 0)) await merge(writing, stream, own)
      const lost = await replaceScopes(writing, stream, own)
      if (lost.length > 0) await writes.onLost?.({ stream, keys: lost })
      for (const write of fills) await fill(writing, write)
      if (copied !== undefined && sources.length > 0)
        await setAnew(writing, stream, copyStatement(stream, copied, 'source'), keyArrays(copied.source, sources))
      for (const each of goers) {
        await tombstoneKeys(writing, each)
        if (each.lost) await writes.onLost?.(each)
      }
    })
  }
  await forgetRecords(client, writing.going)
  const grown = [...writing.counts].map(([name, { inserted, deleted }]) => [name, inserted - deleted] as const)
  await noteRowChanges(client, new Map(grown))
  if (writing.counts.size > 0) await keepFeedOrder(client)
  return { counts: writing.counts, gone }
}

const keysIn = (tables: readonly TableWrite[], stream: StreamDef): readonly (readonly string[])[] =>
  tables.flatMap((table) => (table.stream === stream ? table.rows.map(({ key }) => key) : []))

/** Runs a step; data that Postgres refuses is reported with its stream. */
async function refusing<T>(stream: string | null, step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    const refusal =
      refusalByPartner(error) ?? (isDataError(error) ? { reason: messageOf(error), everyRow: false } : null)
    throw refusal === null ? error : new DataRefused(stream, refusal, error)
  }
}

async function insert(writing: Writing, stream: StreamDef, tables: readonly TableWrite[]): Promise<void> {
  const inserted = await insertDirectly(writing.client, stream, tables)
  if (inserted === null) await merge({ ...writing, batch: await stageRows(writing.client, tables) }, stream, tables)
  else tallyOf(writing, stream).inserted += inserted
}

const maxMergeRounds = 5 // each round, another transaction must have inserted one of our keys in between

async function merge(writing: Writing, stream: StreamDef, tables: readonly TableWrite[]): Promise<void> {
  const { client, batch } = writing
  const tally = tallyOf(writing, stream)
  const text = mergeStatement(stream, batch.source)
  const values = [batch.parameter(stream)]
  // Planning costs a small batch more than running; what a large one is given has no statistics to be planned by twice.
  const run = (): Promise<QueryResult<Merged>> =>
    batch.source === 'sent'
      ? queryPrepared(client, { name: `merge ${stream.name}`, text, values })
      : client.query(text, values)
  let written = 0
  for (let round = 1; ; round++) {
    const { rows } = await run()
    const merged = rows[0] ?? { inserted: 0, revived: 0, updated: 0, missed: 0 }
    tally.inserted += merged.inserted + merged.revived
    tally.updated += merged.updated - merged.revived
    written += merged.inserted + merged.updated
    const copied = merged.revived > 0 ? copiedColumns(stream) : undefined
    if (copied !== undefined) {
      // The records they belong to may have changed while they were tombstones.
      const keys = keyArrays(stream, keysIn(tables, stream))
      await setAnew(writing, stream, copyStatement(stream, copied, 'own key'), keys)
    }
    if (merged.missed === 0) {
      // Also what came twice: each row that was read is counted once.
      tally.unchanged += tables.reduce((sum, { rows }) => sum + rows.length, 0) - written
      return
    }
    if (round === maxMergeRounds)
      throw new BoatMirrorError('DATABASE_BUSY', `Other transactions keep inserting the same rows of ${stream.name}.`)
  }
}

/**
 * Scopes of one shape are replaced by one statement, however many answers they come from.
 * @returns the keys of the rows that went
 */
async function replaceScopes(
  writing: Writing,
  stream: StreamDef,
  tables: readonly TableWrite[],
): Promise<readonly (readonly string[])[]> {
  const lost: (readonly string[])[] = []
  for (const group of groupScopes(tables)) {
    const parameters = [writing.batch.parameter(stream), ...scopeParameters(group)]
    const statement = tombstoneInScope(stream, group.shape, writing.batch.source)
    const gone = await tombstone(writing, stream, statement, parameters)
    for (const place of new Set(gone.map((row) => row.place))) {
      const answer = group.scopes[Number(place) - 1]
      const keys = gone.filter((row) => row.place === place).map(({ key }) => key)
      if (answer !== undefined) await cascade(writing, { ...answer, stream, keys })
      lost.push(...keys)
    }
  }
  return lost
}

async function tombstoneKeys(writing: Writing, gone: Tombstones): Promise<void> {
  const { stream, readAt, source } = gone
  if (gone.keys.length === 0) return
  const arrays = keyArrays(stream, gone.keys)
  const rows = await tombstone(writing, stream, tombstoneByKey(stream), [readAt, source, ...arrays])
  if (rows.length < gone.keys.length) await writing.client.query(confirmTombstones(stream), [readAt, ...arrays])
  await cascade(writing, { ...gone, keys: rows.map(({ key }) => key) })
}

/** A row that became a tombstone, and which of the statement's scopes it was in. */
type Tombstone = { readonly key: readonly string[]; readonly place: string | undefined }

/** Runs a tombstone statement. */
async function tombstone(
  writing: Writing,
  stream: StreamDef,
  sql: string,
  parameters: unknown[],
): Promise<readonly Tombstone[]> {
  const { rows } = await writing.client.query<Record<string, string>>(sql, parameters)
  if (rows.length > 0) tallyOf(writing, stream).deleted += rows.length
  return rows.map((row) => ({ key: stream.key.map((_, index) => row[`k${index}`] ?? ''), place: row.place }))
}

/** Turns the descendants of new tombstones into tombstones too, and redacts the data of a person. */
async function cascade(writing: Writing, { stream, keys, source, readAt }: Tombstones): Promise<void> {
  if (keys.length === 0) return
  writing.going.push({ stream, keys })
  for (const descendant of descendantsOf(stream.name)) {
    const parameters = [readAt, source, ...keyArrays(stream, keys)]
    await tombstone(writing, descendant, tombstoneDescendants(descendant, stream), parameters)
  }
  if (stream.person === true)
    await redactPersons(
      writing.client,
      keys.map((key) => key[0] ?? ''),
    )
}

/** Columns that changed: before and after. */
type Diff = Readonly<Record<string, readonly [string | null, string | null]>>

/** Fills columns; of a row that belonged to another record before, what follows from it is due there, too. */
async function fill(writing: Writing, { stream, rows, onlyEmpty = false }: FilledWrite): Promise<void> {
  const columns = (stream.filledBy?.columns ?? []).map(({ column }) => column)
  if (columns.length === 0 || rows.length === 0) return
  // The same record twice: the later row of the list stands.
  const byKey = new Map(rows.map((row) => [JSON.stringify(row.key), row]))
  const distinct = [...byKey.values()]
  const values = columns.map((column) => distinct.map((row) => row.values[column] ?? null))
  const keys = keyArrays(
    stream,
    distinct.map((row) => row.key),
  )
  tallyOf(writing, stream)
  const diffs = await setAnew(writing, stream, fillStatement(stream, columns, onlyEmpty), [...keys, ...values])
  for (const { column, names } of followersByColumn(stream.name))
    await makeDue(writing.client, names, [...new Set(diffs.flatMap((diff) => diff[column]?.[0] ?? []).map(String))])
}

/** Runs a statement that sets columns of rows that are there. Returns what changed in each. */
async function setAnew(
  writing: Writing,
  stream: StreamDef,
  statement: string,
  parameters: unknown[],
): Promise<readonly Diff[]> {
  const { rows } = await writing.client.query<{ diff: Diff }>(statement, parameters)
  if (rows.length > 0) tallyOf(writing, stream).updated += rows.length
  return rows.map(({ diff }) => diff)
}

/** What ends a trial: everything is rolled back. */
class TrialOver extends Error {}

/** Why Postgres refuses these rows, tried in a transaction that is rolled back; null: it takes them. */
async function refusalOf(db: Database, write: TableWrite, rows: readonly SourcedRow[]): Promise<string | null> {
  try {
    return await db.transaction(async (client) => {
      const { replace: _, ...kept } = write // only the rows are on trial
      await applyWrites(client, { tables: [{ ...kept, rows }] })
      throw new TrialOver()
    })
  } catch (error) {
    if (error instanceof TrialOver) return null
    if (error instanceof DataRefused) return error.reason
    throw error
  }
}

type RefusedRow = { readonly row: SourcedRow; readonly reason: string }

/**
 * Finds the rows of a write that Postgres refuses, by halving, in transactions that are rolled back: the log of their
 * number of trials for each bad row. Each trial has the rows found good before it: of two that may not stand together
 * the later one is refused. Empty when none is refused.
 */
export async function findRefusedRows(db: Database, write: TableWrite): Promise<readonly RefusedRow[]> {
  const good: SourcedRow[] = []
  const search = async (rows: readonly SourcedRow[]): Promise<readonly RefusedRow[]> => {
    const [first] = rows
    const reason = first === undefined ? null : await refusalOf(db, write, [...good, ...rows])
    if (first === undefined || reason === null) {
      good.push(...rows)
      return []
    }
    if (rows.length === 1) return [{ row: first, reason }]
    const middle = rows.length >> 1
    return [...(await search(rows.slice(0, middle))), ...(await search(rows.slice(middle)))]
  }
  return await search(write.rows)
}
