// Where a list ends: what proves it, what contradicts it, and the extra request where nothing proves it: a smaller page,
// or the page before one that was refused. An unproven end is never accepted: the list is refused, or PAGING_UNPROVEN
// reports that there may be more.

import { ApiError } from '../../errors.ts'
import { count, counted } from '../../format.ts'
import type { Answer, ListCall } from '../types.ts'
import { elementsAt } from '../wire/elements.ts'
import { type Envelope, ignored } from './envelope.ts'
import { mayMeanNone } from './next-link.ts'
import { keysOfPage, type PageMemory } from './page-memory.ts'
import { envelopeOf, type PageSource, pastEndStatuses } from './page-source.ts'
import type { ListRead } from './style.ts'
import { styles } from './styles.ts'

/** A list as far as it was read when it seems to end. */
export type SoFar = ListRead & {
  readonly call: ListCall
  /** The list was resumed in the middle: the number of records before is unknown here. */
  readonly resumed: boolean
  /** The total that was named last. */
  readonly total: number | null
  /** The envelope of the last page with records. */
  readonly last: Envelope
  /** The cursor of the page requested after it, and its own where that is known. */
  readonly asked: string
  readonly before: string | null
}

/** The most consecutive empty pages that announce more: some APIs filter records after they have cut their pages. */
const mostEmpty = 10

/** Why the last page announces more although the page after it does not; null: it does not. */
export function saysMore({ call, last, total, records, pages, resumed, asked, before }: SoFar): string | null {
  const known = !resumed && total !== null
  if (known && total === records) return null
  if (known && total > records) return `the API reports a total of ${count(total)}, and ${wereRead(records, 'record')}`
  if (last.more === true) return 'the last page says that more records follow'
  if (!resumed && last.pages !== null && last.pages > pages)
    return `the API reports ${counted(last.pages, 'page')}, and ${wereRead(pages, 'page')}`
  if (!counts(call) || typeof last.next !== 'string' || mayMeanNone(last.next)) return null
  if (names(call, last.next, asked) || names(call, last.next, before)) return null
  return `the last page names a next page at ${last.nextAt}, which API_PAGING=${call.paging.style} does not follow`
}

/** `1 record was read`, `2 records were read`. */
const wereRead = (value: number, noun: string): string => `${counted(value, noun)} ${value === 1 ? 'was' : 'were'} read`

/** Whether pages have numbers or offsets; all other styles are led on by their answers. */
const counts = ({ paging }: ListCall): boolean => styles[paging.style].count !== null

/** Whether a next page, or its link, is the one at this cursor. */
export const names = ({ paging: { pageParam } }: ListCall, next: string, cursor: string | null): boolean =>
  cursor !== null &&
  [next, new URLSearchParams(next.split('#')[0]?.split('?')[1] ?? '').get(pageParam)].includes(cursor)

/** What an empty page after one with records means: go on to the next one, or the end. @throws ApiError */
export function judgeEmpty(soFar: SoFar, empty: Envelope, emptyInARow: number): 'go-on' | 'end' {
  const { call, total, records, resumed } = soFar
  if (!resumed && total === records) return 'end'
  const goesOn = empty.more === true || (empty.more !== false && typeof empty.next === 'string')
  // After the last record, some APIs name the current position for a later request, or the last page.
  const isHere = records > 0 && [soFar.asked, soFar.before].some((place) => names(call, empty.next ?? '', place))
  if (goesOn && !isHere && !mayMeanNone(empty.next ?? '')) {
    if (emptyInARow < mostEmpty) return 'go-on'
    throw unproven(call, `the API returned ${mostEmpty} empty pages in a row, and each says that more records follow`)
  }
  // The caller that counts all records compares them with the total.
  if (resumed && total !== null) return 'end'
  const why = saysMore({ ...soFar, total: null, last: { ...soFar.last, more: undefined } })
  if (why !== null) throw unproven(call, `${why}, but the next page is empty`)
  return 'end'
}

/**
 * What a page means that came before.
 * @returns `ask`: nothing says it, but the list asked for in smaller pages may
 * @throws ApiError PAGING_IGNORED, PAGING_ENDLESS
 */
export function judgeRepeat(soFar: SoFar): 'end' | 'ask' {
  const { call, total, records, resumed, pages, asked, last } = soFar
  // Of a resumed list, the caller that counts all records compares them with the total.
  if (total !== null && (resumed || total === records)) return 'end'
  if (!counts(call) && (mayMeanNone(asked) || (last.more === false && saysMore(soFar) === null))) return 'end'
  const isNamed = !counts(call) || (typeof last.next === 'string' && !mayMeanNone(last.next))
  const named = `the previous page names it as the next page at ${last.nextAt ?? 'its end'}`
  const why = saysMore(soFar) ?? (isNamed ? named : null)
  if (why === null && resumed) throw unproven(call, 'a page repeats an earlier one')
  if (why === null) return 'ask'
  if (pages === 1 && !resumed) throw pageIgnored(soFar, why)
  throw endless(
    call,
    `the page after ${resumed ? 'some records' : counted(records, 'record')} repeats an earlier page, but ${why}`,
  )
}

