// One commit: rows, change log, quarantine, hashes, seen keys, counts and checkpoint in one transaction that also proves
// that the task is still ours.

import type { PoolClient } from 'pg'
import { streamNamed } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import { refusalByPartner } from '../mirror/partner-objects.ts'
import type { Row, TableWrite, WriteCounts } from '../mirror/rows.ts'
import { applyWrites, DataRefused, findRefusedRows } from '../mirror/writer.ts'
import { clearQuarantine, quarantineRecords } from '../state/quarantine.ts'
import { keyText, saveRecords } from '../state/records.ts'
import { addCounts, addWarnings, noteRunError } from '../state/runs.ts'
import { checkpointTask, type Task } from '../state/tasks.ts'
import { noteUnknownFields } from '../state/unknown-fields.ts'
import type { SyncContext } from './context.ts'
import { embeddedRecords, stubsOf } from './details/embeds.ts'
import type { RequestValues } from './project.ts'
import type { Work } from './work.ts'

export type CommitExtras = {
  /** New checkpoint of the task; left out: the old one stays. */
  readonly checkpoint?: unknown
  /** Further statements of the same transaction. */
  readonly also?: (client: PoolClient) => Promise<void>
}

/**
 * Commits work of a task. Rows that Postgres refuses are found, quarantined, and the rest is committed.
 * @throws BoatMirrorError LEASE_LOST when another worker took the task over; nothing was written then.
 */
export async function commitWork(
  context: SyncContext,
  task: Task,
  work: Work,
  extras: CommitExtras = {},
): Promise<void> {
  await addStubs(context, work)
  for (;;) {
    try {
      const written = await context.database.transaction((client) => writeAll(client, task, work, extras))
      context.onCommit(written)
      return
    } catch (error) {
      if (!(error instanceof DataRefused) || error.everyRow) throw error
      await quarantineRefused(context, work, error)
    }
  }
}

/** Adds the stubs of what stands inside the records read so far; they may be added before the commit, to save its time. */
export async function addStubs(context: SyncContext, work: Work): Promise<void> {
  const { timeZone } = context.settings
  const embedded = embeddedRecords(work.holders.splice(0), work.embedded.splice(0), timeZone)
  work.tables.push(...(await stubsOf(context.database.pool, embedded, timeZone)))
}

async function writeAll(client: PoolClient, task: Task, work: Work, extras: CommitExtras): Promise<number> {
  const counts = await applyWrites(client, { tables: work.tables, filled: work.filled, tombstones: work.tombstones })
  await saveRecords(client, [...work.records, ...badHashes(work)])
  await quarantineRecords(client, work.bad)
  await clearQuarantine(client, goodKeys(work.tables))
  await noteUnknownFields(client, work.unknown)
  await extras.also?.(client)
  await addWarnings(client, task.runId, [...new Set(work.warnings)])
  if (work.problems[0] !== undefined) await noteRunError(client, task.runId, problemText(work.problems))
  await addCounts(client, task.runId, {
    ...work.counts,
    ...sum(task.stream, counts, work),
    quarantined: work.bad.length,
  })
  await checkpointTask(client, task, extras.checkpoint)
  return [...counts.values()].reduce((total, each) => total + each.inserted + each.updated + each.deleted, 0)
}

const problemText = (problems: readonly string[]): string =>
  problems.length === 1 ? String(problems[0]) : `${problems[0]} (and ${problems.length - 1} more)`

/**
 * A record that turned bad must not look known, or its next good version would be skipped as unchanged. Of a collection
 * nothing is known by the element.
 */
const badHashes = (work: Work): Work['records'] =>
  work.bad
    .filter((bad) => !bad.key.startsWith('#') && isKnownByOwnKey(streamNamed(bad.stream)))
    .map((bad) => ({ stream: bad.stream, key: bad.key, listHash: '', detailHash: '' }))

const isKnownByOwnKey = ({ key, parent }: StreamDef): boolean =>
  parent === undefined || streamNamed(parent).key.length === key.length

const goodKeys = (
  tables: readonly TableWrite[],
): readonly { readonly stream: string; readonly keys: readonly string[] }[] =>
  tables
    .filter((write) => write.mode === 'record' && write.rows.length > 0)
    .map((write) => ({ stream: write.stream.name, keys: write.rows.map((row) => keyText(row.key)) }))

/** Counts of the run's own table and of what stands inside its records; other tables are counted by their own runs. */
function sum(stream: string, counts: ReadonlyMap<string, WriteCounts>, work: Work): WriteCounts {
  const total = { inserted: 0, updated: 0, unchanged: work.counts.unchanged, deleted: 0 }
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

/** What of a row did not stand in its record: without it, the record could not be projected again. */
const requestOf = ({ columns }: StreamDef, { values }: Row): RequestValues =>
  Object.fromEntries(
    columns.flatMap(({ name, path }, index) => (path === null ? [[name, values[index] ?? null] as const] : [])),
  )

async function quarantineRefused(context: SyncContext, work: Work, refused: DataRefused): Promise<void> {
  let found = 0
  for (const [index, write] of work.tables.entries()) {
    if (refused.stream !== null && write.stream.name !== refused.stream) continue
    const rows = await findRefusedRows(context.database, write)
    if (rows.length === 0) continue
    found += rows.length
    const bad = new Set(rows.map(({ row }) => row))
    work.bad.push(
      ...rows.map(({ row, reason }) => ({
        stream: write.stream.name,
        key: keyText(row.key),
        endpoint: write.source,
        payload: row.payload,
        reason,
        request: requestOf(write.stream, row),
      })),
    )
    // What replaced a whole collection must not delete the row it could not write.
    work.tables[index] = { ...write, rows: write.rows.filter((row) => !bad.has(row)), replace: [] }
  }
  if (found === 0) throw refused
  if (refusalByPartner(refused.cause) !== null) work.warnings.push(refused.reason)
}
