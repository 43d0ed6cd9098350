// The extra request where nothing proves that a list has ended: a smaller page, or the page before one that was
// refused.

import { ApiError } from '../../errors.ts'
import { counted } from '../../format.ts'
import type { Answer } from '../types.ts'
import { elementsAt } from '../wire/elements.ts'
import {
  cameAgain,
  judgeTail,
  misread,
  names,
  type SoFar,
  saysMore,
  unproven,
  wereRead,
  wrongTotal,
} from './list-end.ts'
import { mayMeanNone } from './next-link.ts'
import { keysOfPage, type PageMemory } from './page-memory.ts'
import { envelopeOf, type PageSource, pastEndStatuses } from './page-source.ts'
import { styles } from './styles.ts'

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
      endpoint,
      cause: refusal,
      mayHaveTakenEffect: false,
      ...(total === null ? {} : { remedy: wrongTotal }),
      ...(status === undefined ? {} : { status }),
      ...(body === undefined ? {} : { body }),
      ...(reason === undefined ? {} : { reason }),
    },
  )
}