/**
 * Compares a smaller page with what it must hold if the list has ended.
 * @param lastKeys of what was read, in order
 * @throws ApiError PAGING_UNPROVEN, PAGING_IGNORED
 */
function judgeTail(soFar: SoFar, keys: readonly string[], lastKeys: readonly string[], skip: number): void {
  const { call, records, pages } = soFar
  const expected = lastKeys.slice(skip - records)
  const isSame = (some: readonly string[]): boolean =>
    some.length === keys.length && some.every((key, index) => key === keys[index])
  if (isSame(expected) && expected.length === records - skip) return
  if (pages > 1) throw cameAgain(soFar)
  if (isSame(lastKeys))
    throw unproven(call, `the API returns the same ${counted(records, 'record')} for any page and size`)
  if (isSame(lastKeys.slice(0, keys.length)))
    throw pageIgnored(soFar, 'the API returns fewer records when fewer are requested')
  throw unproven(call, 'the second page repeats the first')
}

/** The error for a page that came before, of a list of several pages. */
const cameAgain = ({ call, records }: SoFar): ApiError =>
  endless(
    call,
    `the page after ${counted(records, 'record')} repeats an earlier page, and nothing says that all were read`,
  )

/** The remedy where the answers lead on in another way than lists are read. */
function wayOf({ last }: SoFar): string {
  if (typeof last.next !== 'string') return ''
  const names = [...new URLSearchParams(last.next.split('#')[0]?.split('?')[1] ?? '').keys()].slice(0, 6)
  if (names.length === 0) return `The answers name a next page at ${last.nextAt}: try API_PAGING=cursor. `
  return `The answers name a next page at ${last.nextAt}: set API_PAGING=link, or API_PAGE_PARAM to the parameter of its link that selects the page (one of ${names.join(', ')}). `
}

export const wrongTotal = `If the total is wrong, set API_TOTAL_PATH=${ignored}, or lists.<stream>.totalPath: ${ignored} in the configuration file.`
const noPages = 'If the list has no pages, set lists.<stream>.paging: none in the configuration file.'

const baseOf = (call: ListCall): string => (counts(call) ? `, API_PAGE_BASE (now ${call.pageBase})` : '')

function pageIgnored(soFar: SoFar, why: string): ApiError {
  const { call, total, records } = soFar
  const { endpoint, paging } = call
  const isTotal = total !== null && total > records ? ` ${wrongTotal}` : ''
  return new ApiError(
    'PAGING_IGNORED',
    `${endpoint} returned the first page again when asked for the second: ${why}.`,
    {
      endpoint,
      remedy: `${wayOf(soFar)}Check API_PAGE_PARAM (now ${paging.pageParam})${baseOf(call)} and API_PAGING (now ${paging.style}). ${noPages}${isTotal}`,
    },
  )
}

export const endless = (call: ListCall, what: string): ApiError =>
  new ApiError('PAGING_ENDLESS', `${call.endpoint} does not end: ${what}.`, {
    endpoint: call.endpoint,
    remedy: `Check API_PAGING and API_PAGE_PARAM. ${wrongTotal}${counts(call) ? ` If answers name a next page that does not exist, set API_NEXT_PATH=${ignored}.` : ''}`,
  })

export const unproven = (call: ListCall, what: string): ApiError =>
  new ApiError('PAGING_UNPROVEN', `${call.endpoint}: nothing proves that the list ended here: ${what}.`, {
    endpoint: call.endpoint,
    remedy: `Check API_PAGE_PARAM (now ${call.paging.pageParam})${baseOf(call)} and API_SIZE_PARAM (now ${call.paging.sizeParam}). ${noPages} If answers wrongly announce more records, set ${counts(call) ? `API_NEXT_PATH=${ignored} or ` : ''}API_TOTAL_PATH=${ignored}.`,
  })

/** The error for an answer that announces more records without naming where they are. */
export function misread(call: ListCall, problem: string, isOfTotal = false): ApiError {
  return new ApiError('PAGING_ENVELOPE', `${call.endpoint}: ${problem}.`, {
    endpoint: call.endpoint,
    remedy: `${styles[call.paging.style].advice}${isOfTotal ? ` ${wrongTotal}` : ''}`,
  })
}

