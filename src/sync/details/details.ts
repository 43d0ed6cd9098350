// A portion of details: read with overlap, compared by hash, committed in batches.

import { createHash } from 'node:crypto'
import { streamNamed } from '../../catalog/catalog.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { addDays, dateIn } from '../../clock.ts'
import { BoatMirrorError } from '../../errors.ts'
import type { TableWrite } from '../../mirror/rows.ts'
import { analyzeGrown } from '../../mirror/statistics.ts'
import { type DueSettings, detailStates, dueKeys, firstDurations, hashesFromList } from '../../state/due.ts'
import { markSwept } from '../../state/runs.ts'
import { addTasks, endTask, type Task } from '../../state/tasks.ts'
import { readAnewWhatIsAhead } from '../ahead.ts'
import { batches, mapConcurrently } from '../batches.ts'
import { commitWork } from '../commit.ts'
import type { SyncContext } from '../context.ts'
import { detailPriority, isEnabled, portions } from '../plan.ts'
import { projectionVersion } from '../project.ts'
import { addWork, emptyWork, type Work } from '../work.ts'
import { judgeGone } from './gone.ts'
import { AvailabilityBatches, readAvailability } from './readers/availability.ts'
import { readCalendar } from './readers/calendar.ts'
import { readCollection } from './readers/collection.ts'
import type { DetailRead } from './readers/detail.ts'
import { readDocument } from './readers/document.ts'
import { readPricetable } from './readers/prices.ts'
import { readRelated } from './readers/related.ts'
import { readSlots } from './readers/slots.ts'
import { readSingleRecord } from './single.ts'

/** What decides which details are due now. */
export function dueSettings(context: SyncContext, before: Date | null): DueSettings {
  const today = dateIn(context.settings.timeZone, context.clock.now())
  const { detailMaxAgeMs, slotDays } = context.settings
  return { maxAgeMs: detailMaxAgeMs, before, from: today, to: addDays(today, Math.max(0, slotDays - 1)) }
}

/** Plans the details of a run: portions of what is due become tasks. */
export async function runPlan(context: SyncContext, task: Task): Promise<void> {
  const stream = streamNamed(task.stream)
  if (stream.reads.kind !== 'list') await readAnewWhatIsAhead(context, task, stream)
  await analyzeGrown(context.database.pool, context.log)
  const due = isEnabled(stream, context.settings)
    ? await dueKeys(context.database.pool, stream, dueSettings(context, task.fullRead ? task.runStartedAt : null))
    : []
  const priority = detailPriority(stream.name)
  await context.database.transaction(async (client) => {
    if (stream.reads.kind !== 'list') await markSwept(client, task.runId, due.length)
    await addTasks(
      client,
      task.runId,
      stream.name,
      portions(due).map((keys) => ({ kind: 'details', priority, payload: { keys } })),
    )
    await endTask(client, task, { error: null })
  })
  context.onTasks()
}

/** After this many failures in a row a portion gives up: the API is down, not the record bad. */
const patience = 20

/** Details are committed together once in this time, in milliseconds: a kill repeats no more than that. */
const commitEveryMs = 1_000

/** Details fall due from three quarters of their age on (`dueKeys`). */
const healAgeMs = ({ settings }: SyncContext): number => settings.detailMaxAgeMs * 0.75

/** Reads the details of a portion of records. What a killed worker had done of it is left out. */
export async function runDetails(context: SyncContext, task: Task, signal: AbortSignal): Promise<void> {
  const stream = streamNamed(task.stream)
  const { keys } = task.payload as { readonly keys: readonly string[] }
  const states = await detailStates(context.database.pool, stream, keys)
  const open = keys.filter((key) => {
    const readAt = states.get(key)?.readAt
    return readAt === undefined || readAt === null || readAt < task.runStartedAt
  })
  const read = await prepareReader(context, stream, open, signal)
  // What is read again because of a full sync or its age is compared with the rows, which heals those that somebody spoilt.
  const trustedSince = task.fullRead ? Number.POSITIVE_INFINITY : context.clock.now().getTime() - healAgeMs(context)
  const harvests = mapConcurrently(open, context.settings.api.concurrency, (key) => {
    const state = states.get(key)
    const knownHash = (state?.readAt?.getTime() ?? 0) >= trustedSince ? (state?.hash ?? null) : null
    return harvest(context, stream, key, knownHash, read, signal)
  })
  let failuresInARow = 0
  for await (const batch of batches(harvests, { limit: 500, lingerMs: commitEveryMs })) {
    const work = emptyWork()
    for (const each of batch) {
      addWork(work, each.work)
      failuresInARow = each.failed ? failuresInARow + 1 : 0
    }
    await commitWork(context, task, work)
    if (failuresInARow >= patience)
      throw new BoatMirrorError('API_UNREACHABLE', work.problems.at(-1) ?? `${stream.name}: the API answers nothing.`)
  }
  await endTask(context.database.pool, task, { error: null })
}

