// The reader of each kind of details: one module each in `readers/`, one map.

import type { StreamReads } from '../../catalog/types.ts'
import { firstDurations } from '../../state/due.ts'
import { changeSet } from '../change-set.ts'
import type { Reading, TaskRun } from '../context.ts'
import type { Economy } from '../economy.ts'
import { AvailabilityBatches, readAvailability } from './readers/availability.ts'
import { readCalendar } from './readers/calendar.ts'
import type { DetailRead } from './readers/children.ts'
import { readCollection } from './readers/collection.ts'
import { readDocument } from './readers/document.ts'
import { preparePrices } from './readers/prices.ts'
import { readRecord } from './readers/record.ts'
import { readSlots } from './readers/slots.ts'

export type Reader = (key: string) => Promise<DetailRead>

type Kind = StreamReads['kind']
type Prepare<K extends Kind> = (run: TaskRun<K>, keys: readonly string[], economy: Economy) => Reader | Promise<Reader>

const durationsOf = ({ context }: Reading, keys: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> =>
  firstDurations(context.database.pool, keys, context.settings.slotDurations)

const readers: { readonly [K in Kind]: Prepare<K> } = {
  list: async (run, keys, economy) => {
    const listed = await run.writer.listed(run, keys)
    return (key) => readRecord(run, key, { economy, listed: listed.get(key) })
  },
  collection: (run, _, economy) => (key) => readCollection(run, key, economy),
  document: (run) => (key) => readDocument(run, key),
  pricetable: (run) => preparePrices(run),
  calendar: (run) => (key) => readCalendar(run, key),
  slots: async (run, keys) => {
    const durations = await durationsOf(run, keys)
    return (key) => readSlots(run, key, durations.get(key) ?? [])
  },
  availability: async (run, keys) => {
    const durations = await durationsOf(run, keys)
    const batches = new AvailabilityBatches(run)
    // What the batches found is told with the first resource.
    let shared = await batches.prefetch(durations)
    return async (key) => {
      const before = shared
      shared = changeSet([])
      const read = await readAvailability(run, key, durations.get(key) ?? [], batches)
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
