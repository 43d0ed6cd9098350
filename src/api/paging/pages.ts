// Reads a list page by page until it ends, and refuses lists that cannot be trusted to end.
// Knows addresses of pages and their order; how a page is fetched is given.

import { setImmediate } from 'node:timers/promises'
import { ApiError, BoatMirrorError } from '../../errors.ts'
import type { Answer, KeptPage, ListCall, Page, ReadCall } from '../types.ts'
import { elementsAt } from '../wire/elements.ts'
import { type Envelope, readEnvelope } from './envelope.ts'
import {
  cameAgain,
  endless,
  judgeEmpty,
  judgeLast,
  judgeRepeat,
  judgeTail,
  mayMeanNone,
  misread,
  type SoFar,
  saysMore,
  unproven,
  wrongTotal,
} from './list-end.ts'
import type { LinkBase } from './next-link.ts'
import { createPageMemory, keysOfPage, type PageMemory } from './page-memory.ts'
import { cursorsAhead, PagesAhead } from './pages-ahead.ts'
import type { PageAddress, Style } from './style.ts'
import { styles } from './styles.ts'

type PageSource = {
  /**
   * One read with retries: at the list's own address with these extra query parameters, or at a link of the API's own.
   * `mayBeRefused`: the list may have ended before this page, so that a refusal is no failure of the API.
   */
  readonly fetch: (address: PageAddress, how: Pick<ReadCall, 'mayBeRefused' | 'tag' | 'signal'>) => Promise<Answer>
  /** Tells a page from those at all other addresses. */
  readonly nameOf: (address: PageAddress) => string
  /** What the links of this API are measured against. */
  readonly linkBase: LinkBase
}

/** More pages than any list of this API has; used where no total says less. */
const maxPagesOfAnyList = 100_000

/** A total that is too small ends no list: only many more pages than it has records do. */
const fewestOfMostPages = 10_000

const largePage = 10_000

/** How servers refuse a page past the last one; 416 is what PostgREST says. */
export const pastEndStatuses: ReadonlySet<number | undefined> = new Set([400, 404, 410, 416, 422])

/**
 * The pages of a list in order. A list that is empty yields one empty page; otherwise empty pages, repeats of the last
 * page, and refusals of a page whose predecessor is still there end the list without being yielded.
 * @throws ApiError PAGING_IGNORED, PAGING_ENDLESS, PAGING_ENVELOPE, PAGING_FOREIGN_LINK, and whatever reading throws
 */
export async function* readPages(call: ListCall, source: PageSource): AsyncGenerator<Page, void, undefined> {
  if (call.ahead === undefined) return yield* pagesInOrder(call, source, null)
  const pages = new PagesAhead(
    // Nothing is asked for ahead of the first page.
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
  const answer = await fetch(address, { mayBeRefused, tag: kept?.tag, ...(signal !== undefined && { signal }) })
  return { name, kept, answer }
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
    const soFar = (): SoFar => ({ call, records, pages, longest, resumed, total, last, asked: cursor })
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
    // What headers say of a total is not covered by the tag.
    const envelope = unchanged === null ? envelopeOf(call, answer) : leftOut
    total = envelope.total ?? total
    const items = elementsAt(envelope.items, answer.elements)
    const length = unchanged?.keys.length ?? items.length
    const goesOn = (): string | null => {
      const more = !resumed && ((total ?? 0) > records || (envelope.pages ?? 0) > pages)
      const hints = { base: source.linkBase, more: more || envelope.more === true }
      return named(call, () => style.next(call, cursor, envelope, hints))
    }
    if (index > 0 && length === 0) {
      emptyInARow += 1
      if (judgeEmpty(soFar(), envelope, emptyInARow) === 'end') return
      const following: string | null = style.after?.(call, cursor, longest) ?? goesOn()
      if (following === null)
        throw misread(call, 'An empty page says that more records follow, and no next page was found')
      cursor = following
      continue
    }
    emptyInARow = 0

    // Parsed a moment ago, compared in a moment: of a large page each takes long enough for others to have their turn between.
    if (items.length > largePage) await setImmediate()
    const verdict = unchanged === null ? memory.look(items) : memory.lookAtKeys(unchanged.keys)
    if (verdict !== 'new') {
      if (judgeRepeat(soFar()) === 'ask') await askForTail(soFar(), memory, source)
      return
    }
    const most = total === null ? maxPagesOfAnyList : Math.max(total, fewestOfMostPages) + 1
    if (index >= most) throw endless(call, `page ${index + 1} came, of a list that can have ${most - 1}`)

    records += length
    pages += 1
    longest = Math.max(longest, length)
    largest = Math.max(largest, answer.bytes)
    last = envelope
    // A first page that is empty leads on only where an answer says where.
    const leadsOn = length > 0 || style.after === undefined
    const next = unchanged !== null ? unchanged.next : leadsOn ? goesOn() : null
    const isSilent = next === null && unchanged === null && judgeLast(soFar()) === 'ask'
    const doubt = isSilent ? await askForFewer(soFar(), source) : null
    const mayBeKept = doubt === null && (style.usualBase !== null || goesOnByBody(envelope, style))
    if (next !== null && ahead !== null) {
      const all = total === null || resumed ? ahead.records : total
      const left = all === null ? null : all - records
      ahead.pages.begin(cursorsAhead(call, next, { pages, left, length, longest, bytes: largest }))
    }
    yield {
      index,
      cursor,
      // Whoever takes up a list whose end is not proven begins with its page, and meets the same doubt.
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
    }
    if (doubt !== null) throw doubt
    index += 1
    if (next === null || index === call.maxPages) return
    before = cursor
    isDoubtful = style.after === undefined && mayMeanNone(next)
    cursor = next
  }
}

