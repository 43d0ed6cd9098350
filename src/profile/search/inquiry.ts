// The requests of a search: one connection, no retries, at most so many reads, and nothing but the API's own origin.

import { type Limiter, unlimited } from '../../api/admission/rate-limit.ts'
import { looksLikeLink, resolveNextLink } from '../../api/paging/next-link.ts'
import { proxyFor } from '../../api/wire/proxy.ts'
import { buildRequest, buildTarget, linkedRequest, packageVersion } from '../../api/wire/request.ts'
import { createTransport } from '../../api/wire/transport.ts'
import { systemClock } from '../../clock.ts'
import type { ApiSettings, AuthSetting, PagingSettings } from '../../config.ts'
import { ApiError, BoatMirrorError } from '../../errors.ts'
import type { AskedList } from './find-paging.ts'
import { type Sample, sampleOf } from './signs.ts'

/** A list of the API as a sync reads it. */
export type ListToRead = {
  readonly name: string
  /** `GET /v3/rentals`. */
  readonly endpoint: string
  readonly query: Readonly<Record<string, string>>
}

/** Reads that one `check` makes at most. */
const mostReads = 40

/** @returns a limiter that throws BoatMirrorError ABORTED once `mostReads` have passed, each as `limiter` lets it */
export function createAllowance(limiter: Limiter = unlimited): Limiter {
  let left = mostReads
  return {
    acquire: async (priority, signal) => {
      signal?.throwIfAborted()
      if (left === 0)
        throw new BoatMirrorError('ABORTED', `${mostReads} requests were made. One check makes no more than that.`)
      left -= 1
      return await limiter.acquire(priority, signal)
    },
  }
}

export type InquiryOptions = {
  readonly api: ApiSettings & { readonly baseUrl: string }
  readonly allowance: Limiter
  readonly signal: AbortSignal
}

/** Reads lists with the secret sent in one way. */
export type Inquiry = ReturnType<typeof openInquiry>

export function openInquiry({ api, allowance, signal }: InquiryOptions, auth: AuthSetting) {
  const target = buildTarget({ ...api, auth }, packageVersion())
  const transport = createTransport(target, 1, proxyFor(target.origin, api.proxies))
  const send = async (endpoint: string, path: string): ReturnType<typeof transport.send> => {
    await allowance.acquire('read', signal)
    const { timeoutMs } = api
    return await transport.send({ method: 'GET', path, endpoint, signal, timeoutMs }, systemClock.now)
  }
  return {
    /** The list, without any parameter of paging. @throws ApiError */
    first: (list: ListToRead) => send(list.endpoint, buildRequest(target, list).path),

    /** The list as findPaging asks it. @param paths where records and total stand, as far as that is known */
    list(list: ListToRead, paths: PagingSettings): AskedList {
      const path = new URL(buildRequest(target, list).path, target.origin).pathname
      const base = { ...target, path, secretParam: target.secretQuery?.name ?? null }
      const tried = async (pathOf: () => string, own?: Partial<PagingSettings>): Promise<Sample | null> => {
        try {
          return sampleOf(await send(list.endpoint, pathOf()), { ...paths, ...own })
        } catch (error) {
          if (isAnswerToParameters(error)) return null
          throw error
        }
      }
      return {
        ask: (query, own) =>
          tried(() => buildRequest(target, { ...list, query: { ...list.query, ...query } }).path, own),
        follow: (link) => tried(() => linkedRequest(target, resolveNextLink(link, base)).path),
        isLink: (next) => looksLikeLink(next, target.prefix),
      }
    },

    close: () => transport.close(),
  }
}

const answersToParameters: ReadonlySet<string> = new Set([
  ...['PAGING_ENVELOPE', 'PAGING_FOREIGN_LINK', 'API_ERROR_BODY', 'API_NOT_FOUND', 'API_SERVER_ERROR'],
])

/**
 * Whether a refusal says something of the parameters that were sent, and nothing of who sent them; or our own, to follow a link
 * that leads elsewhere.
 */
function isAnswerToParameters(error: unknown): boolean {
  if (!(error instanceof BoatMirrorError)) return false
  if (answersToParameters.has(error.code)) return true
  return error instanceof ApiError && error.code === 'API_REJECTED' && error.status !== 423
}
