// Writes records, stubs, filled columns and tombstones in the caller's transaction: rows, change log and erasures
// together. Tables in catalog order, rows in key order, so that writers meet in the same order.

import type { PoolClient } from 'pg'
import { descendantsOf, streams } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { Database } from '../database/database.ts'
import { isDataError } from '../database/sql-states.ts'
import { BoatMirrorError, messageOf } from '../errors.ts'
import { forgetRecords, type RecordKeys } from '../state/records.ts'
import { holdParents, keyArrays } from './cascade.ts'
import {
  confirmTombstones,
  fillStatement,
  tombstoneBelow,
  tombstoneByKey,
  tombstoneInScope,
} from './change-statements.ts'
import { insertFresh, splitFresh } from './direct-insert.ts'
import { keepFeedOrder } from './feed-order.ts'
import { mergeStatement } from './merge-statements.ts'
import { type Refusal, refusalByPartner } from './partner-objects.ts'
import { erasePersons } from './redact.ts'
import type { FilledWrite, MirrorWrites, SourcedRow, TableWrite, Tombstones, WriteCounts } from './rows.ts'
import { groupScopes, scopeParameters } from './scopes.ts'
import { stageRows } from './staging.ts'

/** Postgres refused the data of a batch; `findRefusedRows` tells which rows. The transaction is to be rolled back. */
export class DataRefused extends BoatMirrorError {
  /** Name of the stream whose rows were refused; null: it could not be told. */
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
  readonly given: number
  readonly inserted: number
  readonly revived: number
  readonly updated: number
  readonly missed: number
}

/** Counts per stream; only streams that were given something or lost something are there. And what went. */
class Counts {
  readonly byStream = new Map<string, Tally>()
  readonly gone: RecordKeys[] = []

  of(stream: StreamDef): Tally {
    const tally = this.byStream.get(stream.name) ?? { inserted: 0, updated: 0, unchanged: 0, deleted: 0 }
    this.byStream.set(stream.name, tally)
    return tally
  }
}

/**
 * Applies everything in the caller's transaction (read committed). Rows that equal what is there write nothing, rows below
 * a record that is gone are left out, and what is remembered of records that go is forgotten.
 * @returns counts per stream name.
 * @throws DataRefused when Postgres refuses the data of a row.
 */
export async function applyWrites(client: PoolClient, writes: MirrorWrites): Promise<ReadonlyMap<string, WriteCounts>> {
  const { tables = [], filled = [], tombstones = [] } = writes
  const counts = new Counts()
  const { fresh, others } = splitFresh(tables)
  const batch = tables.length === 0 ? 0 : await refusing(null, () => stageRows(client, others))
  for (const stream of streams) {
    const straight = fresh.filter((table) => table.stream.name === stream.name)
    const own = others.filter((table) => table.stream.name === stream.name)
    const gone = tombstones.filter((each) => each.stream.name === stream.name)
    const fills = filled.filter((each) => each.stream.name === stream.name)
    await refusing(null, () => holdParents(client, stream, writes))
    if (straight.length + own.length + gone.length + fills.length === 0) continue
    await refusing(stream.name, async () => {
      if (straight.length > 0) await insert(client, stream, straight, counts.of(stream))
      if (own.some((table) => table.rows.length > 0)) await merge(client, stream, batch, counts.of(stream))
      await replaceScopes(client, stream, own, batch, counts)
      for (const write of fills) await fill(client, write, counts.of(stream))
      for (const each of gone) await bury(client, each, counts)
    })
  }
  await forgetRecords(client, counts.gone)
  if (counts.byStream.size > 0) await keepFeedOrder(client)
  return counts.byStream
}

/** Runs a piece of work; data that Postgres refuses is reported with its stream. */
async function refusing<T>(stream: string | null, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const refusal =
      refusalByPartner(error) ?? (isDataError(error) ? { reason: messageOf(error), everyRow: false } : null)
    throw refusal === null ? error : new DataRefused(stream, refusal, error)
  }
}

async function insert(
  client: PoolClient,
  stream: StreamDef,
  tables: readonly TableWrite[],
  tally: Tally,
): Promise<void> {
  const inserted = await insertFresh(client, stream, tables)
  if (inserted === null) await merge(client, stream, await stageRows(client, tables), tally)
  else tally.inserted += inserted
}

