// Reads a list page by page until it ends, and refuses lists that cannot be trusted to end.
// Knows addresses of pages and their order; how a page is fetched is given.

import { setImmediate } from 'node:timers/promises'
import { ApiError, BoatMirrorError } from '../../errors.ts'
import type { Answer, KeptPage, ListCall, Page, ReadCall } from '../types.ts'
import { elementsAt } from '../wire/elements.ts'
import { type Envelope, readEnvelope } from './envelope.ts'
import type { LinkBase } from './next-link.ts'
import { createPageMemory } from './page-memory.ts'
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
  const resumed = call.from !== undefined
  let cursor = call.from ?? style.first(call)
  let before = style.before(call, cursor)
  let received = 0
  let firstLength = 0
  let [longest, largest] = [0, 0]
  for (let index = 0; ; index++) {
    const mayBeRefused = before !== null || call.mayBeRefused === true
    let asked: AskedPage
    try {
      asked = await (ahead?.pages.take(cursor) ?? askForPage(call, cursor, source, { mayBeRefused }))
    } catch (error) {
      if (!(error instanceof ApiError) || before === null || !pastEndStatuses.has(error.status)) throw error
      return assertPastEnd(call, error, { before, received: resumed ? null : received }, source)
    }
    const { name, kept, answer } = asked
    const unchanged = answer.status === 304 ? kept : null
    // What headers say of a total is not covered by the tag.
    const envelope =
      unchanged === null
        ? named(call, () => readEnvelope(bodyOf(answer), answer.headers, call.paging, answer.status))
        : leftOut
    const { total } = envelope
    const items = elementsAt(envelope.items, answer.elements)
    const length = unchanged?.keys.length ?? items.length
    if (index > 0 && length === 0) return
    if (index === 0) firstLength = length

    // Parsed a moment ago, compared in a moment: of a large page each takes long enough for others to have their turn between.
    if (items.length > largePage) await setImmediate()
    const verdict = unchanged === null ? memory.look(items) : memory.lookAtKeys(unchanged.keys)
    if (verdict === 'same-as-last' && index === 1 && !resumed && length >= call.paging.pageSize && total !== received)
      throw ignored(call)
    if (verdict === 'same-as-last' || verdict === 'nothing-new') return
    if (verdict === 'seen-before') throw endless(call, `page ${index + 1} is an earlier page again`)
    const most = total === null ? maxPagesOfAnyList : Math.max(total, firstLength) + 1
    if (index >= most) throw endless(call, `page ${index + 1} came, of a list that can have ${most - 1}`)

    received += length
    // A resumed call has not seen what came before, so the total proves nothing to it.
    const more = !resumed && (total ?? 0) > received
    const goesOn = (): string | null => style.next(call, cursor, envelope, { base: source.linkBase, more })
    const next = unchanged !== null ? unchanged.next : length === 0 ? null : named(call, goesOn)
    const mayBeKept = style.usualBase !== null || goesOnByBody(envelope, style)
    if (next === null && index === 0 && !resumed) await assertEnded(call, envelope, more, source)
    longest = Math.max(longest, length)
    largest = Math.max(largest, answer.bytes)
    if (next !== null && ahead !== null) {
      const all = total === null || resumed ? ahead.records : total
      const left = all === null ? null : all - received
      ahead.pages.begin(cursorsAhead(call, next, { pages: index + 1, left, length, longest, bytes: largest }))
    }
    yield {
      index,
      cursor,
      next,
      items,
      ...(unchanged !== null && { unchanged }),
      ...(mayBeKept && answer.headers.etag !== undefined && { name, tag: answer.headers.etag }),
      total,
      startedAt: answer.startedAt,
      bytes: answer.bytes,
      retries: answer.retries,
      sanitized: answer.sanitized,
      envelope: envelope.envelope,
    }
    if (next === null || index + 1 === call.maxPages) return
    before = cursor
    cursor = next
  }
}

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
 * Refuses a first page that seems to be the only one but is not: its total says more, or it is exactly full, says
 * nothing about a next page, and the same list asked for in smaller pages is cut off just as silently.
 */
async function assertEnded(call: ListCall, envelope: Envelope, more: boolean, source: PageSource): Promise<void> {
  const { style, pageSize, sizeParam } = call.paging
  const count = envelope.items.length
  if (more) throw misread(call, `The answer holds ${count} of ${envelope.total} records and no next page`)
  if (!styles[style].needsNext || envelope.next === null || count !== pageSize || pageSize === 1) return
  const query = { [sizeParam]: String(pageSize - 1) }
  const smaller = await source.fetch({ kind: 'query', query }, {})
  const probe = named(call, () => readEnvelope(bodyOf(smaller), smaller.headers, call.paging))
  if (probe.items.length < count && typeof probe.next !== 'string')
    throw misread(call, `The first page is full, there are more records, and no next ${style} was found`)
}

/**
 * Accepts a refusal as the end of the list: the page before is still there, and says of no further record. Otherwise the
 * list may have vanished, or the API refuses to go on in the midst of it.
 * @param read the cursor of the page before; how many records were read, null when that is not known
 * @throws ApiError the refusal, or what the page before is answered with
 */
async function assertPastEnd(
  call: ListCall,
  refusal: ApiError,
  { before, received }: { readonly before: string; readonly received: number | null },
  source: PageSource,
): Promise<void> {
  let again: Answer
  try {
    again = await source.fetch(styles[call.paging.style].request(call, before, source.linkBase.prefix), {})
  } catch (error) {
    throw error instanceof ApiError && pastEndStatuses.has(error.status) ? refusal : error
  }
  const { items, total, next } = named(call, () => readEnvelope(bodyOf(again), again.headers, call.paging))
  const isWhole = total === null ? typeof next !== 'string' : received === null || total <= received
  if (items.length > 0 && isWhole) return
  const { endpoint, status, body, reason } = refusal
  const missing = total === null ? 'the page before names a next one' : `the list has ${total}`
  throw new ApiError(refusal.code, `${refusal.message} ${received ?? 'Some'} records were read, and ${missing}.`, {
    endpoint,
    cause: refusal,
    mayHaveTakenEffect: false,
    ...(status === undefined ? {} : { status }),
    ...(body === undefined ? {} : { body }),
    ...(reason === undefined ? {} : { reason }),
  })
}

function misread(call: ListCall, problem: string): ApiError {
  return new ApiError('PAGING_ENVELOPE', `${call.endpoint}: ${problem}.`, {
    endpoint: call.endpoint,
    remedy: styles[call.paging.style].advice,
  })
}

const ignored = (call: ListCall): ApiError =>
  new ApiError('PAGING_IGNORED', `${call.endpoint} answered the second page with the first.`, {
    endpoint: call.endpoint,
    remedy: `Check API_PAGE_PARAM (now ${call.paging.pageParam}) and API_PAGING; a list without pages needs lists.<stream>.paging: none in the configuration file.`,
  })

const endless = (call: ListCall, what: string): ApiError =>
  new ApiError('PAGING_ENDLESS', `${call.endpoint} does not end: ${what}.`, {
    endpoint: call.endpoint,
    remedy: 'Check API_PAGING and API_PAGE_PARAM.',
  })

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