/**
 * Judges a page that names no next one, of a list that answers lead through, or the only page of a list.
 * @returns `ask`: it may be all, or its next page was not found
 * @throws ApiError PAGING_ENVELOPE
 */
export function judgeLast(soFar: SoFar): 'end' | 'ask' {
  const { call, last, total, records, pages, resumed } = soFar
  const { needsNext } = styles[call.paging.style]
  const isFirst = pages === 1 && !resumed
  const isWhole = !resumed && total === records && last.more !== true && (last.pages ?? 0) <= pages
  if (isFirst && total !== null && total > records)
    throw misread(call, `The answer has ${records} of ${total} records and names no next page`, true)
  if (isWhole) return 'end'
  const why = saysMore({ ...soFar, total: null })
  if (why !== null && counts(call)) throw unproven(call, `${why}, but no records were returned`)
  if (why !== null) throw misread(call, `${why.charAt(0).toUpperCase()}${why.slice(1)}, and no next page was found`)
  // A single record cannot be requested in a smaller page.
  const isSilent = needsNext && last.next === undefined && last.endCursor !== null
  return isFirst && isSilent && records > 1 ? 'ask' : 'end'
}

/**
 * Requests a first page that names no next one again, with one record fewer: a list that is then cut off must say
 * where it continues.
 * @returns why the page may be incomplete although it is not cut off; null: it is complete
 * @throws ApiError PAGING_ENVELOPE where it is cut off without naming the next page
 */
export async function askForFewer(soFar: SoFar, source: PageSource): Promise<ApiError | null> {
  const { call, records } = soFar
  const { style, sizeParam } = call.paging
  const smaller = await source.fetch({ kind: 'query', query: { [sizeParam]: String(records - 1) } }, {})
  const { items, next, endCursor } = envelopeOf(call, smaller)
  if (typeof next === 'string' || typeof endCursor === 'string') return null
  if (items.length < records)
    throw misread(
      call,
      `There are more than ${records} records, or the API returns fewer when fewer are requested, and no next ${style} was found`,
    )
  return unproven(
    call,
    `the API returns the same ${counted(records, 'record')} for any page size, and no answer names a next page`,
  )
}

/** Asks for the end of a list in smaller pages, where a page came again and nothing says that it is the end. @throws ApiError */
export async function askForTail(soFar: SoFar, memory: PageMemory, source: PageSource): Promise<void> {
  const { call, records } = soFar
  const style = styles[call.paging.style]
  const tail = style.count?.tail(call, soFar) ?? null
  if (tail === null)
    throw records > 1 ? cameAgain(soFar) : unproven(call, 'the second page repeats the first, with 1 record')
  const smaller = { ...call, paging: { ...call.paging, pageSize: tail.size } }
  try {
    const answer = await source.fetch(style.request(smaller, tail.cursor, source.linkBase.prefix), {
      mayBeRefused: true,
    })
    const { items } = envelopeOf(call, answer)
    judgeTail(soFar, keysOfPage(elementsAt(items, answer.elements)), memory.lastKeys(), tail.skip)
  } catch (error) {
    if (!(error instanceof ApiError) || !pastEndStatuses.has(error.status)) throw error
    throw cameAgain(soFar)
  }
}

/**
 * Accepts a refusal as the end of the list if the page before is still there and announces no further record.
 * Otherwise the list may have vanished, or the API refuses to continue in the middle of it.
 * @param before the cursor of the page before
 * @throws ApiError the refusal, or the error of the page before
 */
export async function assertPastEnd(
  soFar: SoFar,
  refusal: ApiError,
  before: string,
  source: PageSource,
): Promise<void> {
  const { call, records, resumed } = soFar
  let again: Answer
  try {
    again = await source.fetch(styles[call.paging.style].request(call, before, source.linkBase.prefix), {})
  } catch (error) {
    throw error instanceof ApiError && pastEndStatuses.has(error.status) ? refusal : error
  }
  const last = envelopeOf(call, again)
  const { items, total } = last
  const why =
    typeof last.next === 'string' && !mayMeanNone(last.next) && !names(call, last.next, before) && total === null
      ? 'the previous page names a next page'
      : saysMore({ ...soFar, last, total })
  if (items.length > 0 && why === null) return
  const { endpoint, status, body, reason } = refusal
  const missing = total === null ? (why ?? 'the previous page is empty') : `the list has ${total}`
  throw new ApiError(
    refusal.code,
    `${refusal.message} ${resumed ? 'Some records were read' : wereRead(records, 'record')}, but ${missing}.`,
    {
      ...{ endpoint, status, body, reason },
      cause: refusal,
      mayHaveTakenEffect: false,
      remedy: total === null ? undefined : wrongTotal,
    },
  )
}
