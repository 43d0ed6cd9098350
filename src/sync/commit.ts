// The writer of a sync. One commit is one transaction: rows, change log, quarantine, hashes, seen keys, counts and
// checkpoint, which also proves that the task is still ours.

import type { PoolClient } from 'pg'
import { streamNamed } from '../catalog/catalog.ts'
import { isContentKey, keyText, keyTextOf } from '../catalog/keys.ts'
import type { StreamDef } from '../catalog/types.ts'
import { withDeadline } from '../clock.ts'
import type { Queryable } from '../database/sql.ts'
import { counted } from '../format.ts'
import { refusalByPartner } from '../mirror/partner-objects.ts'
import { repairReadAhead } from '../mirror/read-ahead.ts'
import { saveRecords } from '../mirror/records.ts'
import type { Row, TableWrite, WriteCounts } from '../mirror/rows.ts'
import { analyzeGrown } from '../mirror/statistics.ts'
import { applyWrites, DataRefused, findRefusedRows } from '../mirror/writer.ts'
import { bindApi } from '../profile/mirrored-api.ts'
import { type ChangeSet, changeSet } from './change-set.ts'
import type { CommitExtras, SyncContext, TaskRun, TaskWriter } from './context.ts'
import { assertMayGo, keepLost, TooManyLost, withoutLost } from './deletions/below.ts'
import { endSweep } from './deletions/missing.ts'
import { withStubs } from './details/embeds.ts'
import { linkedStream, linkKeys } from './details/links.ts'
import { noteFleets } from './details/readers/slots.ts'
import { leavesOut, samplesOf } from './details/samples.ts'
import { hotSince, scheduledSince } from './due/candidates.ts'
import { dueKeys } from './due/due.ts'
import { noteReads, repeatingReadsOf } from './due/reads.ts'
import { economyOf } from './economy.ts'
import { withoutStale } from './just-written.ts'
import { endPass } from './lists/end-pass.ts'
import { dueSettings, isEnabled, moreUrgentThan, priorities } from './plan.ts'
import { type BadRecord, clearQuarantine, quarantineRecords } from './quarantine.ts'
import type { RequestValues } from './records/project.ts'
import { detailStates, isSeenSince, keepDetailTags, listedRecords } from './remembered/detail-states.ts'
import { knownRecords } from './remembered/known-records.ts'
import { insertNewRecords } from './remembered/new-records.ts'
import { addWarnings, markSwept, noteRunError } from './runs/runs.ts'
import { saveSweepPages } from './runs/sweeps.ts'
import { addTasks, checkpointTask, endTask, hasOpenTasks, waitingTasks } from './runs/tasks.ts'
import { noteUnknownFields } from './unknown-fields.ts'

/** A task is claimed sooner than this where a worker has a place for it, in milliseconds. */
const placeMs = 1_000

