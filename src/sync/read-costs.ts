// What reads cost in requests: a list, and the details of one record. Pure. The readers are what is counted here.

import { styles } from '../api/paging/styles.ts'
import { parentOf, repeatsOf } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import { entries, type Profile } from '../profile/profile.ts'
import type { SyncContext } from './context.ts'
import { filterName, linkedStream } from './details/links.ts'
import { batchSize } from './details/readers/availability.ts'
import { priceRanges } from './details/readers/prices.ts'
import { dailyShare, firstSample } from './economy.ts'
import { pagingOf } from './lists/paging.ts'

/** The settings that decide how much is read. */
export type ReadSettings = Pick<
  SyncContext['settings'],
  'calendarYears' | 'priceDays' | 'slotDays' | 'slotDurations' | 'readEconomy'
> & { readonly api: Pick<SyncContext['settings']['api'], 'paging' | 'lists'> }

/** How many rows a stream has; null: unknown. */
export type RowsOf = (stream: string) => number | null

/** What the costs of reads follow from. */
export type Costs = {
  readonly settings: ReadSettings
  readonly rowsOf: RowsOf
  /** Reads that show more than those they repeat: they are always made. */
  readonly needed: ReadonlySet<string>
  /** PRICE_DAYS of prices are answered in one request; missing: unknown, and they are requested by months. */
  readonly pricesAtOnce?: boolean
  /** Filters that the API does not honour, as the profile calls them. */
  readonly refusedFilters?: ReadonlySet<string>
}

/** Elements of a collection, and slots of a boat, where no rows show how many there are. */
const assumedElements = 2

/** How many rows a stream has below one record of its parent. */
function elementsOf({ name, parent }: StreamDef, rowsOf: RowsOf): number {
  const [own, above] = [rowsOf(name), parent === undefined ? null : rowsOf(parent)]
  return own !== null && above !== null && own > 0 && above > 0 ? own / above : assumedElements
}

/** The records whose details a stream reads: its own for a list, its parent's otherwise. Null: unknown. */
export function recordsWithDetails(stream: StreamDef, costs: Costs): number | null {
  const { rowsOf } = costs
  const above = parentOf(stream)
  if (stream.reads.kind === 'list' || above === undefined) return rowsOf(stream.name)
  if (above.reads.kind === 'list') return rowsOf(above.name)
  const boats = recordsWithDetails(above, costs)
  // Slots of past days stay as rows; nothing is requested for them.
  const most = Math.max(assumedElements, ownRequests(above, costs))
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

/** Requests for the details of one record, but those that repeat what other reads bring. */
function ownRequests({ reads }: StreamDef, { settings, pricesAtOnce = false }: Costs): number {
  const { calendarYears, priceDays, slotDays, slotDurations } = settings
  switch (reads.kind) {
    case 'list':
    case 'inside':
      return 0
    case 'collection':
    case 'document':
      return 1
    case 'pricetable':
      return pricesAtOnce ? 1 : priceRanges('2000-01-01', priceDays).length
    case 'calendar':
      return calendarYears
    case 'slots':
      return slotDays * slotDurations
    case 'availability':
      // A batch, and one of it singly; without a proven order each is asked singly.
      return (slotDays * slotDurations * 2) / batchSize
    default:
      return reads satisfies never
  }
}

/** How many elements the reads that repeat others have to be made for below one record: itself, or those of its collection. */
const repeatedElements = (stream: StreamDef, { rowsOf }: Costs): number =>
  stream.reads.kind === 'list' ? 1 : elementsOf(stream, rowsOf)

/** Whether this read is skipped, except for samples. */
const isLeftOut = (endpoint: string, { settings, needed }: Costs): boolean =>
  settings.readEconomy && !needed.has(endpoint)

/** Requests for the details of one record that is due (for streams below another: of one record of the parent). */
export function detailRequests(stream: StreamDef, costs: Costs): number {
  const made = repeatsOf(stream).filter(({ endpoint }) => stream.reads.kind === 'list' || !isLeftOut(endpoint, costs))
  return ownRequests(stream, costs) + made.length * repeatedElements(stream, costs)
}

/** Requests for the details of this many records, all of them: of what repeats other reads, the first sample. */
export function firstRequests(stream: StreamDef, records: number, costs: Costs): number {
  const elements = records * repeatedElements(stream, costs)
  const repeated = repeatsOf(stream).reduce((sum, { endpoint }) => {
    return sum + (isLeftOut(endpoint, costs) ? Math.min(elements, firstSample(elements)) : elements)
  }, 0)
  return records * ownRequests(stream, costs) + repeated
}

/** Requests of a first sync to a list for the links that this stream fills, if that is cheaper than reading each. */
export function linkRequests(stream: StreamDef, { rowsOf, settings, refusedFilters }: Costs): number {
  const target = linkedStream(stream)
  const { filter } = target?.filledBy ?? {}
  if (target === undefined || filter === undefined || refusedFilters?.has(filterName(target))) return 0
  const [asked, linked] = [rowsOf(filter.stream) ?? 0, rowsOf(target.name) ?? 0]
  if (asked === 0 || asked >= linked) return 0
  return asked * (1 + Math.floor(linked / asked / pagingOf(target, settings.api).pageSize))
}

/** Requests for the details of so many records within a day in which each is due so many times. */
export function dailyRequests(stream: StreamDef, records: number, times: number, costs: Costs): number {
  const elements = records * repeatedElements(stream, costs)
  const repeated = repeatsOf(stream).reduce((sum, { endpoint }) => {
    return sum + elements * (isLeftOut(endpoint, costs) ? dailyShare : times)
  }, 0)
  return records * ownRequests(stream, costs) * times + repeated
}

/** @param priceDays PRICE_DAYS, for which prices are answered at once or not */
export function detectedCosts(profile: Profile, priceDays: number): Pick<Costs, 'pricesAtOnce' | 'refusedFilters'> {
  const prices = profile.value(entries.pricesAtOnce)
  return {
    pricesAtOnce: prices?.whole === true && prices.days === priceDays,
    refusedFilters: new Set(
      [...profile.values(entries.filter)].flatMap(([filter, isHonoured]) => (isHonoured ? [] : filter)),
    ),
  }
}
