// Reads a list page by page until it ends, and refuses lists that cannot be trusted to end.
// Knows addresses of pages and their order; how a page is fetched is given.

import { setImmediate } from 'node:timers/promises'
import { ApiError } from '../../errors.ts'
import type { Answer, KeptPage, ListCall, Page, ReadCall } from '../types.ts'
import { elementsAt } from '../wire/elements.ts'
import { type Envelope, shapeOf } from './envelope.ts'
import {
  askForFewer,
  askForTail,
  assertPastEnd,
  endless,
  judgeEmpty,
  judgeLast,
  judgeRepeat,
  misread,
  type SoFar,
} from './list-end.ts'
import { mayMeanNone } from './next-link.ts'
import { createPageMemory } from './page-memory.ts'
import { bodyOf, envelopeOf, named, type PageSource, pastEndStatuses } from './page-source.ts'
import { cursorsAhead, PagesAhead } from './pages-ahead.ts'
import type { PageAddress, Style } from './style.ts'
import { styles } from './styles.ts'

/** More pages than any list of this API has; used where no total says less. */
const maxPagesOfAnyList = 100_000

/** A total that is too small ends no list: only many more pages than it has records do. */
const fewestOfMostPages = 10_000

const largePage = 10_000

/** So much of a query is shown in a message. */
const shownLength = 200

/**
 * The pages of a list in order. A list that is empty yields one empty page; otherwise empty pages, repeats of the last
 * page, and refusals of a page whose predecessor is still there end the list without being yielded. That nothing proves its
 * end is thrown after its last page.
 * @throws ApiError PAGING_IGNORED, PAGING_ENDLESS, PAGING_UNPROVEN, PAGING_ENVELOPE, PAGING_FOREIGN_LINK, and whatever reading throws
 */
export async function* readPages(call: ListCall, source: PageSource): AsyncGenerator<Page, void, undefined> {
  if (call.ahead === undefined) return yield* pagesInOrder(call, source, null)
  const pages = new PagesAhead(
    // No page is requested ahead of the first one.
    (cursor, signal) => askForPage({ ...call, signal }, cursor, source, { mayBeRefused: true }),
    call.signal,
  )
  try {
    yield* pagesInOrder(call, source, { pages, records: call.ahead.records })
  } finally {
    await pages.end()
  }
}

type AskedPage = { readonly name: string; readonly kept: KeptPage | null; readonly answer: Answer }

async function askForPage(
  call: ListCall,
  cursor: string,
  { linkBase, nameOf, fetch }: PageSource,
  { mayBeRefused }: Required<Pick<ReadCall, 'mayBeRefused'>>,
): Promise<AskedPage> {
  const address = styles[call.paging.style].request(call, cursor, linkBase.prefix)
  const name = nameOf(address)
  const kept = (await call.kept?.(name)) ?? null
  const { signal } = call
  try {
    const answer = await fetch(address, { mayBeRefused, tag: kept?.tag, ...(signal !== undefined && { signal }) })
    return { name, kept, answer }
  } catch (error) {
    throw error instanceof ApiError && error.code === 'API_NOT_JSON' ? ofPage(error, address) : error
  }
}

/** The error for a page that is not JSON. It names the page too, so that a manual request shows the same. */
function ofPage(
  { code, message, remedy, endpoint, status, mayHaveTakenEffect }: ApiError,
  address: PageAddress,
): ApiError {
  const query = address.kind === 'link' ? (address.link.split('?')[1] ?? '') : new URLSearchParams(address.query)
  const text = `${message} The page was requested with ${String(query).slice(0, shownLength)}.`
  return new ApiError(code, text, { endpoint, mayHaveTakenEffect, status, remedy })
}