const envelopeOf = (call: ListCall, answer: Answer): Envelope =>
  named(call, () => readEnvelope(bodyOf(answer), answer.headers, call.paging, answer.status))

/** Where a header says how a list goes on, or may say so after its last page, a page that is the same says nothing of it. */
const goesOnByBody = ({ next, nextByHeader }: Envelope, { needsNext }: Style): boolean =>
  !nextByHeader && (!needsNext || typeof next === 'string')

/** Stands for what a page says that is as it was kept. */
const leftOut: Envelope = {
  ...{ items: [], total: null, pages: null, next: undefined, nextAt: null, endCursor: undefined, more: undefined },
  ...{ nextByHeader: false, envelope: 'array' },
}

/** 204 is an empty list; a 200 without a body is none. */
const bodyOf = (answer: Answer): Answer['body'] => (answer.status === 204 ? [] : answer.body)

/**
 * Asks for a first page that names no next one with one record fewer: a list that is cut off then must say where it goes on.
 * @returns why the page may not be all, where it is not cut off; null: it is all
 * @throws ApiError PAGING_ENVELOPE where it is cut off and does not say it
 */
async function askForFewer(soFar: SoFar, source: PageSource): Promise<ApiError | null> {
  const { call, records } = soFar
  const { style, sizeParam } = call.paging
  const smaller = await source.fetch({ kind: 'query', query: { [sizeParam]: String(records - 1) } }, {})
  const { items, next, endCursor } = envelopeOf(call, smaller)
  if (typeof next === 'string' || typeof endCursor === 'string') return null
  if (items.length < records)
    throw misread(
      call,
      `There are more than ${records} records, or fewer come when fewer are asked for, and no next ${style} was found`,
    )
  return unproven(call, `the same ${records} records come whatever size is asked for, and no answer names a next page`)
}

/** Asks for the end of a list in smaller pages, where a page came again and nothing says that it is the end. @throws ApiError */
async function askForTail(soFar: SoFar, memory: PageMemory, source: PageSource): Promise<void> {
  const { call, records } = soFar
  const style = styles[call.paging.style]
  const tail = style.tail?.(call, soFar) ?? null
  if (tail === null)
    throw records > 1 ? cameAgain(soFar) : unproven(call, 'the second page is the first one again, with 1 record')
  const smaller: ListCall = { ...call, paging: { ...call.paging, pageSize: tail.size } }
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
 * Accepts a refusal as the end of the list: the page before is still there, and says of no further record. Otherwise the
 * list may have vanished, or the API refuses to go on in the midst of it.
 * @param before the cursor of the page before
 * @throws ApiError the refusal, or what the page before is answered with
 */
async function assertPastEnd(soFar: SoFar, refusal: ApiError, before: string, source: PageSource): Promise<void> {
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
    typeof last.next === 'string' && total === null
      ? 'the page before names a next one'
      : saysMore({ ...soFar, last, total })
  if (items.length > 0 && why === null) return
  const { endpoint, status, body, reason } = refusal
  const missing = total === null ? (why ?? 'the page before is empty') : `the list has ${total}`
  throw new ApiError(
    refusal.code,
    `${refusal.message} ${resumed ? 'Some' : records} records were read, and ${missing}.`,
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

/** Runs a pure step, and gives its errors the name of the endpoint. */
function named<T>(call: ListCall, step: () => T): T {
  try {
    return step()
  } catch (error) {
    if (!(error instanceof BoatMirrorError)) throw error
    throw new ApiError(error.code, `${call.endpoint}: ${error.message}`, {
      endpoint: call.endpoint,
      cause: error,
      ...(error.remedy === undefined ? {} : { remedy: error.remedy }),
    })
  }
}
