// One record, read on request outside of any run: its results are committed as a run would do it.

import { keyText } from '../catalog/keys.ts'
import type { ReadEndpoint, StreamDef } from '../catalog/types.ts'
import { BoatMirrorError } from '../errors.ts'
import { doubtDetails, type StateKey, saveRecords } from '../mirror/records.ts'
import type { TableWrite, WriteCounts } from '../mirror/rows.ts'
import { applyWrites, DataRefused } from '../mirror/writer.ts'
import { changeSet, type Found, projected } from './change-set.ts'
import { badHashes, goodKeys } from './commit.ts'
import { listReading, type SyncContext } from './context.ts'
import { withStubs } from './details/embeds.ts'
import { type Answered, type ReadValue, readOutcome, readSingleRecord } from './details/single.ts'
import { StubCache } from './details/stub-cache.ts'
import { withoutStale } from './just-written.ts'
import { clearQuarantine, quarantineRecords } from './quarantine.ts'
import { insertNewRecords } from './remembered/new-records.ts'

export type AskedRecord = {
  readonly stream: StreamDef
  /** The read that answers only the record. */
  readonly endpoint: ReadEndpoint
  /** Path parameters. */
  readonly params: Readonly<Record<string, string>>
  /** Its key, as one text. */
  readonly key: string
}

/** Each read after the first needs another erasure within that read. */
const mostReads = 3

/** The list of erased persons has changed since the answer came. Nothing was written. */
const isReadAgain = (error: unknown): boolean =>
  error instanceof BoatMirrorError && error.code === 'PRIVACY_DIFFERS' && error.kind === 'abort'

/**
 * Reads one record and writes the answer. Reads it again where a person was erased meanwhile. Errors that concern only this record are outcomes.
 * @returns the answer, and whether the row equals it; a record that cannot be mirrored goes to quarantine
 * @throws ApiError when the API refuses all requests
 */
export async function readAlone(
  context: SyncContext,
  asked: AskedRecord,
  signal: AbortSignal,
): Promise<Answered<ReadValue>['outcome'] & { readonly stored: boolean }> {
  for (let reads = 1; ; reads++) {
    const { outcome, found } = await ask(context, asked, signal)
    if (outcome.kind !== 'there') return { ...outcome, stored: false }
    const isGood = (found.bad ?? []).length === 0
    try {
      return { ...outcome, stored: (await commitAlone(context, found)) && isGood }
    } catch (error) {
      if (reads === mostReads || !isReadAgain(error)) throw error
    }
  }
}

async function ask(context: SyncContext, asked: AskedRecord, signal: AbortSignal): Promise<Answered<ReadValue>> {
  const { stream, endpoint, key } = asked
  const reading = { context, stream, reads: stream.reads, signal }
  if (stream.reads.kind === 'list') return await readSingleRecord(listReading(reading, stream), key)
  const params = { ...asked.params }
  const { outcome, found } = await readOutcome(reading, { endpoint, params })
  if (outcome.kind !== 'there') return { outcome, found }
  const { body, startedAt: readAt } = outcome.value
  const request = requestOf(stream, params)
  const own = projected({ stream, record: body, request, endpoint, timeZone: context.settings.timeZone })
  const rows = own.row === undefined ? [] : [own.row]
  const table = { stream, mode: 'record', source: endpoint, readAt, rows } as const
  return { outcome, found: changeSet([found, own.found, { tables: [table] }]) }
}

/** Key columns that the record itself does not show. */
const requestOf = (
  { parentKey = [], parentParams = [] }: StreamDef,
  params: Readonly<Record<string, string>>,
): Record<string, string> =>
  Object.fromEntries(parentKey.map((column, index) => [column, params[parentParams[index] ?? ''] ?? '']))

/** The collections in which rows were written alone: they are no longer as a read of the whole collection left them. */
const collectionsOf = (tables: readonly TableWrite[], counts: ReadonlyMap<string, WriteCounts>): readonly StateKey[] =>
  tables.flatMap(({ stream, rows }) => {
    const { inserted = 0, updated = 0 } = counts.get(stream.name) ?? {}
    if (stream.parentKey === undefined || inserted + updated === 0) return []
    return rows.map(({ key }) => ({ stream: stream.name, key: keyText(key.slice(0, stream.parentKey?.length)) }))
  })

/** Writes what was found. @returns false where Postgres refuses the data */
async function commitAlone(context: SyncContext, found: Found): Promise<boolean> {
  const read = await withStubs(context, changeSet([found]), new StubCache())
  try {
    const written = await context.database.transaction(async (client) => {
      await context.privacy?.assertCurrent(client)
      const changes = await withoutStale(client, read, context)
      const { tables, filled, bad } = changes
      const { counts, gone } = await applyWrites(client, { tables, filled })
      await saveRecords(client, await insertNewRecords(client, [...changes.records, ...badHashes(changes)]), gone)
      await doubtDetails(client, collectionsOf(tables, counts))
      await quarantineRecords(client, bad)
      await clearQuarantine(client, goodKeys(tables))
      return [...counts.values()].reduce((total, each) => total + each.inserted + each.updated + each.deleted, 0)
    })
    context.onCommit(written)
    return true
  } catch (error) {
    if (error instanceof DataRefused) return false
    throw error
  }
}
