// The shapes that callers of the API client see. No behaviour.

import type { PagingSettings } from '../config.ts'
import type { ApiError } from '../errors.ts'
import type { Priority } from './admission/priority-queue.ts'
import type { ListShape } from './paging/envelope.ts'
import type { Elements } from './wire/elements.ts'
import type { Json } from './wire/json.ts'

export type ReadCall = {
  /** Method and path template, e.g. `GET /v3/rentals/{rentalId}`. */
  readonly endpoint: string
  /** Values of the path template, unencoded. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  /** The body as `parseExact` reads it; bytes outside of the answer's character set become `lostCharacter`. */
  readonly exact?: boolean
  /**
   * The answer is a page of a list, or one record: its records are separated and left undecoded, as
   * `Answer.elements`.
   */
  readonly undecoded?: 'page' | 'record'
  /** Default `read`: `write` where a change waits for the answer, `detail` below a list. */
  readonly priority?: Priority
  /** An entity tag: an answer that still has it comes as 304, without a body. */
  readonly tag?: string | undefined
  /** The tag that is kept of the answer, by its name (see `Answer.name`); only for `read`. */
  readonly tagOf?: (name: string) => string | undefined
  /** No store on the way may answer it: what the API shows now is wanted, or an error. */
  readonly fresh?: boolean
  /** Asked to find out what the API takes, such as a page that may lie outside its list: a refusal is then an answer, not a failure. */
  readonly mayBeRefused?: boolean
  /** Asked to find out whether the API answers this account at all: a 403 then holds everything. */
  readonly provesAccess?: boolean
}

export type WriteCall = ReadCall & {
  readonly body?: Json
  /** Milliseconds for the whole request instead of API_TIMEOUT_MS. */
  readonly timeoutMs?: number
  /** Called in the moment in which the request is handed to its connection; when it throws, nothing leaves. */
  readonly beforeLeaving?: () => void
  /** Requests with the same key are one request, where the API keeps keys: see `Api.keepsKeys`. */
  readonly idempotencyKey?: string | undefined
}

export type Answer = {
  readonly status: number
  /** undefined: the answer had no body, or is one of `elements`. */
  readonly body: Json | undefined
  /** Whether it said nothing, where personal values were taken out of it: what is left says nothing about that. */
  readonly saidNothing?: boolean
  /**
   * The records of a page, or the record if it is an object. The `body` of a page has a placeholder for each, which
   * `elementsAt` resolves.
   */
  readonly elements?: Elements
  /** When the attempt that succeeded started, by the client's clock. */
  readonly startedAt: Date
  /** Decoded size of the body. */
  readonly bytes: number
  readonly retries: number
  /** Above 0 when characters were replaced by U+FFFD because they cannot be stored, or bytes because they are not of the answer's character set. */
  readonly sanitized: number
  /** Names in lower case; a repeated header's values are joined by `, `. */
  readonly headers: Readonly<Record<string, string>>
  /**
   * Identifies the answer among those at all other addresses of this API and of others; only where `tagOf` was given.
   */
  readonly name?: string
}

/** A page that came with an entity tag, as the caller stored it. */
export type KeptPage = {
  readonly tag: string
  /** Keys of its records. */
  readonly keys: readonly string[]
  /** Where the list continued; null: nowhere. */
  readonly next: string | null
}

export type ListCall = ReadCall & {
  /** Resolved for this list. */
  readonly paging: PagingSettings
  /** Number of the first page, or offset of the first record. */
  readonly pageBase: number
  /** `cursor` or `next` of an earlier page: continue from there. */
  readonly from?: string
  readonly maxPages?: number
  /** The stored page of this name (see `Page.name`); its content must be valid for as long as the page has this tag. */
  readonly kept?: (name: string) => Promise<KeptPage | null>
  /**
   * Pages may be requested before those ahead of them have answered, for a caller that reads the list to its end.
   * `records`: about how many are still to come; null: unknown.
   */
  readonly ahead?: { readonly records: number | null }
}

export type Page = {
  /** Counts the pages of this call, from 0. */
  readonly index: number
  /** Where this page stands; give it as `from` to read it again. Never holds the secret. */
  readonly cursor: string
  /** Where to continue; null: this was the last page. */
  readonly next: string | null
  readonly items: Elements
  /** It is still what was kept of it: `items` are empty. */
  readonly unchanged?: KeptPage
  /** Identifies the page among all others of this API and of others; only for pages that may be stored. */
  readonly name?: string
  /** Its entity tag, where it has a name. */
  readonly tag?: string
  /** The number of records in the whole list, as the API claims it. */
  readonly total: number | null
  readonly startedAt: Date
  readonly bytes: number
  readonly retries: number
  readonly sanitized: number
  /** `array`, or the path under which the records stood. */
  readonly envelope: string
  /** Where the answer has what the list is made of; only of the first page of a call, unless it is unchanged. */
  readonly shape?: ListShape
}

/** One attempt, as metrics and `sync.endpoints` want it. */
export type CallRecord = {
  readonly endpoint: string
  readonly priority: Priority
  /** null: no answer came. */
  readonly status: number | null
  readonly startedAt: Date
  readonly ms: number
  readonly bytes: number
  /** 1 for the first attempt. */
  readonly attempt: number
  readonly error: ApiError | null
}

export type Api = {
  /** Reads once, with retries. @throws ApiError for everything but 2xx. */
  read(call: ReadCall): Promise<Answer>
  /** Reads a list page by page until it ends. An empty list yields one empty page. @throws ApiError */
  list(call: ListCall): AsyncGenerator<Page, void, undefined>
  /** Sends a change exactly once. @throws ApiError, whose `mayHaveTakenEffect` says whether repeating is safe. */
  send(call: WriteCall): Promise<Answer>
  /**
   * Whether the last answer said that a write may be sent again with its Idempotency-Key, as `boat-mirror serve` does.
   * Undefined: there was no answer yet.
   */
  keepsKeys(): boolean | undefined
  close(): Promise<void>
}
