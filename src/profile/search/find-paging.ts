// Finds out how a list is paged: requests a few records, then those after them in one way after the other, and
// believes only a way that led to exactly those. Documented names come first, others only where an answer contradicts
// them. `signs.ts` draws the conclusions from an answer.

import { styles } from '../../api/paging/styles.ts'
import type { PagingSettings, PagingStyle } from '../../config.ts'
import { countingOf, likeFirst, linkHints, placeOf, type Sample, sizeParams, sizeQuery, trialSize } from './signs.ts'

/** A setting as it was found, and the evidence for it, in our words. */
export type FoundSetting = { readonly name: string; readonly value: string; readonly evidence: string }

/** What is set already, and therefore tried first. */
export type SetAlready = {
  readonly paging: PagingSettings
  /** Null: no style is set. */
  readonly style: PagingStyle | null
}

/** One list that is requested in different ways. Null: this way was refused, so it is not supported. */
export type AskedList = {
  ask(query: Readonly<Record<string, string>>, paths?: Partial<PagingSettings>): Promise<Sample | null>
  /** Follows a next link. @throws BoatMirrorError PAGING_FOREIGN_LINK, without a request */
  follow(link: string): Promise<Sample | null>
  /** Whether a next value is an address rather than a token. */
  isLink(next: string): boolean
}

/** Some settings of paging, and the lines that set them. */
type FoundPaging = {
  readonly paging: Partial<PagingSettings>
  readonly settings: readonly FoundSetting[]
}

/** What the ways are tried with. */
type Look = {
  readonly list: AskedList
  /** Keys of the first answer, for which nothing but the list was asked. */
  readonly whole: readonly string[]
  /** The smallest first page that could be had, and its query. */
  readonly first: Sample
  readonly query: Readonly<Record<string, string>>
  /** The parameter that sets the size of a page; undefined: none was found. */
  readonly size: string | undefined
}

/** A way to the next page: null where it does not lead there. */
type Way = readonly [style: PagingStyle, go: () => Promise<FoundPaging | null>]

/**
 * @param whole the answer to the list without any parameter of paging
 * @returns null where nothing leads to a second page
 */
export async function findPaging(list: AskedList, whole: Sample, set: SetAlready): Promise<FoundPaging | null> {
  const hints = typeof whole.next === 'string' ? linkHints(whole.next, {}, whole.keys.length).sizes : []
  const sizes = await findSizes(list, whole, {
    set: set.paging,
    names: [set.paging.sizeParam, ...hints, ...sizeParams],
  })
  const { first, query } = sizes
  const size = sizes.paging.sizeParam
  const look = { list, whole: whole.keys, first, query, size }
  const ways = waysOf(look, set)
  const complete = async (found: FoundPaging): Promise<FoundPaging> => {
    const usual = await usualSizes(list, whole, { set, size, style: found.paging.style ?? 'page' })
    const evidence = `${usual?.paging.sizeParam} and ${size} both set the size of a page`
    const { paging, settings } = usual ?? sizes
    const other = usual === null ? [] : [{ name: 'SERVE_SIZE_PARAMS', value: size ?? '', evidence }]
    const pages = await otherPages(look, found.paging)
    return { paging: { ...found.paging, ...paging }, settings: [...found.settings, ...settings, ...other, ...pages] }
  }
  let spare: FoundPaging | null = null
  for (const [style, go] of [...ways].sort(([a], [b]) => Number(b === set.style) - Number(a === set.style))) {
    const found = await go()
    if (found?.paging.style === style) return await complete(found)
    // A parameter that counts under a name of another style is taken only where nothing better works.
    spare ??= found
  }
  return spare && (await complete(spare))
}

/** Other names that choose a page as the one that was found does. */
async function otherPages(look: Look, { style = 'link', ...found }: Partial<PagingSettings>): Promise<FoundSetting[]> {
  const taken: string[] = []
  for (const name of styles[style].count === null ? [] : styles[style].params) {
    const other = name === found.pageParam ? null : await counting(look, [name])
    if (other?.paging.style === style && other.paging.pageBase === found.pageBase) taken.push(name)
  }
  const evidence = `each of them chooses the page, as ${found.pageParam} does`
  return taken.length === 0 ? [] : [{ name: 'SERVE_PAGE_PARAMS', value: taken.join(','), evidence }]
}

/** The sizes by the name that goes with a style, where another was found before the style; null: it does not count, or one is set. */
async function usualSizes(
  list: AskedList,
  whole: Sample,
  { set, size, style }: { readonly set: SetAlready; readonly size: string | undefined; readonly style: PagingStyle },
): Promise<FoundPaging | null> {
  const usual = styles[style].sizeParam
  const isTried = size === undefined || sizeParams.indexOf(usual) <= sizeParams.indexOf(size)
  if (isTried || set.paging.sizeParam !== styles[set.paging.style].sizeParam) return null
  const sizes = await findSizes(list, whole, { set: set.paging, names: [usual] })
  return sizes.paging.sizeParam === usual ? sizes : null
}