/** Writes what tasks find to the mirror, and where they are to the state of the sync. */
export const committing: TaskWriter = {
  takesStubs: true,

  /** Rows whose reading time lies ahead of the database's clock are repaired, with a warning. */
  begin: async ({ context, stream, task }) => {
    const rows = await context.database.transaction(async (client) => {
      const isAll = task.fullRead || !task.isScheduled || (await scheduledSince(client, stream)) === null
      const repaired = isAll ? await repairReadAhead(client, stream, task.runStartedAt) : 0
      if (repaired > 0)
        await addWarnings(client, task.runId, [
          `${counted(repaired, 'row')} had a read time ahead of the clock of Postgres and will be read again. That clock was set back, or the clock of another host was ahead.`,
        ])
      return repaired
    })
    if (rows > 0)
      context.log.warn(
        { event: 'rows_ahead', stream: stream.name, run: task.runId, rows },
        'rows had a read time ahead of the clock of Postgres; they will be read again',
      )
  },

  knownRecords: ({ context, stream }, keys, comparesAged) =>
    knownRecords(context.database.pool, stream, keys, comparesAged ? context.settings.detailMaxAgeMs : null),
  knownDetails: ({ context, stream }, keys) =>
    detailStates(context.database.pool, stream, keys, context.settings.detailMaxAgeMs),
  listed: ({ context, stream, reads }, keys) => listedRecords(context.database.pool, stream, reads.list, keys),
  isThere: ({ context, stream }, key, seen) => isSeenSince(context.database.pool, stream, key, seen),

  economy: async (run, part = 0) => {
    const { context, stream } = run
    const reads = await repeatingReadsOf(context.database.pool, stream)
    return economyOf(reads, { leavesOut: leavesOut(run), part, now: context.clock.now() })
  },

  /** Deletions above the threshold are held, rows that Postgres refuses are quarantined, and the rest is committed. */
  commit: async (run, found, { after, ...extras } = {}) => {
    const { context } = run
    let changes = await withStubs(context, found, run.stubs)
    let early = isDirect(changes) ? after : undefined
    for (;;) {
      if (early === undefined) await after
      const turn = early === undefined ? extras : { ...extras, after: early }
      try {
        const { written, isPlanned } = await context.database.transaction((client) =>
          writeAll(client, run, changes, turn),
        )
        context.onCommit(written)
        if (isPlanned) context.onTasks()
        return
      } catch (error) {
        // Whatever it was, the commit before it may have had a part in it.
        if (early !== undefined) {
          early = undefined
          continue
        }
        if (error instanceof TooManyLost) {
          changes = withoutLost(changes, error.held)
          continue
        }
        if (!(error instanceof DataRefused) || error.everyRow) throw error
        changes = await withoutRefused(context, changes, error)
      }
    }
  },

  endPass,
  endSweep,

  plan: async (run) => {
    const { context, stream, task } = run
    const { pool } = context.database
    await analyzeGrown(pool, context.log)
    const { fullRead, hot, isScheduled, runStartedAt } = task
    const settings = dueSettings(context, {
      scope: hot ? 'hot' : isScheduled ? 'schedule' : 'sync',
      ...(fullRead && { before: runStartedAt }),
      since: await sinceOf(pool, run),
    })
    const due = isEnabled(stream, context.settings) ? await dueKeys(pool, stream, settings) : []
    const target = linkedStream(stream)
    const links = target === undefined ? [] : await linkKeys(pool, target)
    return { due, links, ...(await samplesOf(run)) }
  },

  waiting: ({ context, task }) => waitingTasks(context.database.pool, moreUrgentThan(task.priority), placeMs),

  end: async (run, next) => {
    const { context, task } = run
    const { pool } = context.database
    if (next === undefined) await endTask(pool, task, { error: null })
    else
      await context.database.transaction(async (client) => {
        await noteReads(client, next.reads ?? [])
        if (next.swept !== undefined) await markSwept(client, task.runId, next.swept)
        await addTasks(client, task.runId, task.stream, next.tasks)
        await endTask(client, task, { error: null })
      })
    // Of several that end at once the last sees the others ended.
    const isLast = !(await hasOpenTasks(pool, task.runId))
    // What a first sync has filled is known before the next one reads it.
    if (isLast && task.kind === 'details') await analyzeGrown(pool, context.log)
    if (isLast || next !== undefined) context.onTasks()
  },
}

/** Since when a run checks for changes; null: it checks all rows, as it does on request. */
async function sinceOf(db: Queryable, { stream, task }: TaskRun): Promise<Date | null> {
  if (task.fullRead) return null
  if (!task.hot) return task.isScheduled ? await scheduledSince(db, stream) : null
  return stream.dueBy === undefined ? task.runStartedAt : await hotSince(db, stream)
}

/** Only new rows: none that the commit before it writes, too, where the order would count. */
const isDirect = ({ tables, filled, tombstones, bad }: ChangeSet): boolean =>
  tables.length > 0 &&
  filled.length + tombstones.length + bad.length === 0 &&
  tables.every(({ newKeys = false, replace = [], rows }) => rows.length === 0 || (newKeys && replace.length === 0))

/**
 * A commit whose rows are written keeps their keys locked at most this long while the one before it is running, in
 * milliseconds: that one may wait for one of these keys, or for a transaction that does, which Postgres cannot see.
 */
const longestEarlyMs = 2_000

