// The reader of each kind of details: one module each in `readers/`, one map.

import type { StreamReads } from '../../catalog/types.ts'
import { changeSet } from '../change-set.ts'
import type { Reading, TaskRun } from '../context.ts'
import { firstDurations } from '../due/due.ts'
import type { Economy } from '../economy.ts'
import { AvailabilityBatches, readAvailability } from './readers/availability.ts'
import { readCalendar } from './readers/calendar.ts'
import type { DetailRead } from './readers/children.ts'
import { readCollection } from './readers/collection.ts'
import { readDocument } from './readers/document.ts'
import { preparePrices } from './readers/prices.ts'
import { readRecord } from './readers/record.ts'
import { readSlots } from './readers/slots.ts'
import type { TaggedAnswers } from './tagged-answers.ts'

/** Reads the details of one record; `answers`: those that may be requested with an entity tag, and come with one. */
export type Reader = (key: string, answers: TaggedAnswers) => Promise<DetailRead>

type Kind = StreamReads['kind']
type Prepare<K extends Kind> = (run: TaskRun<K>, keys: readonly string[], economy: Economy) => Reader | Promise<Reader>

const durationsOf = ({ context }: Reading, keys: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> =>
  firstDurations(context.database.pool, keys, context.settings.slotDurations)

/**
 * Reads with the durations of a resource looked up before, and again if they differ by now: another run may have read
 * data of the new ones, which this one would delete.
 */
async function readSteadily(
  run: Reading,
  key: string,
  known: readonly string[],
  read: (durations: readonly string[]) => Promise<DetailRead>,
): Promise<DetailRead> {
  const before = await read(known)
  const now = (await durationsOf(run, [key])).get(key) ?? []
  if (now.join() === known.join()) return before
  const again = await readSteadily(run, key, now, read)
  return { ...again, found: changeSet([{ counts: { ...before.found.counts, read: 0 } }, again.found]) }
}

const readers: { readonly [K in Kind]: Prepare<K> } = {
  list: async (run, keys, economy) => {
    const listed = await run.writer.listed(run, keys)
    return (key) => readRecord(run, key, { economy, listed: listed.get(key) })
  },
  collection: (run, _, economy) => (key, answers) => readCollection(run, key, { economy, answers }),
  document: (run) => (key, answers) => readDocument(run, key, answers),
  pricetable: (run) => preparePrices(run),
  calendar: (run) => (key, answers) => readCalendar(run, key, answers),
  slots: async (run, keys) => {
    const durations = await durationsOf(run, keys)
    return (key) => readSteadily(run, key, durations.get(key) ?? [], (now) => readSlots(run, key, now))
  },
  availability: async (run, keys) => {
    const durations = await durationsOf(run, keys)
    const batches = new AvailabilityBatches(run)
    // The findings of the batches are reported with the first resource.
    let shared = await batches.prefetch(durations)
    return async (key) => {
      const before = shared
      shared = changeSet([])
      const known = durations.get(key) ?? []
      const read = await readSteadily(run, key, known, (now) => readAvailability(run, key, now, batches))
      return { ...read, found: changeSet([before, read.found]) }
    }
  },
  inside: ({ stream }) => {
    throw new Error(`${stream.name} is read with its parent.`)
  },
}

/** The reader of the details of one record of this stream, after what all of these keys need was read. */
export const prepareReader = async (run: TaskRun, keys: readonly string[], economy: Economy): Promise<Reader> =>
  // The map pairs each kind with its own reader, which the type of an index into it does not say.
  await (readers[run.reads.kind] as Prepare<Kind>)(run, keys, economy)