/** All ways: first what the answer itself names, then what is usual. */
function waysOf(look: Look, set: SetAlready): readonly Way[] {
  const { first, list, query } = look
  const { headerLink, next } = first
  const namesOf = (style: PagingStyle, usual = styles[style].params): readonly string[] => [
    ...new Set([...(set.style === style ? [set.paging.pageParam] : []), ...likeFirst(usual, look.size)]),
  ]
  const isLink = typeof next === 'string' && list.isLink(next)
  const link = headerLink ?? (isLink ? next : undefined)
  const token = isLink ? undefined : (next ?? undefined)
  const hints = link === undefined ? [] : linkHints(link, query, first.keys.length).counts
  const counts = (style: 'page' | 'offset', names: readonly string[]): Way => [style, () => counting(look, names)]
  const isOffset = (name: string): boolean => styles.offset.params.includes(name)
  const follows: readonly Way[] = link === undefined ? [] : [['link', () => following(look, link)]]
  const pages = counts('page', namesOf('page'))
  // What comes next may be the number of the next page: `next: 2`.
  const isNumber = token === '1' || token === '2'
  return [
    ...(headerLink === undefined ? [] : follows),
    ...(isNumber ? [pages] : []),
    ...(token === undefined ? [] : [byCursor(look, { token }, namesOf('cursor'))]),
    // A link that counts says the names; numbers can start at any page, and unchanged pages are not sent again.
    counts(
      'page',
      hints.filter((name) => !isOffset(name)),
    ),
    counts('offset', hints.filter(isOffset)),
    ...(headerLink === undefined ? follows : []),
    ...(isNumber ? [] : [pages]),
    counts('offset', namesOf('offset')),
    ...[...first.cursors].map(([nextPath, text]) =>
      byCursor(look, { token: text, nextPath }, namesOf('cursor', styles.cursor.params.slice(0, 3))),
    ),
  ]
}

/** True when a page holds what comes after the first one. */
const isNext = ({ whole, first }: Look, page: Sample | null): boolean => {
  const place = page === null ? null : placeOf(whole, page.keys)
  return place === first.keys.length || (place === 'beyond' && first.keys.length === whole.length)
}

async function following(look: Look, link: string): Promise<FoundPaging | null> {
  if (!isNext(look, await look.list.follow(link))) return null
  const where = link === look.first.headerLink ? 'the Link header' : 'the next link of the answer'
  return foundPaging({ style: 'link' }, `${where} led to the records after the first page`)
}

function byCursor(
  look: Look,
  { token, ...paths }: { readonly token: string; readonly nextPath?: string },
  names: readonly string[],
): Way {
  const go = async (): Promise<FoundPaging | null> => {
    for (const pageParam of names) {
      if (!isNext(look, await look.list.ask({ ...look.query, [pageParam]: token }, paths))) continue
      const evidence = `the next cursor of the answer, sent as ${pageParam}, led to the records after the first page`
      return foundPaging({ style: 'cursor', pageParam, ...paths }, evidence)
    }
    return null
  }
  return ['cursor', go]
}

/** Tries names until one counts something. */
async function counting({ list, whole, first, query }: Look, names: readonly string[]): Promise<FoundPaging | null> {
  for (const pageParam of names) {
    const found = await countingOf({ size: first.keys.length, known: whole.length }, async (number) => {
      const page = await list.ask({ ...query, [pageParam]: String(number) })
      return page === null ? null : placeOf(whole, page.keys)
    })
    if (found === null) continue
    const { style, base } = found
    const says = style === 'page' ? `pages are numbered from ${base}` : `records are counted from ${base}`
    const evidence = `${pageParam}=2 started where it must if ${says}`
    const counted = foundPaging({ style, pageParam, pageBase: base }, evidence)
    const line = { name: 'API_PAGE_BASE', value: String(base), evidence: says }
    return { ...counted, settings: [...counted.settings, line] }
  }
  return null
}

function foundPaging(paging: Partial<PagingSettings> & Pick<PagingSettings, 'style'>, evidence: string): FoundPaging {
  const { style, pageParam, nextPath } = paging
  const line = (name: string, value: string | null | undefined, why: string): readonly FoundSetting[] =>
    value == null ? [] : [{ name, value, evidence: why }]
  return {
    paging,
    settings: [
      ...line('API_PAGING', style, evidence),
      ...line('API_PAGE_PARAM', pageParam, `${pageParam} chooses the page`),
      ...line('API_NEXT_PATH', nextPath, 'the next cursor is there'),
    ],
  }
}

/** Asked for in turn where the size that is set is refused. */
const smallerSizes = [50, 20, 10]

type FoundSizes = FoundPaging & Pick<Look, 'first' | 'query'>

/**
 * Finds the parameter that sets the size of a page, the size that is answered, and a total at an unusual place.
 * @param whole the answer to the list without any parameter of paging
 */
async function findSizes(
  list: AskedList,
  whole: Sample,
  { set, names }: { readonly set: PagingSettings; readonly names: readonly string[] },
): Promise<FoundSizes> {
  const trial = trialSize(whole.keys.length)
  for (const name of trial === null ? [] : new Set(names)) {
    const query = sizeQuery(name, trial ?? 0)
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
  return { first: whole, query: {}, ...nothing }
}

const nothing: FoundPaging = { paging: {}, settings: [] }

const sized = (pageSize: number, evidence: string): FoundPaging => ({
  paging: { pageSize },
  settings: [{ name: 'API_PAGE_SIZE', value: String(pageSize), evidence }],
})

/** A size to set instead of `wanted`, where that is refused, or lowered without a word. */
async function largestPage(list: AskedList, name: string, wanted: number): Promise<FoundPaging> {
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
function totalIn(whole: Sample, first: Sample): FoundPaging {
  if (whole.total !== null || first.total !== null) return nothing
  for (const [totalPath, value] of whole.totals)
    if (value >= whole.keys.length && first.totals.get(totalPath) === value)
      return {
        paging: { totalPath },
        settings: [{ name: 'API_TOTAL_PATH', value: totalPath, evidence: `${value}, whatever the size of the page` }],
      }
  return nothing
}
