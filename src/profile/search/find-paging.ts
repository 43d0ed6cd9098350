// Finds out how a list is paged: requests a few records, then those after them in one way after the other, and
// believes only a way that led to exactly those. The conclusions from an answer are in paging-signs.ts.

import type { PagingSettings, PagingStyle } from '../../config.ts'
import {
  type Counting,
  countingOf,
  countingText,
  isCounted,
  likeFirst,
  linkHints,
  placeOf,
  sizeQuery,
  trialSize,
  usualNames,
  usualSize,
} from './paging-signs.ts'
import type { Sample } from './sample.ts'
import type { AskedList, FoundPaging, FoundSetting, SetAlready } from './types.ts'

/** What the ways are tried with. */
type Look = {
  readonly list: AskedList
  /** Keys of the first answer, for which nothing but the list was asked. */
  readonly whole: readonly string[]
  /** The first page, and its query. */
  readonly first: Sample
  readonly query: Readonly<Record<string, string>>
  /** The parameter that sets the size of a page; undefined: none was found. */
  readonly size: string | undefined
  readonly set: SetAlready
}

type Found = {
  readonly style: PagingStyle
  readonly param?: string
  readonly base?: 0 | 1
  readonly nextPath?: string
  readonly evidence: string
}

/** A way to the next page, and the style that it would show. */
type Way = { readonly style: PagingStyle; readonly go: () => Promise<Found | null> }

/**
 * @param whole the answer to the list without any parameter of paging
 * @returns null where nothing leads to a second page
 */
export async function findPaging(list: AskedList, whole: Sample, set: SetAlready): Promise<FoundPaging | null> {
  const hints = typeof whole.next === 'string' ? linkHints(whole.next, {}, whole.keys.length).sizes : []
  const sizes = await findSizes(list, whole, { set: set.paging, hints })
  const look: Look = {
    list,
    whole: whole.keys,
    first: sizes.first,
    query: sizes.query,
    size: sizes.paging.sizeParam,
    set,
  }
  const found = await firstThatWorks(look)
  if (found === null) return null
  const { style, param, base, nextPath } = found
  const chosen = {
    style,
    ...(param !== undefined && { pageParam: param }),
    ...(base !== undefined && { pageBase: base }),
    ...(nextPath !== undefined && { nextPath }),
  }
  const usual = await usualSizes(look, whole, style)
  const { paging, settings } = usual ?? sizes
  const both = `${paging.sizeParam} and ${look.size} both set the size of a page`
  const other = usual && { name: 'SERVE_SIZE_PARAMS', value: look.size ?? '', evidence: both }
  return { paging: { ...chosen, ...paging }, settings: [...settingsOf(found), ...settings, ...(other ? [other] : [])] }
}

/** The sizes by the name that goes with a style, where another was found before the style; null: it does not count, or one is set. */
async function usualSizes({ list, size, set }: Look, whole: Sample, style: PagingStyle) {
  const names: readonly string[] = usualNames.size
  const usual = usualSize(style)
  const isTried = size === undefined || names.indexOf(usual) <= names.indexOf(size)
  if (isTried || set.paging.sizeParam !== usualSize(set.paging.style)) return null
  const sizes = await findSizes(list, whole, { set: { ...set.paging, sizeParam: usual }, hints: [] })
  return sizes.paging.sizeParam === usual ? sizes : null
}

/** A parameter that counts under an unexpected name is taken only where nothing better works. */
async function firstThatWorks(look: Look): Promise<Found | null> {
  let spare: Found | null = null
  for (const { style, go } of waysOf(look)) {
    const found = await go()
    if (found?.style === style) return found
    spare ??= found
  }
  return spare
}

