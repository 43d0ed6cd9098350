// Finds the settings of an API from its address and a secret: how the secret is shown, where records stand, how lists are
// paged. Reads only, with restraint: see docs/operations.md.

import { isLoopback } from '../../api/wire/proxy.ts'
import { sleep } from '../../clock.ts'
import type { AuthSetting, PagingSettings } from '../../config.ts'
import { ApiError, BoatMirrorError } from '../../errors.ts'
import { mayConcernParameters } from '../profile.ts'
import { authText, nextAuth, wishesIn } from './auth.ts'
import { type FoundSetting, findPaging, type SetAlready } from './find-paging.ts'
import { type Inquiry, type InquiryOptions, type ListToRead, openInquiry } from './inquiry.ts'
import { itemsPathIn, type Sample, sampleOf, trialSize } from './signs.ts'

export type Discovery = {
  /** Null: none was accepted. */
  readonly auth: AuthSetting | null
  /** Null: not found, or too few records to decide. */
  readonly paging: Partial<PagingSettings> | null
  readonly settings: readonly FoundSetting[]
  /** Why no more was found; null: all was. */
  readonly problem: BoatMirrorError | null
  /** What could not be determined and does no harm, in words. */
  readonly note: string | null
}

export type DiscoveryOptions = InquiryOptions & {
  /** Paged lists, the one with most records first. */
  readonly lists: readonly ListToRead[]
  readonly set: SetAlready
  /** The secret may be tried in the address. */
  readonly tryQuery: boolean
  /** Waits between two refused requests. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>
}

const mostRefusals = 4
const betweenRefusalsMs = 1_000

/** Looks for the settings; whatever stops it becomes `problem`. @throws the signal's reason when it is aborted */
export async function discover(options: DiscoveryOptions): Promise<Discovery> {
  let found: Discovery = { auth: null, paging: null, settings: [], problem: null, note: null }
  try {
    assertPrivate(options)
    await using entry = await enter(options)
    const { auth, evidence } = entry
    found = { ...found, auth, settings: [{ name: 'API_AUTH', value: authText(auth), evidence }] }
    const { itemsPath, ...seen } = await enoughRecords(entry, options)
    const at = itemsPath === null ? {} : { itemsPath }
    if (itemsPath !== null)
      found = adding(found, [
        { name: 'API_ITEMS_PATH', value: itemsPath, evidence: 'the longest list of objects is there' },
      ])
    if (trialSize(seen.whole.keys.length) === null)
      return { ...found, note: 'no list has three records, so their paging cannot be detected' }
    const list = entry.inquiry.list(seen.list, { ...options.set.paging, ...at })
    const way = await findPaging(list, seen.whole, options.set)
    return way === null ? onePage(seen, found) : { ...adding(found, way.settings), paging: { ...at, ...way.paging } }
  } catch (error) {
    options.signal.throwIfAborted()
    if (error instanceof BoatMirrorError) return { ...found, problem: error }
    throw error
  }
}

const adding = (found: Discovery, settings: readonly FoundSetting[]): Discovery => ({
  ...found,
  settings: [...found.settings, ...settings],
})

/** Over http the secret is readable on the way: it is tried on this machine only. */
function assertPrivate({ api }: DiscoveryOptions): void {
  const { protocol, origin } = new URL(api.baseUrl)
  if (api.token === null || protocol === 'https:' || isLoopback(origin)) return
  throw new BoatMirrorError(
    'CONFIG_INVALID',
    'API_BASE_URL is an http address. The secret could be read in transit, so nothing is tried.',
    { remedy: 'Set API_BASE_URL to an https address, or set API_AUTH and API_PAGING yourself.' },
  )
}

/** The accepted credentials, the list they opened, and its first answer. */
type Entry = AsyncDisposable & {
  readonly inquiry: Inquiry
  readonly auth: AuthSetting
  readonly list: ListToRead
  readonly answer: Awaited<ReturnType<Inquiry['first']>>
  readonly evidence: string
}

/** Tries one kind of authentication after the other. @throws ApiError of the last refusal, or what else stops it */
async function enter(options: DiscoveryOptions): Promise<Entry> {
  const { api, signal, tryQuery, pause = sleep } = options
  const tried: AuthSetting[] = []
  const wishes: AuthSetting[] = []
  let refusal: ApiError | undefined
  for (;;) {
    const auth = nextAuth({ set: api.auth, tried, wishes, token: api.token, tryQuery })
    if (auth === null || tried.length === mostRefusals) throw notLetIn(refusal, tried, wishes)
    if (refusal !== undefined) await pause(betweenRefusalsMs, signal)
    tried.push(auth)
    const inquiry = openInquiry(options, auth)
    try {
      const opened = await firstList(inquiry, options.lists)
      const before = tried.slice(0, -1).map(authText)
      const evidence = before.length === 0 ? 'was accepted' : `was accepted after the API refused ${before.join(', ')}`
      return { inquiry, auth, ...opened, evidence, [Symbol.asyncDispose]: () => inquiry.close() }
    } catch (error) {
      await inquiry.close()
      if (!(error instanceof ApiError) || error.status !== 401) throw error
      refusal = error
      wishes.push(...wishesIn(error.asksFor, error.body))
    }
  }
}

/** The list's answer, where it is refused with its usual query without that: an API may refuse what it does not know. */
async function firstAnswer(inquiry: Inquiry, list: ListToRead): Promise<Pick<Entry, 'list' | 'answer'>> {
  try {
    return { list, answer: await inquiry.first(list) }
  } catch (error) {
    if (!mayConcernParameters(error) || Object.keys(list.query).length === 0) throw error
    const plain = { ...list, query: {} }
    return { list: plain, answer: await inquiry.first(plain) }
  }
}

/** The first list that is there. @throws ApiError of the last one when none is */
async function firstList(inquiry: Inquiry, lists: readonly ListToRead[]): Promise<Pick<Entry, 'list' | 'answer'>> {
  let missing: unknown
  for (const list of lists)
    try {
      return await firstAnswer(inquiry, list)
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'API_NOT_FOUND') throw error
      missing = error
    }
  throw missing
}