async function* pagesInOrder(
  call: ListCall,
  source: PageSource,
  ahead: { readonly pages: PagesAhead<AskedPage>; readonly records: number | null } | null,
): AsyncGenerator<Page, void, undefined> {
  const style = styles[call.paging.style]
  const memory = createPageMemory()
  const resumed = call.from !== undefined && call.from !== style.first(call)
  let cursor = call.from ?? style.first(call)
  let before = style.before(call, cursor)
  /** Whether an answer led here, to what may be no page. */
  let isDoubtful = false
  let last = leftOut
  let [records, pages, longest, largest, emptyInARow] = [0, 0, 0, 0, 0]
  let total: number | null = null
  for (let index = 0; ; ) {
    const soFar = (): SoFar => ({ call, records, pages, longest, resumed, total, last, asked: cursor, before })
    const mayBeRefused = before !== null || isDoubtful || call.mayBeRefused === true
    let asked: AskedPage
    try {
      asked = await (ahead?.pages.take(cursor) ?? askForPage(call, cursor, source, { mayBeRefused }))
    } catch (error) {
      if (!(error instanceof ApiError) || !pastEndStatuses.has(error.status)) throw error
      if (isDoubtful) return
      if (before === null) throw error
      return assertPastEnd(soFar(), error, before, source)
    }
    const { name, kept, answer } = asked
    const unchanged = answer.status === 304 ? kept : null
    // The tag does not cover a total in headers.
    const envelope = unchanged === null ? envelopeOf(call, answer) : leftOut
    total = envelope.total ?? total
    const items = elementsAt(envelope.items, answer.elements)
    const length = unchanged?.keys.length ?? items.length
    const goesOn = (): string | null => {
      const more = !resumed && ((total ?? 0) > records || (envelope.pages ?? 0) > pages)
      const hints = { base: source.linkBase, more: more || envelope.more === true }
      const next = named(call, () => style.next(call, cursor, envelope, hints))
      // Where only empty pages came before, this may be the page that any address leads to.
      const isOnly = pages > 1 && records === length
      return next !== null && !hints.more && !isOnly && isSame(call, cursor, next, source) ? null : next
    }
    if (index > 0 && length === 0) {
      emptyInARow += 1
      if (judgeEmpty(soFar(), envelope, emptyInARow) === 'end') return
      const following: string | null = style.count?.after(call, cursor, longest) ?? goesOn()
      if (following === null)
        throw misread(call, 'An empty page says that more records follow, but no next page was found')
      pages += 1
      cursor = following
      continue
    }
    emptyInARow = 0

    // Parsed a moment ago, compared in a moment: of a large page each takes long enough for others to have their turn between.
    if (items.length > largePage) await setImmediate()
    const verdict = unchanged === null ? memory.look(items) : memory.rememberKeys(unchanged.keys)
    if (verdict !== 'new') {
      if (judgeRepeat(soFar()) === 'ask') await askForTail(soFar(), memory, source)
      return
    }
    const most = total === null ? maxPagesOfAnyList : Math.max(total, fewestOfMostPages) + 1
    if (index >= most)
      throw endless(call, `the API returned page ${index + 1} of a list that can have at most ${most - 1}`)

    records += length
    pages += 1
    longest = Math.max(longest, length)
    largest = Math.max(largest, answer.bytes)
    last = envelope
    // A first page that is empty leads on only where an answer says where.
    const leadsOn = length > 0 || style.count === null
    const next = unchanged !== null ? unchanged.next : leadsOn ? goesOn() : null
    const isSilent = next === null && unchanged === null && judgeLast(soFar()) === 'ask'
    const doubt = isSilent ? await askForFewer(soFar(), source) : null
    const mayBeKept = doubt === null && (style.count !== null || goesOnByBody(envelope, style))
    if (next !== null && ahead !== null) {
      const all = total === null || resumed ? ahead.records : total
      const left = all === null ? null : all - records
      ahead.pages.begin(cursorsAhead(call, next, { pages, left, length, longest, bytes: largest }))
    }
    yield {
      index,
      cursor,
      // A reader that resumes a list whose end is not proven begins with its last page, and meets the same doubt.
      next: doubt === null ? next : cursor,
      items,
      ...(unchanged !== null && { unchanged }),
      ...(mayBeKept && answer.headers.etag !== undefined && { name, tag: answer.headers.etag }),
      total: envelope.total,
      startedAt: answer.startedAt,
      bytes: answer.bytes,
      retries: answer.retries,
      sanitized: answer.sanitized,
      envelope: envelope.envelope,
      ...(index === 0 &&
        unchanged === null && {
          shape: shapeOf(bodyOf(answer), envelope, { ...style.names, prefix: source.linkBase.prefix }),
        }),
    }
    if (doubt !== null) throw doubt
    index += 1
    if (next === null || index === call.maxPages) return
    before = cursor
    isDoubtful = style.count === null && mayMeanNone(next)
    cursor = next
  }
}

/** Whether a next page is the one just read: some APIs name their last page like that. */
function isSame(call: ListCall, cursor: string, next: string, { linkBase }: PageSource): boolean {
  const [read, named] = [cursor, next].map((place) => {
    const address = styles[call.paging.style].request(call, place, linkBase.prefix)
    const query =
      address.kind === 'query' ? `${linkBase.path}?${new URLSearchParams({ ...call.query, ...address.query })}` : ''
    const url = new URL(address.kind === 'link' ? address.link : query, linkBase.origin)
    url.searchParams.sort()
    return url.href
  })
  return read === named
}

/** Where a header may say that a list continues, an unchanged page says nothing about it. */
const goesOnByBody = ({ next, nextByHeader }: Envelope, { needsNext }: Style): boolean =>
  !nextByHeader && (!needsNext || typeof next === 'string')

/** Stands for what a page says that is as it was kept. */
const leftOut: Envelope = {
  ...{ items: [], total: null, totalAt: null, pages: null, more: undefined, envelope: 'array' },
  ...{ next: undefined, nextAt: null, nextShownAt: null, nextByHeader: false, endCursor: undefined },
}