/** All ways, the style that is set first, then what the answer itself names, then what is usual. */
function waysOf({ set, ...look }: Look): readonly Way[] {
  const { first, list, query } = look
  const { pageParam } = set.paging
  const { headerLink, next } = first
  const names = (usual: readonly string[], ...more: readonly string[]): readonly string[] => [
    ...new Set([...more, ...likeFirst(usual, look.size)]),
  ]
  const link = headerLink ?? (typeof next === 'string' && list.isLink(next) ? next : undefined)
  const token = typeof next === 'string' && !list.isLink(next) ? next : undefined
  const hints = link === undefined ? [] : linkHints(link, query, first.keys.length).counts
  const counts = (style: 'page' | 'offset', tried: readonly string[]): Way => ({
    style,
    go: () => counting({ set, ...look }, tried),
  })
  const own = (style: PagingStyle): readonly string[] => (set.style === style ? [pageParam] : [])
  const ofHints = (style: 'page' | 'offset'): readonly string[] =>
    hints.filter((name) => (usualNames.offset as readonly string[]).includes(name) === (style === 'offset'))
  const followed: Way = { style: 'link', go: () => following({ set, ...look }, link ?? '', headerLink !== undefined) }
  // What comes next may be the number of the next page: `next: 2`.
  const pages = counts('page', names(usualNames.page, ...own('page')))
  const ways: readonly Way[] = [
    ...(headerLink === undefined ? [] : [followed]),
    ...(token === '1' || token === '2' ? [pages] : []),
    ...(token === undefined
      ? []
      : [cursorWay({ set, ...look }, { token, path: null }, names(usualNames.cursor, ...own('cursor')))]),
    // A link that counts says the names; numbers can start at any page, and unchanged pages are not sent again.
    ...(ofHints('page').length === 0 ? [] : [counts('page', ofHints('page'))]),
    ...(ofHints('offset').length === 0 ? [] : [counts('offset', ofHints('offset'))]),
    ...(link === undefined || headerLink !== undefined ? [] : [followed]),
    ...(token === '1' || token === '2' ? [] : [pages]),
    counts('offset', names(usualNames.offset, ...own('offset'))),
    ...[...first.cursors].map(([path, value]) =>
      cursorWay({ set, ...look }, { token: value, path }, names(usualNames.cursor.slice(0, 3), ...own('cursor'))),
    ),
  ]
  return [...ways.filter(({ style }) => style === set.style), ...ways.filter(({ style }) => style !== set.style)]
}

/** True when a page holds what comes after the first one. */
const isNext = ({ whole, first }: Look, page: Sample | null): boolean => {
  const place = page === null ? null : placeOf(whole, page.keys)
  return place === first.keys.length || (place === 'beyond' && first.keys.length === whole.length)
}

async function following(look: Look, link: string, inHeader: boolean): Promise<Found | null> {
  if (!isNext(look, await look.list.follow(link))) return null
  const where = inHeader ? 'the Link header' : 'the next link of the answer'
  return { style: 'link', evidence: `${where} led to the records after the first page` }
}

function cursorWay(
  look: Look,
  { token, path }: { readonly token: string; readonly path: string | null },
  names: readonly string[],
): Way {
  const paths = path === null ? {} : { nextPath: path }
  const go = async (): Promise<Found | null> => {
    for (const param of names) {
      if (!isNext(look, await look.list.ask({ ...look.query, [param]: token }, paths))) continue
      const evidence = `the next cursor of the answer, sent as ${param}, led to the records after the first page`
      return { style: 'cursor', param, evidence, ...paths }
    }
    return null
  }
  return { style: 'cursor', go }
}

/** Tries names until one counts something. */
async function counting(look: Look, names: readonly string[]): Promise<Found | null> {
  for (const param of names) {
    const found = await countingBy(look, param)
    if (found === null) continue
    const first = `${param}=2 started where it must if ${countingText(found)}`
    return { style: found.style, param, base: found.base, evidence: first }
  }
  return null
}

async function countingBy({ list, whole, first, query }: Look, param: string): Promise<Counting | null> {
  const placeAt = async (value: 1 | 2) => {
    const page = await list.ask({ ...query, [param]: String(value) })
    return page === null ? null : placeOf(whole, page.keys)
  }
  const two = await placeAt(2)
  const verdict = countingOf(first.keys.length, two)
  if (verdict !== 'ask-one') return verdict
  // With two more pages to come, only what is not understood leads nowhere.
  if (two === null && whole.length > 2 * first.keys.length) return null
  const after = countingOf(first.keys.length, two, await placeAt(1))
  return after === 'ask-one' ? null : after
}

function settingsOf({ style, param, base, nextPath, evidence }: Found): readonly FoundSetting[] {
  return [
    { name: 'API_PAGING', value: style, evidence },
    ...(param === undefined ? [] : [{ name: 'API_PAGE_PARAM', value: param, evidence: `${param} chooses the page` }]),
    ...(base === undefined || !isCounted(style)
      ? []
      : [{ name: 'API_PAGE_BASE', value: String(base), evidence: countingText({ style, base }) }]),
    ...(nextPath === undefined
      ? []
      : [{ name: 'API_NEXT_PATH', value: nextPath, evidence: 'the next cursor is there' }]),
  ]
}

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