const maxMergeRounds = 5 // each round, another transaction must have inserted one of our keys in between

async function merge(client: PoolClient, stream: StreamDef, batch: number, tally: Tally): Promise<void> {
  let written = 0
  for (let round = 1; ; round++) {
    const { rows } = await client.query<Merged>(mergeStatement(stream), [batch, stream.name])
    const merged = rows[0] ?? { given: 0, inserted: 0, revived: 0, updated: 0, missed: 0 }
    tally.inserted += merged.inserted + merged.revived
    tally.updated += merged.updated - merged.revived
    written += merged.inserted + merged.updated
    if (merged.missed === 0) {
      tally.unchanged += merged.given - written
      return
    }
    if (round === maxMergeRounds)
      throw new BoatMirrorError('DATABASE_BUSY', `Other transactions keep inserting the same rows of ${stream.name}.`)
  }
}

/** Scopes of one shape are replaced by one statement, however many answers they come from. */
async function replaceScopes(
  client: PoolClient,
  stream: StreamDef,
  tables: readonly TableWrite[],
  batch: number,
  counts: Counts,
): Promise<void> {
  for (const group of groupScopes(tables)) {
    const parameters = [batch, stream.name, ...scopeParameters(group)]
    const gone = await tombstone(client, stream, tombstoneInScope(stream, group.shape), parameters, counts)
    for (const place of new Set(gone.map((row) => row.place))) {
      const answer = group.scopes[Number(place) - 1]
      const keys = gone.filter((row) => row.place === place).map(({ key }) => key)
      if (answer !== undefined) await buryBelow(client, { ...answer, stream }, keys, counts)
    }
  }
}

type Cause = { readonly stream: StreamDef; readonly source: string; readonly readAt: Date }

async function bury(client: PoolClient, gone: Tombstones, counts: Counts): Promise<void> {
  if (gone.keys.length === 0) return
  const arrays = keyArrays(gone.stream, gone.keys)
  const parameters = [gone.readAt, gone.source, ...arrays]
  const buried = await tombstone(client, gone.stream, tombstoneByKey(gone.stream), parameters, counts)
  const keys = buried.map(({ key }) => key)
  if (keys.length < gone.keys.length) await client.query(confirmTombstones(gone.stream), [gone.readAt, ...arrays])
  await buryBelow(client, gone, keys, counts)
}

/** A row that was buried, and which of the statement's scopes it was in. */
type Buried = { readonly key: readonly string[]; readonly place?: string }

/** Runs a tombstone statement. */
async function tombstone(
  client: PoolClient,
  stream: StreamDef,
  sql: string,
  parameters: unknown[],
  counts: Counts,
): Promise<readonly Buried[]> {
  const { rows } = await client.query<Record<string, string>>(sql, parameters)
  if (rows.length > 0) counts.of(stream).deleted += rows.length
  return rows.map((row) => ({
    key: stream.key.map((_, index) => row[`k${index}`] ?? ''),
    ...(row.place === undefined ? {} : { place: row.place }),
  }))
}

/** What hangs below gone records goes with them; a gone user is erased. */
async function buryBelow(
  client: PoolClient,
  cause: Cause,
  keys: readonly (readonly string[])[],
  counts: Counts,
): Promise<void> {
  if (keys.length === 0) return
  counts.gone.push({ stream: cause.stream, keys })
  for (const below of descendantsOf(cause.stream.name)) {
    const parameters = [cause.readAt, cause.source, ...keyArrays(cause.stream, keys)]
    await tombstone(client, below, tombstoneBelow(below, cause.stream), parameters, counts)
  }
  if (cause.stream.person === true)
    await erasePersons(
      client,
      keys.map((key) => key[0] ?? ''),
    )
}

async function fill(client: PoolClient, write: FilledWrite, tally: Tally): Promise<void> {
  const { stream, rows } = write
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
  const { rowCount } = await client.query(fillStatement(stream, columns), [...keys, ...values])
  tally.updated += rowCount ?? 0
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

export type RefusedRow = { readonly row: SourcedRow; readonly reason: string }

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
