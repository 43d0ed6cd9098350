// What reads cost in requests: a list, and the details of one record. Pure; the readers are what is counted here.

import { styles } from '../api/paging/styles.ts'
import { parentOf } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { SyncContext } from './context.ts'
import { batchSize } from './details/readers/availability.ts'
import { priceRanges } from './details/readers/prices.ts'
import { pagingOf } from './lists/paging.ts'

/** The settings that decide how much is asked for. */
export type ReadSettings = Pick<
  SyncContext['settings'],
  'calendarYears' | 'priceDays' | 'slotDays' | 'slotDurations'
> & { readonly api: Pick<SyncContext['settings']['api'], 'paging' | 'lists'> }

/** How many rows a stream has; null: nobody knows yet. */
export type RowsOf = (stream: string) => number | null

/** Elements of a collection, and slots of a boat, where no rows show how many there are. */
const assumedElements = 2

/** How many rows a stream has below one record of its parent. */
function elementsOf({ name, parent }: StreamDef, rowsOf: RowsOf): number {
  const [own, above] = [rowsOf(name), parent === undefined ? null : rowsOf(parent)]
  return own !== null && above !== null && own > 0 && above > 0 ? own / above : assumedElements
}

/** The records whose details a stream reads, all of them: its own for a list, its parent's otherwise. Null: nobody knows yet. */
export function recordsWithDetails(stream: StreamDef, rowsOf: RowsOf, settings: ReadSettings): number | null {
  const above = parentOf(stream)
  if (stream.reads.kind === 'list' || above === undefined) return rowsOf(stream.name)
  if (above.reads.kind === 'list') return rowsOf(above.name)
  const boats = recordsWithDetails(above, rowsOf, settings)
  // Slots of past days stay as rows; nothing is asked for them.
  const most = Math.max(assumedElements, detailRequests(above, rowsOf, settings))
  return boats === null ? null : boats * Math.min(elementsOf(above, rowsOf), most)
}

/** Requests for a list of so many records, its extra passes included; where only an empty page ends it, that one counts. */
export function listRequests(stream: StreamDef, records: number, settings: ReadSettings): number {
  if (stream.reads.kind !== 'list') return 0
  const { style, pageSize } = pagingOf(stream, settings.api)
  const passes = 1 + (stream.reads.extraPasses ?? []).length
  if (style === 'none') return passes
  return Math.ceil(records / pageSize) + (styles[style].needsNext ? passes - 1 : passes)
}

/** Requests for the details of one record (for streams below another: of one record of the parent). */
export function detailRequests(stream: StreamDef, rowsOf: RowsOf, settings: ReadSettings): number {
  const { reads } = stream
  const { calendarYears, priceDays, slotDays, slotDurations } = settings
  switch (reads.kind) {
    case 'list':
      return 1 + (reads.related ?? []).length
    case 'collection':
      return 1 + (reads.single === undefined ? 0 : elementsOf(stream, rowsOf))
    case 'document':
      return 1
    case 'pricetable':
      // By months; fewer where the API answers all of them at once.
      return priceRanges('2000-01-01', priceDays).length
    case 'calendar':
      return calendarYears
    case 'slots':
      return slotDays * slotDurations
    case 'availability':
      // A batch, and one of it singly; without a proven order each is asked singly.
      return (slotDays * slotDurations * 2) / batchSize
    case 'inside':
      return 0
    default:
      return reads satisfies never
  }
}
