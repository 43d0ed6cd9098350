// The requests of a search: one connection, no retries, at most so many reads, and nothing but the API's own origin.

import { type Limiter, unlimited } from '../../api/admission/rate-limit.ts'
import { type LinkBase, looksLikeLink, resolveNextLink } from '../../api/paging/next-link.ts'
import { proxyFor } from '../../api/wire/proxy.ts'
import { buildRequest, buildTarget, linkedRequest, packageVersion, type Target } from '../../api/wire/request.ts'
import { createTransport, type Transport } from '../../api/wire/transport.ts'
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

/** Lets so many requests pass and refuses the next one. */
type Allowance = Limiter & { readonly spent: () => boolean }

/** Reads that one `check` makes at most. */
export const mostReads = 40

/** @returns a limiter that throws BoatMirrorError ABORTED once `requests` have passed, each as `limiter` lets it */
export function createAllowance(limiter: Limiter = unlimited, requests = mostReads): Allowance {
  let left = requests
  return {
    spent: () => left === 0,
    acquire: async (priority, signal) => {
      signal?.throwIfAborted()
      if (left === 0)
        throw new BoatMirrorError('ABORTED', `${requests} requests were made. One check makes no more than that.`)
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

type Wire = { readonly target: Target; readonly transport: Transport }
type Asked = Awaited<ReturnType<Transport['send']>>

/** Reads lists with the secret sent in one way. */
export class Inquiry {
  readonly #options: InquiryOptions
  readonly #wire: Wire

  constructor(options: InquiryOptions, auth: AuthSetting) {
    const { api } = options
    const target = buildTarget({ ...api, auth }, packageVersion())
    this.#options = options
    this.#wire = { target, transport: createTransport(target, 1, proxyFor(target.origin, api.proxies)) }
  }

  /** The list, without any parameter of paging. @throws ApiError */
  async first(list: ListToRead): Promise<Asked> {
    return await this.#send(list, buildRequest(this.#wire.target, list).path)
  }

  /** The list as findPaging asks it. @param paths where records and total stand, as far as that is known */
  list(list: ListToRead, paths: PagingSettings): AskedList {
    const { target } = this.#wire
    const path = new URL(buildRequest(target, list).path, target.origin).pathname
    const base: LinkBase = {
      ...{ origin: target.origin, prefix: target.prefix, path },
      secretParam: target.secretQuery?.name ?? null,
    }
    const sampled =
      (own: Partial<PagingSettings> = {}) =>
      (answer: Asked) =>
        sampleOf(answer, { ...paths, ...own })
    return {
      ask: async (query, own) =>
        await this.#tried(
          list,
          buildRequest(target, { ...list, query: { ...list.query, ...query } }).path,
          sampled(own),
        ),
      follow: async (link) => {
        const own = ownLink(link, base)
        return own === null ? null : await this.#tried(list, linkedRequest(target, own).path, sampled())
      },
      isLink: (next) => looksLikeLink(next, target.prefix),
    }
  }

  close(): Promise<void> {
    return this.#wire.transport.close()
  }

  async #tried(list: ListToRead, path: string, read: (answer: Asked) => Sample): Promise<Sample | null> {
    try {
      return read(await this.#send(list, path))
    } catch (error) {
      if (isAnswerToParameters(error)) return null
      throw error
    }
  }

  async #send({ endpoint }: ListToRead, path: string): Promise<Asked> {
    const { allowance, signal, api } = this.#options
    await allowance.acquire('read', signal)
    const { timeoutMs } = api
    return await this.#wire.transport.send({ method: 'GET', path, endpoint, signal, timeoutMs }, systemClock.now)
  }
}

const answersToParameters: ReadonlySet<string> = new Set([
  ...['PAGING_ENVELOPE', 'API_ERROR_BODY', 'API_NOT_FOUND', 'API_SERVER_ERROR'],
])

/** Whether a refusal says something of the parameters that were sent, and nothing of who sent them. */
function isAnswerToParameters(error: unknown): boolean {
  if (!(error instanceof BoatMirrorError)) return false
  if (answersToParameters.has(error.code)) return true
  return error instanceof ApiError && error.code === 'API_REJECTED' && error.status !== 423
}

/** A next link below the API's own address; null: it leads elsewhere, and is not followed. */
function ownLink(link: string, base: LinkBase): string | null {
  try {
    return resolveNextLink(link, base)
  } catch (error) {
    if (error instanceof BoatMirrorError && error.code === 'PAGING_FOREIGN_LINK') return null
    throw error
  }
}
