// What pages are fetched from, and what each answer contains: for code that reads a list or checks whether it has
// ended.

import { ApiError, BoatMirrorError } from '../../errors.ts'
import type { Answer, ListCall, ReadCall } from '../types.ts'
import { type Envelope, readEnvelope } from './envelope.ts'
import type { LinkBase } from './next-link.ts'
import type { PageAddress } from './style.ts'

export type PageSource = {
  /**
   * One read with retries: at the list's own address with these extra query parameters, or at a link of the API.
   * `mayBeRefused`: the list may have ended before this page, so a refusal is not a failure of the API.
   */
  readonly fetch: (address: PageAddress, how: Pick<ReadCall, 'mayBeRefused' | 'tag' | 'signal'>) => Promise<Answer>
  /** Identifies a page among those at all other addresses. */
  readonly nameOf: (address: PageAddress) => string
  /** The base that links of this API must lie below. */
  readonly linkBase: LinkBase
}

/** How servers refuse a page past the last one; 416 is what PostgREST says. */
export const pastEndStatuses: ReadonlySet<number | undefined> = new Set([400, 404, 410, 416, 422])

/** Reads the envelope of a page. @throws ApiError PAGING_ENVELOPE */
export const envelopeOf = (call: ListCall, answer: Answer): Envelope =>
  named(call, () => readEnvelope(bodyOf(answer), answer.headers, call.paging, answer.status))

/** 204 is an empty list; a 200 without a body is none. */
export const bodyOf = (answer: Answer): Answer['body'] => (answer.status === 204 ? [] : answer.body)

/** Runs a pure step, and gives its errors the name of the endpoint. */
export function named<T>(call: ListCall, step: () => T): T {
  try {
    return step()
  } catch (error) {
    if (!(error instanceof BoatMirrorError)) throw error
    const { code, message, remedy } = error
    const { endpoint } = call
    throw new ApiError(code, `${endpoint}: ${message}`, { endpoint, cause: error, remedy })
  }
}
