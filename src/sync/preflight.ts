// Is the API there, and does it let us in? Asked before a sync, so that a wrong address or token is one message within
// seconds and not a failure of every stream. Shares no gate with the workers: it looks for itself.

import { createGate } from '../api/admission/gate.ts'
import type { Limiter } from '../api/admission/rate-limit.ts'
import { createApi } from '../api/client.ts'
import type { Answer, Api, CallRecord } from '../api/types.ts'
import { streamNamed } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { ApiError } from '../errors.ts'
import type { Logger } from '../log.ts'
import { shownAddress } from '../text.ts'

export type ProbeOptions = {
  readonly config: Config
  readonly apiUrl: string
  readonly log: Logger
  readonly signal: AbortSignal
  readonly limiter: Limiter
}

/** A client that gives up early: after the second refused connection, the first time-out, the first answer that is no success. */
export type ProbeApi = {
  readonly api: Api
  /** Runs a read with this client. @throws ApiError of the attempt that made it give up. */
  attempt<T>(read: (api: Api, signal: AbortSignal) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** Attempts for temporary errors; other codes get one. */
const attemptsFor: Partial<Record<string, number>> = { API_UNREACHABLE: 2, API_NOT_JSON: 2 }

/** Opens a client that probes the API without the patience of a worker. */
export function openProbeApi({ config, apiUrl, log, signal, limiter }: ProbeOptions): ProbeApi {
  let onFailure = (_call: CallRecord): void => {}
  const api = createApi({
    settings: { ...config.api, baseUrl: apiUrl },
    limiter,
    gate: createGate({ clock: systemClock, log, patienceMs: 0 }),
    clock: systemClock,
    log,
    onCall: (call) => call.error !== null && onFailure(call),
  })
  return {
    api,
    attempt: async (read) => {
      const enough = new AbortController()
      let last: ApiError | undefined
      onFailure = ({ error, attempt }) => {
        if (error === null || signal.aborted || error.kind === 'abort') return
        last = error
        // Without another attempt the call ends, and a refusal may be the very answer the probe wants.
        if (error.kind === 'retry' && attempt >= (attemptsFor[error.code] ?? 1)) enough.abort(error)
      }
      try {
        return await read(api, AbortSignal.any([signal, enough.signal]))
      } catch (error) {
        throw enough.signal.aborted && last !== undefined ? last : error
      } finally {
        onFailure = () => {}
      }
    },
    close: () => api.close(),
  }
}

/** One list may be missing in an API; three in a row are a wrong address. */
const listsAsked = 3

/** Codes that concern one list or one moment: the sync itself reports them. */
const passable: ReadonlySet<string> = new Set([
  'API_FORBIDDEN',
  'API_REJECTED',
  'API_RATE_LIMITED',
  'API_SERVER_ERROR',
  'API_TOO_LARGE',
])

/**
 * Reads the first list of these streams. Returns the headers of its answer; none where it was refused.
 * @throws ApiError when the API cannot be reached, refuses the credentials, or has none of the first lists.
 */
export async function preflight(options: ProbeOptions, streams: readonly string[]): Promise<Answer['headers']> {
  const lists = streams.map(streamNamed).filter((stream) => stream.reads.kind === 'list')
  const probe = openProbeApi(options)
  const missing: ApiError[] = []
  try {
    for (const stream of lists.slice(0, listsAsked)) {
      const error = await firstRecord(probe, stream, options.config)
      if (!(error instanceof ApiError)) return error?.headers ?? {}
      if (passable.has(error.code) && !soundsLikeTls(error, options.apiUrl)) return {}
      if (error.code !== 'API_NOT_FOUND') throw explained(error, options.apiUrl)
      missing.push(error)
    }
  } finally {
    await probe.close()
  }
  if (missing.length > 0) throw wrongAddress(missing, options.apiUrl)
  return {}
}

/** Asks for one record of a list; null where there is nothing to ask. */
async function firstRecord(probe: ProbeApi, stream: StreamDef, config: Config): Promise<ApiError | Answer | null> {
  const { reads } = stream
  if (reads.kind !== 'list') return null
  const query = { ...reads.query, ...(reads.paged ? { [config.api.paging.sizeParam]: '1' } : {}) }
  try {
    return await probe.attempt((api, signal) => api.read({ endpoint: reads.list, query, signal }))
  } catch (error) {
    if (error instanceof ApiError && error.kind !== 'abort') return error
    throw error
  }
}

/** Web servers answer http on a port that speaks TLS with 400 and their own page. */
const soundsLikeTls = ({ status, body = '' }: ApiError, apiUrl: string): boolean =>
  status === 400 && apiUrl.startsWith('http:') && /^\s*[^\s[{]/.test(body)

/** The same error, with the address that was asked and what to do about it. */
function explained(error: ApiError, apiUrl: string): ApiError {
  const remedy = soundsLikeTls(error, apiUrl) ? 'If the port speaks TLS, use https:// in API_BASE_URL.' : error.remedy
  const state = error.code === 'API_QUOTA_USED' ? 'was not queried' : 'cannot be read'
  return new ApiError(error.code, `The API at ${shownAddress(apiUrl)} ${state}. ${error.message}`, {
    endpoint: error.endpoint,
    cause: error,
    remedy,
  })
}

function wrongAddress(missing: readonly ApiError[], apiUrl: string): ApiError {
  const endpoints = missing.map((error) => error.endpoint).join(', ')
  return new ApiError(
    'API_NOT_FOUND',
    `${shownAddress(apiUrl)} has none of the first lists: it answered 404 to ${endpoints}.`,
    {
      endpoint: missing[0]?.endpoint ?? '',
      kind: 'fatal',
      remedy: 'Check API_BASE_URL: it must be the root of the API, without /v3.',
    },
  )
}
