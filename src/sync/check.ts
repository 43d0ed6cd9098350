// `sync --check`: reads everything by the readers of a sync and compares it with the mirror. Writes no record.

import type { Page } from '../api/client.ts'
import { childrenOf, streamNamed } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import { messageOf } from '../errors.ts'
import { type Comparison, compareWrites } from '../mirror/comparison.ts'
import type { Row, TableWrite } from '../mirror/rows.ts'
import { getPin } from '../state/detected-settings.ts'
import { dueKeys } from '../state/due.ts'
import { keyText } from '../state/records.ts'
import { batches, mapConcurrently } from './batches.ts'
import { CheckTally, type StreamCheck } from './check-tally.ts'
import type { SyncContext } from './context.ts'
import { dueSettings, prepareReader, type Reader } from './details/details.ts'
import { parentValues } from './details/readers/collection.ts'
import { failedOutcome, type Outcome, readSingleRecord } from './details/single.ts'
import { belowRecord, withoutErasedUsers } from './lists/list-records.ts'
import { resolvePaging } from './lists/paging.ts'
import { portions } from './plan.ts'
import { addWork, emptyWork, projectInto, type Work } from './work.ts'

export type CheckOptions = {
  readonly signal: AbortSignal
  /** Told of each stream when it begins. */
  readonly onStream?: (stream: string) => void
}

type Check = {
  readonly context: SyncContext
  readonly signal: AbortSignal
  readonly tally: CheckTally
  /** Keys the API answered, of the streams that others hang below. */
  readonly keys: Map<string, readonly string[]>
}

/** Compares the named streams (as `streamsToRead` orders them) with the API. @throws ApiError when the API lets nobody in. */
export async function checkStreams(
  context: SyncContext,
  names: readonly string[],
  { signal, onStream }: CheckOptions,
): Promise<readonly StreamCheck[]> {
  const check: Check = { context, signal, tally: new CheckTally(), keys: new Map() }
  for (const stream of names.map(streamNamed)) {
    signal.throwIfAborted()
    onStream?.(stream.name)
    check.tally.of(stream.name)
    if (stream.reads.kind === 'list') await checkList(check, stream)
    else await checkDetails(check, stream)
  }
  return check.tally.all()
}

/** Compares writes; nothing of it is kept. */
const compare = ({ context }: Check, tables: readonly TableWrite[]): Promise<readonly Comparison[]> =>
  context.database.transaction((client) => compareWrites(client, tables))

/** Counts a piece of work and its problems. */
function count({ tally }: Check, stream: StreamDef, work: Work): void {
  for (const table of work.tables)
    if (table.mode === 'record') tally.of(table.stream.name).compared += table.rows.length
  for (const bad of work.bad) tally.of(bad.stream).bad += 1
  for (const problem of work.problems) tally.problem(stream.name, problem)
}

async function compareWork(check: Check, stream: StreamDef, work: Work): Promise<void> {
  count(check, stream, work)
  check.tally.add(await compare(check, work.tables))
}

async function checkList(check: Check, stream: StreamDef): Promise<void> {
  const { context, signal, tally } = check
  const { reads } = stream
  if (reads.kind !== 'list') return
  const pin = await getPin(context.database.pool, `summary:${stream.name}`)
  const summary = (pin?.value as { readonly summary?: boolean } | undefined)?.summary === true
  const seen = new Set<string>()
  try {
    for (const variant of [{}, ...(reads.extraPasses ?? [])]) {
      const query = { ...reads.query, ...variant }
      const paging = await resolvePaging(context, stream, reads.list, query, signal)
      const source = context.api.list({ endpoint: reads.list, query, signal, ...paging })
      for await (const pages of batches(source, { limit: 5, lingerMs: 0 })) {
        const { work, keys } = await workOfRecords(context, stream, reads.list, pages)
        const fresh = keys.filter((key) => !seen.has(key))
        for (const key of keys) seen.add(key)
        // A summary says nothing of what it leaves out: its single decides.
        if (summary) await checkSingles(check, stream, fresh)
        else await compareListed(check, stream, work)
      }
    }
  } catch (error) {
    // Without the whole list nothing can be said of what only the mirror has.
    const failed = failedOutcome(emptyWork(), error)
    tally.problem(stream.name, failed.kind === 'failed' ? failed.reason : messageOf(error))
    return
  }
  check.keys.set(stream.name, [...seen])
  const mirrored = await dueKeys(context.database.pool, stream, dueSettings(context, endOfTime))
  await checkSingles(
    check,
    stream,
    mirrored.filter((key) => !seen.has(key)),
  )
}

/** Whatever was read, was read before this: every live row is due. */
const endOfTime = new Date('9999-12-31T00:00:00Z')