async function writeAll(
  client: PoolClient,
  run: TaskRun,
  read: ChangeSet,
  extras: CommitExtras,
): Promise<{ readonly written: number; readonly isPlanned: boolean }> {
  const { task, context } = run
  await context.privacy?.assertCurrent(client)
  const changes = await withoutStale(client, read, context)
  const { counts, gone } = await applyWrites(client, {
    tables: changes.tables,
    filled: changes.filled,
    tombstones: changes.tombstones,
    onLost: (lost) => assertMayGo(client, run, lost, changes.tables),
  })
  await saveRecords(client, await insertNewRecords(client, [...changes.records, ...badHashes(changes)]), gone)
  if (changes.counts.read) await bindApi(client, context.settings)
  for (const held of changes.held) await keepLost(client, run, held)
  await keepDetailTags(client, changes.tagged)
  await noteFleets(client, changes.tables)
  await quarantineRecords(client, changes.bad)
  await clearQuarantine(client, goodKeys(changes.tables))
  // From here on it writes what each commit of the task writes.
  if (extras.after !== undefined) await withDeadline(extras.after, longestEarlyMs)
  await noteUnknownFields(client, changes.unknown)
  if (extras.pages !== undefined)
    await saveSweepPages(client, { ...extras.pages, runId: task.runId }, extras.pages.keys)
  await extras.also?.(client)
  await addWarnings(client, task.runId, [...new Set(changes.warnings)])
  // What a sample shows to be needed is read in the same run.
  const isPlanned = (await noteReads(client, changes.reads)) && leavesOut(run) && !task.hot
  if (isPlanned) await addTasks(client, task.runId, task.stream, [{ kind: 'plan', priority: priorities.plan }])
  if (changes.problems[0] !== undefined) await noteRunError(client, task.runId, problemText(changes.problems))
  await checkpointTask(client, task, {
    checkpoint: extras.checkpoint,
    counts: { ...changes.counts, ...sum(task.stream, counts, changes), quarantined: changes.bad.length },
  })
  const written = [...counts.values()].reduce((sum, each) => sum + each.inserted + each.updated + each.deleted, 0)
  return { written, isPlanned }
}

const problemText = (problems: readonly string[]): string =>
  problems.length === 1 ? String(problems[0]) : `${problems[0]} (and ${problems.length - 1} more)`

/**
 * A record that turned bad must not look known, or its next good version would be skipped as unchanged. Of a collection
 * nothing is known by the element.
 */
export const badHashes = (changes: ChangeSet): ChangeSet['records'] =>
  changes.bad
    .filter((bad) => !isContentKey(bad.key) && isKnownByOwnKey(streamNamed(bad.stream)))
    .map((bad) => ({ stream: bad.stream, key: bad.key, listHash: '', detailHash: '' }))

const isKnownByOwnKey = ({ key, parent }: StreamDef): boolean =>
  parent === undefined || streamNamed(parent).key.length === key.length

/** The keys of records that were read well: they leave the quarantine. */
export const goodKeys = (
  tables: readonly TableWrite[],
): readonly { readonly stream: string; readonly keys: readonly string[] }[] =>
  tables
    .filter((write) => write.mode === 'record' && write.rows.length > 0)
    .map((write) => ({ stream: write.stream.name, keys: write.rows.map(keyTextOf) }))

/** Counts of the run's own table and of what stands inside its records; other tables are counted by their own runs. */
function sum(stream: string, counts: ReadonlyMap<string, WriteCounts>, changes: ChangeSet): WriteCounts {
  const total = { inserted: 0, updated: 0, unchanged: changes.counts.unchanged ?? 0, deleted: 0 }
  for (const [name, each] of counts) {
    const table = streamNamed(name)
    const inside = table.reads.kind === 'inside' && table.parent === stream
    if (name !== stream && !inside) continue
    total.inserted += each.inserted
    total.updated += each.updated
    total.deleted += each.deleted
    if (name === stream) total.unchanged += each.unchanged
  }
  return total
}

/** The values of a row that were not in its record: without them, the record could not be projected again. */
const requestOf = ({ columns }: StreamDef, { values }: Row): RequestValues =>
  Object.fromEntries(
    columns.flatMap(({ name, path }, index) => (path === null ? [[name, values[index] ?? null] as const] : [])),
  )

/** The changes without the rows that Postgres refuses, which go to quarantine. */
async function withoutRefused(context: SyncContext, changes: ChangeSet, refused: DataRefused): Promise<ChangeSet> {
  const bad: BadRecord[] = []
  const tables: TableWrite[] = []
  for (const write of changes.tables) {
    const isSuspect = refused.stream === null || write.stream.name === refused.stream
    const rows = isSuspect ? await findRefusedRows(context.database, write) : []
    const refusedRows = new Set(rows.map(({ row }) => row))
    // A write that replaced a whole collection must not delete the row it could not write.
    const kept = { ...write, rows: write.rows.filter((row) => !refusedRows.has(row)), replace: [] }
    tables.push(rows.length === 0 ? write : kept)
    for (const { row, reason } of rows)
      bad.push({
        stream: write.stream.name,
        key: keyText(row.key),
        endpoint: write.source,
        payload: row.payload,
        reason,
        request: requestOf(write.stream, row),
      })
  }
  if (bad.length === 0) throw refused
  const warnings = refusalByPartner(refused.cause) === null ? [] : [refused.reason]
  return changeSet([
    { ...changes, tables },
    { bad, warnings },
  ])
}