export type Reader = (key: string, work: Work) => Promise<DetailRead>

/** The reader for one key of this stream, after what a whole portion needs was read. */
export async function prepareReader(
  context: SyncContext,
  stream: StreamDef,
  keys: readonly string[],
  signal: AbortSignal,
): Promise<Reader> {
  const { reads } = stream
  switch (reads.kind) {
    case 'list': {
      const hashes = await hashesFromList(context.database.pool, stream, reads.list, keys)
      return (key, work) => readListDetail(context, stream, key, hashes.get(key), work, signal)
    }
    case 'collection': {
      // Durations depend on the day; the mirror holds what they are today.
      const query: Record<string, string> =
        reads.dayParam === undefined ? {} : { [reads.dayParam]: dateIn(context.settings.timeZone, context.clock.now()) }
      return (key, work) => readCollection(context, stream, key, work, signal, query)
    }
    case 'document':
      return (key, work) => readDocument(context, stream, key, work, signal)
    case 'pricetable':
      return (key, work) => readPricetable(context, stream, key, work, signal)
    case 'calendar':
      return (key, work) => readCalendar(context, stream, key, work, signal)
    case 'slots': {
      const durations = await firstDurations(context.database.pool, keys, context.settings.slotDurations)
      return (key, work) => readSlots(context, stream, key, durations.get(key) ?? [], work, signal)
    }
    case 'availability': {
      const durations = await firstDurations(context.database.pool, keys, context.settings.slotDurations)
      const prefetched = new AvailabilityBatches(context, stream, signal)
      let counted: Work | undefined = emptyWork()
      await prefetched.prefetch(durations, counted)
      return (key, work) => {
        // What the batches cost is counted with the first resource.
        if (counted !== undefined) addWork(work, counted)
        counted = undefined
        return readAvailability(context, stream, key, durations.get(key) ?? [], prefetched, work)
      }
    }
    case 'inside':
      throw new Error(`${stream.name} is read with its parent.`)
    default:
      return reads satisfies never
  }
}

async function readListDetail(
  context: SyncContext,
  stream: StreamDef,
  key: string,
  mirroredHash: string | undefined,
  work: Work,
  signal: AbortSignal,
): Promise<DetailRead> {
  const [single] = await Promise.all([
    readSingleRecord(context, stream, key, signal, mirroredHash),
    readRelated(context, stream, key, work, signal),
  ])
  addWork(work, single.work)
  if (single.outcome.kind !== 'there') return { outcome: single.outcome, writes: [] }
  return { outcome: { kind: 'there', value: { startedAt: single.outcome.value.startedAt } }, writes: [] }
}

type Harvest = { readonly work: Work; readonly failed: boolean }

/** Reads one record's details and decides what is to be written: nothing when they are what `knownHash` stands for. */
async function harvest(
  context: SyncContext,
  stream: StreamDef,
  key: string,
  knownHash: string | null,
  read: Reader,
  signal: AbortSignal,
): Promise<Harvest> {
  const startedAt = context.clock.now()
  const work = emptyWork()
  const { outcome, writes } = await read(key, work)
  switch (outcome.kind) {
    case 'failed':
      work.problems.push(`${stream.name} ${key}: ${outcome.reason}`)
      work.tables.push(...writes)
      return { work, failed: outcome.retry }
    case 'gone':
    case 'absent':
      work.tables.push(...writes)
      await judgeGone(context, stream, key, startedAt, work, signal)
      return { work, failed: false }
    case 'there': {
      const hash = hashOfWrites(writes)
      const unchanged = writes.length > 0 && knownHash === hash && work.bad.length === 0
      if (unchanged) work.counts.unchanged += writes.reduce((sum, write) => sum + write.rows.length, 0)
      else work.tables.push(...writes)
      if (stream.reads.kind !== 'list')
        work.records.push({
          stream: stream.name,
          key,
          detailHash: hash,
          detailReadAt: startedAt,
          projection: projectionVersion,
          unchanged,
        })
      else if (work.records.length === 0) work.records.push({ stream: stream.name, key, detailReadAt: startedAt })
      return { work, failed: false }
    }
    default:
      return outcome satisfies never
  }
}

/** A hash of what a collection's answer leads to, and of the range it covers. */
function hashOfWrites(writes: readonly TableWrite[]): string {
  const hash = createHash('md5').update(String(projectionVersion))
  for (const write of writes) {
    hash.update(JSON.stringify(write.replace ?? []))
    for (const row of write.rows)
      hash.update(JSON.stringify(row.key)).update(JSON.stringify(row.values)).update(row.payload)
  }
  return hash.digest('base64url')
}
