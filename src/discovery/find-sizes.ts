// Finds the parameter that sets the size of a page, the size that is answered, and a total at an unusual place.

import type { PagingSettings } from '../config.ts'
import { placeOf, sizeQuery, trialSize, usualNames } from './paging-signs.ts'
import type { Sample } from './sample.ts'
import type { AskedList, FoundSetting } from './types.ts'

type FoundSizes = {
  /** The smallest first page that could be had, and the query that brought it. */
  readonly first: Sample
  readonly query: Readonly<Record<string, string>>
  readonly paging: Partial<PagingSettings>
  readonly settings: readonly FoundSetting[]
}

/** Asked for in turn where the size that is set is refused. */
const smallerSizes = [50, 20, 10]

/**
 * @param whole the answer to the list without any parameter of paging
 * @param known `hints`: names that a next link gives the size
 */
export async function findSizes(
  list: AskedList,
  whole: Sample,
  { set, hints }: { readonly set: PagingSettings; readonly hints: readonly string[] },
): Promise<FoundSizes> {
  const trial = trialSize(whole.keys.length)
  const unknown: FoundSizes = { first: whole, query: {}, paging: {}, settings: [] }
  if (trial === null) return unknown
  for (const name of new Set([set.sizeParam, ...hints, ...usualNames.size])) {
    const query = sizeQuery(name, trial)
    const first = await list.ask(query)
    if (first?.keys.length !== trial || placeOf(whole.keys, first.keys) !== 0) continue
    const evidence = `${name}=${trial} returned ${trial} records, no size returned ${whole.keys.length}`
    const largest = await largestPage(list, name, set.pageSize)
    const total = totalIn(whole, first)
    return {
      first,
      query,
      paging: { sizeParam: name, ...largest.paging, ...total.paging },
      settings: [{ name: 'API_SIZE_PARAM', value: name, evidence }, ...largest.settings, ...total.settings],
    }
  }
  return unknown
}

type Part = Pick<FoundSizes, 'paging' | 'settings'>
const nothing: Part = { paging: {}, settings: [] }

const sized = (pageSize: number, evidence: string): Part => ({
  paging: { pageSize },
  settings: [{ name: 'API_PAGE_SIZE', value: String(pageSize), evidence }],
})

/** A size to set instead of `wanted`, where that is refused, or lowered without a word. */
async function largestPage(list: AskedList, name: string, wanted: number): Promise<Part> {
  const page = await list.ask(sizeQuery(name, wanted))
  if (page !== null) {
    const { length } = page.keys
    const goesOn = typeof page.next === 'string' || page.headerLink !== undefined || (page.total ?? 0) > length
    return length < wanted && length > 0 && goesOn
      ? sized(length, `${name}=${wanted} returned ${length} records, and there are more`)
      : nothing
  }
  for (const size of smallerSizes.filter((each) => each < wanted))
    if ((await list.ask(sizeQuery(name, size))) !== null)
      return sized(size, `${name}=${wanted} was refused, ${name}=${size} was accepted`)
  return nothing
}

/** A number that stays the same whatever the size of the page, at a place where no total is looked for. */
function totalIn(whole: Sample, first: Sample): Part {
  if (whole.total !== null || first.total !== null) return nothing
  for (const [totalPath, value] of whole.totals)
    if (value >= whole.keys.length && first.totals.get(totalPath) === value)
      return {
        paging: { totalPath },
        settings: [{ name: 'API_TOTAL_PATH', value: totalPath, evidence: `${value}, whatever the size of the page` }],
      }
  return nothing
}