/** Rows of pages, and what stands inside their records. */
async function workOfRecords(
  context: SyncContext,
  stream: StreamDef,
  endpoint: string,
  pages: readonly Page[],
): Promise<{ readonly work: Work; readonly keys: readonly string[] }> {
  const { timeZone } = context.settings
  const work = emptyWork()
  const keys: string[] = []
  for (const page of pages) {
    const rows: Row[] = []
    for (const record of await withoutErasedUsers(context, stream, page.items)) {
      const projected = projectInto(work, stream, record, {}, endpoint, timeZone)
      if (!projected.ok) continue
      const key = keyText(projected.row.key)
      keys.push(key)
      rows.push(projected.row)
      belowRecord(work, stream, record, key, { endpoint, readAt: page.startedAt, timeZone })
    }
    work.tables.push({ stream, mode: 'record', source: endpoint, readAt: page.startedAt, rows })
  }
  return { work, keys }
}

/** Rows at once when every difference shall be named: no more than a comparison keeps samples of. */
const named = 20

/**
 * Compares list records. What differs is asked for by its single, which decides: the mirror's row may be from there, and a
 * list may say the same with fewer members.
 */
async function compareListed(check: Check, stream: StreamDef, work: Work): Promise<void> {
  const found = await compare(check, work.tables)
  const differs = (comparison: Comparison): boolean => comparison.stream === stream.name && comparison.different > 0
  count(check, stream, work)
  if (!found.some(differs)) return check.tally.add(found)
  const suspects = new Set<string>()
  for (const write of work.tables.filter((table) => table.stream === stream))
    for (let start = 0; start < write.rows.length; start += named)
      for (const { samples } of await compare(check, [{ ...write, rows: write.rows.slice(start, start + named) }]))
        for (const sample of samples) if (sample.kind === 'different') suspects.add(keyText(sample.key))
  check.tally.add(found.map((comparison) => (differs(comparison) ? withoutDifferent(comparison) : comparison)))
  check.tally.of(stream.name).compared -= suspects.size
  await checkSingles(check, stream, [...suspects])
}

const withoutDifferent = (comparison: Comparison): Comparison => ({
  ...comparison,
  different: 0,
  samples: comparison.samples.filter((sample) => sample.kind !== 'different'),
})

/** Asks for records by their single endpoint; what is gone there and alive in the mirror is a difference. */
async function checkSingles(check: Check, stream: StreamDef, keys: readonly string[]): Promise<void> {
  const { context, signal, tally } = check
  const read = (key: string) => readSingleRecord(context, stream, key, signal).then((answer) => ({ key, ...answer }))
  for await (const batch of batches(mapConcurrently(keys, context.settings.api.concurrency, read), readAhead)) {
    const work = emptyWork()
    for (const { key, outcome, work: own } of batch) {
      addWork(work, own)
      noteOutcome(tally, stream, key, outcome)
    }
    await compareWork(check, stream, work)
  }
}

const readAhead = { limit: 100, lingerMs: 20 } as const

function noteOutcome(tally: CheckTally, stream: StreamDef, key: string, outcome: Outcome<unknown>): void {
  if (outcome.kind === 'failed') tally.problem(stream.name, `${stream.name} ${key}: ${outcome.reason}`)
  if (outcome.kind !== 'gone') return
  const samples = [{ stream: stream.name, key: [key], kind: 'deleted' as const, columns: {} }]
  tally.add([{ stream: stream.name, missing: 0, different: 0, deleted: 1, samples }])
}

/** Compares what hangs below the records the API answered. */
async function checkDetails(check: Check, stream: StreamDef): Promise<void> {
  const { context, signal, tally } = check
  const keepsKeys = childrenOf(stream.name).some((child) => child.reads.kind !== 'inside')
  const own: string[] = []
  for (const keys of portions(check.keys.get(stream.parent ?? '') ?? [])) {
    const read = await prepareReader(context, stream, keys, signal)
    const answers = mapConcurrently(keys, context.settings.api.concurrency, (key) =>
      detailWork(context, stream, key, read),
    )
    for await (const batch of batches(answers, readAhead)) {
      const work = emptyWork()
      for (const each of batch) addWork(work, each)
      await compareWork(check, stream, work)
      if (!keepsKeys) continue
      for (const table of work.tables)
        if (table.stream === stream) own.push(...table.rows.map((row) => keyText(row.key)))
    }
  }
  if (keepsKeys) check.keys.set(stream.name, own)
  tally.of(stream.name)
}

/** What one record's details lead to. */
async function detailWork(context: SyncContext, stream: StreamDef, key: string, read: Reader): Promise<Work> {
  const work = emptyWork()
  const { outcome, writes } = await read(key, work)
  work.tables.push(...writes)
  if (outcome.kind === 'failed') work.problems.push(`${stream.name} ${key}: ${outcome.reason}`)
  // A document that is not there: a row in the mirror is one too many. Of other details a 404 says nothing.
  if (outcome.kind === 'gone' && stream.reads.kind === 'document')
    work.tables.push({
      stream,
      mode: 'record',
      source: stream.reads.endpoint,
      readAt: context.clock.now(),
      rows: [],
      replace: [parentValues(stream, key).scope],
    })
  return work
}