function notLetIn(
  refusal: ApiError | undefined,
  tried: readonly AuthSetting[],
  wishes: readonly AuthSetting[],
): ApiError {
  const isTried = (kind: AuthSetting['kind']): boolean => tried.some((auth) => auth.kind === kind)
  const remedy = isTried('none')
    ? 'Set API_TOKEN.'
    : wishes.some(({ kind }) => kind === 'basic') && !isTried('basic')
      ? 'The API asks for Basic authentication. API_TOKEN must be user:password.'
      : 'Check API_TOKEN. If it is right, ask the API’s operator how to send it and set API_AUTH; --try-query also tries it in the address.'
  return new ApiError(
    'API_UNAUTHORIZED',
    `${refusal?.message ?? 'The API answered 401.'} Tried: ${tried.map(authText).join(', ')}.`,
    {
      endpoint: refusal?.endpoint ?? '',
      status: 401,
      remedy,
      cause: refusal,
    },
  )
}

type Seen = { readonly list: ListToRead; readonly whole: Sample; readonly itemsPath: string | null }

/** The first list with enough records to distinguish pages, or the one with most. */
async function enoughRecords({ inquiry, list, answer }: Entry, { lists, set }: DiscoveryOptions): Promise<Seen> {
  let most = seen(list, answer, set)
  for (const other of lists.slice(lists.findIndex(({ name }) => name === list.name) + 1)) {
    if (most.whole.keys.length > 3) break
    const opened = await firstAnswer(inquiry, other)
    const further = seen(opened.list, opened.answer, set)
    if (further.whole.keys.length > most.whole.keys.length) most = further
  }
  return most
}

/** Reads an answer where its records are usually found, or else where the only ones are. */
function seen(list: ListToRead, answer: Entry['answer'], { paging }: SetAlready): Seen {
  try {
    return { list, whole: sampleOf(answer, paging), itemsPath: null }
  } catch (error) {
    const itemsPath = itemsPathIn(answer.body)
    if (itemsPath === null || !(error instanceof BoatMirrorError)) throw error
    return { list, whole: sampleOf(answer, { ...paging, itemsPath }), itemsPath }
  }
}

/** Nothing led to a second page: that is right where there is none. */
function onePage({ list, whole }: Pick<Seen, 'list' | 'whole'>, found: Discovery): Discovery {
  const records = whole.keys.length
  if (whole.total === records) {
    const evidence = `${list.name} come in one answer: ${records} records, which the answer says are all`
    return { ...adding(found, [{ name: 'API_PAGING', value: 'link', evidence }]), paging: { style: 'link' } }
  }
  return {
    ...found,
    problem: new BoatMirrorError(
      'PAGING_IGNORED',
      `${list.endpoint} returned ${records} records, and nothing that was tried led to more.`,
      {
        remedy:
          'Ask the API’s operator how lists are paged and set API_PAGING, API_PAGE_PARAM and API_SIZE_PARAM; for a list without pages set lists.STREAM.paging: none in the configuration file.',
      },
    ),
  }
}
