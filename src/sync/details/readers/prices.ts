// Price tables: per day and duration, asked a month at a time, or all at once where the API was seen to answer that whole
// (docs/sources.md, reference/retrieve-resource-details/get-the-resource-pricetable).

import { elementsIn, isObject, type Json } from '../../../api/wire/json.ts'
import { addDays, dateIn } from '../../../clock.ts'
import type { SourcedRow, TableWrite } from '../../../mirror/rows.ts'
import { entries, readProfile } from '../../../profile/profile.ts'
import { changeSet, type Found, projectedAll } from '../../change-set.ts'
import type { Reading } from '../../context.ts'
import { type JsonObject, valueAt } from '../../records/project.ts'
import { readOutcome } from '../single.ts'
import { type DetailRead, detailRead, notRead, parentValues } from './children.ts'

/** Days that each API is trusted to answer at once. */
const rangeDays = 31
/** Of reads at once so many are compared with the same, asked a month at a time. */
const comparedShare = 0.02
/** After this many resources of a task with too few prices to decide, the task's others are read by months. */
const triedResources = 3

/** Are so many days more than one range, unless they are answered at once? */
export const needsRanges = (days: number): boolean => days > rangeDays

type Range = { readonly from: string; readonly to: string }

/** First and last days of the ranges that make up a horizon of `days` days from `today`. Pure. */
export function priceRanges(today: string, days: number): readonly Range[] {
  const result: { from: string; to: string }[] = []
  for (let start = 0; start < days; start += rangeDays) {
    const end = Math.min(start + rangeDays, days) - 1
    result.push({ from: addDays(today, start), to: addDays(today, end) })
  }
  return result
}

const without = (record: JsonObject, member: string): { [key: string]: Json } =>
  Object.fromEntries(Object.entries(record).filter(([name]) => name !== member))

/**
 * One flat record per day and duration; the fields beside the lists are kept with each. Null when the shape is not
 * the published one. Pure.
 */
export function priceEntries(body: Json): readonly Json[] | null {
  const results = elementsIn(body) ?? elementsIn(valueAt(body, 'results'))
  if (results === undefined) return null
  const outer = isObject(body) ? without(body, 'results') : {}
  return results.flatMap((day): Json[] => {
    const entries = isObject(day) ? elementsIn(day.pricetable) : undefined
    if (!isObject(day) || entries === undefined) return [day]
    const of = without(day, 'pricetable')
    return entries.map((entry): Json => (isObject(entry) ? { ...outer, ...of, ...entry } : entry))
  })
}

/**
 * The reader of PRICE_DAYS of prices. All at once and by months are compared for one resource, and then what is shorter
 * counts until a later comparison contradicts: of a share of the resources, and of each whose answer ends early.
 */
export async function preparePrices(reading: Reading<'pricetable'>): Promise<(key: string) => Promise<DetailRead>> {
  const { pool } = reading.context.database
  const { timeZone, priceDays } = reading.context.settings
  const today = dateIn(timeZone, reading.context.clock.now())
  const months = priceRanges(today, priceDays)
  const last = months.at(-1)
  if (last === undefined || months.length === 1) return (key) => readRanges(reading, key, months)
  const whole = [{ from: today, to: last.to }]
  const profile = await readProfile(pool)
  const detected = profile.value(entries.pricesAtOnce)
  let known = detected?.days === priceDays ? detected.whole : undefined
  let unproven = 0
  /** The read that finds it out; the others wait for it. */
  let findingOut: Promise<void> | undefined

  const read = async (key: string): Promise<DetailRead> => {
    if (known === false) return readRanges(reading, key, months)
    const before = known
    const atOnce = await readRanges(reading, key, whole, before !== true)
    if (before === true && reaches(atOnce, last.from) && Math.random() >= comparedShare) return atOnce
    const byMonths = await readRanges(reading, key, months)
    const same = isSame(atOnce, byMonths, months.length)
    if (same !== null) known = same
    else if (before === undefined && ++unproven === triedResources) known = false
    if (same === false && before === true)
      await profile.contradict(
        entries.pricesAtOnce,
        '',
        `Prices of ${key} differ between one request and requests per month.`,
      )
    else if (same !== null && before === undefined)
      await profile.found(entries.pricesAtOnce, '', { days: priceDays, whole: same })
    const [kept, other] = same === true ? [atOnce, byMonths] : [byMonths, atOnce]
    return { ...kept, found: changeSet([{ counts: { ...other.found.counts, read: 0 } }, kept.found]) }
  }

  return async (key) => {
    while (known === undefined && findingOut !== undefined) await findingOut
    if (known !== undefined) return read(key)
    const own = read(key)
    const ended = (): void => {
      findingOut = undefined
    }
    findingOut = own.then(ended, ended)
    return own
  }
}

const rowsOf = ({ writes }: DetailRead): readonly SourcedRow[] => writes.flatMap(({ rows }) => rows)

/** Whether prices from this day on were answered. */
const reaches = ({ writes }: DetailRead, day: string): boolean =>
  writes.some(({ stream, rows }) => rows.some(({ key }) => (key[stream.key.indexOf('date')] ?? '') >= day))

/** Whether both brought the same prices; null where that proves nothing, because prices or an answer are missing. */
function isSame(atOnce: DetailRead, byMonths: DetailRead, months: number): boolean | null {
  const isProof = byMonths.writes.length === months && byMonths.writes.every(({ rows }) => rows.length > 0)
  if (!isProof || (atOnce.outcome.kind === 'failed' && atOnce.outcome.retry)) return null
  const [one, other] = [atOnce, byMonths].map((read) => rowsOf(read).map(({ key, payload }) => `${key} ${payload}`))
  return one?.join('\n') === other?.join('\n')
}

/** Reads these ranges of the prices of one resource. `mayBeRefused`: the API may not answer as much at once. */
async function readRanges(
  reading: Reading<'pricetable'>,
  parentKey: string,
  ranges: readonly Range[],
  mayBeRefused = false,
): Promise<DetailRead> {
  const { context, stream, reads } = reading
  const { endpoint } = reads
  const { params, request, scope } = parentValues(stream, parentKey)
  const { timeZone } = context.settings
  const writes: TableWrite[] = []
  const findings: Found[] = []
  let startedAt = context.clock.now()
  for (const { from, to } of ranges) {
    const { outcome, found } = await readOutcome(reading, { endpoint, params, query: { from, to }, mayBeRefused })
    findings.push(found)
    if (outcome.kind === 'gone' || outcome.kind === 'failed') return notRead(outcome, findings, writes)
    const { body, startedAt: readAt } = outcome.value
    if (readAt < startedAt) startedAt = readAt
    const entries = priceEntries(body)
    const all = projectedAll((entries ?? [body]).map((record) => ({ stream, record, request, endpoint, timeZone })))
    findings.push(all.found)
    if (entries === null) continue
    findings.push({ counts: { read: entries.length } })
    const replace = all.complete ? [{ ...scope, from: { column: 'date', value: from, to } }] : []
    writes.push({ stream, mode: 'record', source: endpoint, readAt, rows: all.rows, replace })
  }
  return detailRead(startedAt, writes, findings)
}
