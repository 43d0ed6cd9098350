// The API client: every request passes here, in this order: a place among the requests of this process, the rate limit
// of all workers, the gate, the wire. Reads are retried, writes leave once.

import { hash } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import type { Clock } from '../clock.ts'
import type { ApiSettings } from '../config.ts'
import { ApiError, BoatMirrorError } from '../errors.ts'
import type { Logger } from '../log.ts'
import { afterOutcome, createSemaphore, initialConcurrency, type Outcome } from './admission/concurrency.ts'
import type { Gate, GateOutcome, GatePass } from './admission/gate.ts'
import type { Priority } from './admission/priority-queue.ts'
import { type Limiter, type Permit, QuotaUsed } from './admission/rate-limit.ts'
import { pastEndStatuses } from './paging/page-source.ts'
import { readPages } from './paging/pages.ts'
import { passesByItself, withRetries } from './retry.ts'
import type { Answer, Api, CallRecord, ReadCall, WriteCall } from './types.ts'
import { abortedCall } from './wire/abort.ts'
import { stringifyJson } from './wire/json.ts'
import { proxyFor } from './wire/proxy.ts'
import { type BuiltRequest, buildRequest, buildTarget, linkedRequest, packageVersion } from './wire/request.ts'
import { createTransport } from './wire/transport.ts'

export type { Api, CallRecord, KeptPage, ListCall, Page } from './types.ts'

export type ApiOptions = {
  readonly settings: Pick<ApiSettings, 'token' | 'auth' | 'language' | 'concurrency' | 'timeoutMs' | 'proxies'> & {
    readonly baseUrl: string
  }
  readonly limiter: Limiter
  readonly gate: Gate
  readonly clock: Clock
  readonly log: Logger
  /** Called after every attempt. Must not throw. */
  readonly onCall?: (call: CallRecord) => void
  /** 0 ≤ random < 1, for the jitter of retries. */
  readonly random?: () => number
}

/** One attempt to be made. */
type Attempt = {
  readonly call: WriteCall
  readonly request: BuiltRequest
  readonly priority: Priority
  /** 1 for the first. */
  readonly number: number
  /** A write fails at once where a read would wait at the gate: the outbox plans its next attempt. */
  readonly isWrite: boolean
}

/** Creates the client. Opens no connection before the first call. */
export function createApi(options: ApiOptions): Api {
  const { settings, limiter, gate, clock, log, random = Math.random } = options
  const target = buildTarget(settings, packageVersion())
  const transport = createTransport(target, settings.concurrency, proxyFor(target.origin, settings.proxies))
  /** What an answer depends on besides the address of the page. */
  const place = [target.origin, target.prefix, settings.language]
  const nameOf = (...address: readonly unknown[]): string =>
    hash('sha256', JSON.stringify([...place, ...address]), 'base64url')
  let load = initialConcurrency(settings.concurrency)
  let keepsKeys: boolean | undefined
  // Details queue for a lane before they draw on the rate limit, so that few tokens lie idle when the API stalls; the
  // others, who are few, need no lane, so that they never wait behind details that wait for their token. All need a place
  // in flight.
  const lanes = createSemaphore(() => load.limit)
  const flight = createSemaphore(() => load.limit)

  /** Runs `send` when place, rate and gate allow it, and gives all of them back: the places as soon as it is `answered`. */
  const admitted = async <T>(attempt: Attempt, send: (answered: () => void) => Promise<T>): Promise<T> => {
    const { call, priority, isWrite } = attempt
    const { signal } = call
    const leave: (() => void)[] = []
    const leaveAll = (): void => {
      for (const step of leave) step()
    }
    let pass: GatePass | undefined
    let permit: Permit | undefined
    let outcome: GateOutcome = 'neutral'
    try {
      if (priority === 'detail') leave.push(await lanes.enter(priority, signal))
      for (;;) {
        permit ??= await limiter.acquire(priority, signal)
        pass = await gate.enter({ signal, ...(isWrite ? { patienceMs: 0 } : {}) })
        const land = await flight.enter(priority, signal)
        leave.push(land)
        // While this one waited for its place, a 429 of another may have closed the gate: one pause for all, not one each.
        // A permit that waited for too long counts as spent, and another is taken.
        const isCounted = permit.stands()
        if (pass.stands() && isCounted) break
        land()
        pass.done('neutral')
        if (!isCounted) permit = undefined
      }
      permit = undefined
      const result = await send(leaveAll)
      outcome = 'success'
      return result
    } catch (error) {
      const failure = asApiError(error, call, gate, clock)
      outcome = gateOutcomeOf(failure, attempt)
      throw failure
    } finally {
      permit?.giveBack() // nothing left
      pass?.done(outcome)
      leaveAll()
    }
  }

  /** Sends one attempt, measures it, and passes the result to all listeners. */
  const measured = async ({ call, request, priority, number }: Attempt, answered: () => void): Promise<Answer> => {
    const { endpoint, signal } = call
    const startedAt = clock.now()
    const startedAtMs = performance.now()
    const over = (facts: Pick<CallRecord, 'status' | 'bytes' | 'error'>): void => {
      const endedAtMs = performance.now()
      load = afterOutcome(load, { endpoint, startedAtMs, endedAtMs, result: loadResultOf(facts.error) })
      const ms = Math.round(endedAtMs - startedAtMs)
      log.debug({ event: 'api_call', endpoint, status: facts.status, code: facts.error?.code, ms, attempt: number })
      options.onCall?.({ endpoint, priority, startedAt, ms, attempt: number, ...facts })
    }
    try {
      const body = call.body === undefined ? undefined : stringifyJson(call.body)
      const timeoutMs = call.timeoutMs ?? settings.timeoutMs
      const { beforeLeaving, exact, undecoded, tag, fresh, idempotencyKey } = call
      const how = { exact, undecoded, tag, fresh, idempotencyKey }
      const answer = await transport.send(
        { ...request, endpoint, body, signal, timeoutMs, beforeLeaving, answered, ...how },
        clock.now,
      )
      keepsKeys = answer.headers['x-idempotency-key'] === 'kept'
      over({ status: answer.status, bytes: answer.bytes, error: null })
      return { ...answer, startedAt, retries: number - 1 }
    } catch (error) {
      const failure = asApiError(error, call, gate, clock)
      // The whole account waits, not only this call.
      if (failure.retryAfterMs !== undefined) gate.pause(failure.retryAfterMs)
      const isAnswer = call.mayBeRefused === true && pastEndStatuses.has(failure.status)
      over({ status: failure.status ?? null, bytes: 0, error: isAnswer ? null : failure })
      throw failure
    }
  }

  const readAt = async (call: ReadCall, request: BuiltRequest): Promise<Answer> => {
    const { signal, priority = 'read' } = call
    expectCrowd(signal)
    const once = (number: number): Promise<Answer> => {
      const attempt: Attempt = { call, request, priority, number, isWrite: false }
      return admitted(attempt, (answered) => measured(attempt, answered))
    }
    try {
      return await withRetries(once, { signal, random })
    } catch (error) {
      throw asApiError(error, call, gate, clock) // cancelled between two attempts
    }
  }

  return {
    read: async (call) => {
      const request = buildRequest(target, call)
      if (call.tagOf === undefined) return readAt(call, request)
      const name = nameOf(call.endpoint, call.params, call.query)
      return { ...(await readAt({ ...call, tag: call.tagOf(name) }, request)), name }
    },

    list: async function* (call) {
      const path = new URL(buildRequest(target, call).path, target.origin).pathname
      yield* readPages(call, {
        fetch: async (address, how) =>
          readAt(
            { ...call, ...how, undecoded: 'page' },
            address.kind === 'link'
              ? linkedRequest(target, address.link)
              : buildRequest(target, { ...call, query: { ...call.query, ...address.query } }),
          ),
        nameOf: (address) => nameOf(call.endpoint, call.query, address),
        linkBase: { origin: target.origin, prefix: target.prefix, path, secretParam: target.secretQuery?.name ?? null },
      })
    },

    send: async (call) => {
      expectCrowd(call.signal)
      const attempt: Attempt = {
        call,
        request: buildRequest(target, call),
        priority: call.priority ?? 'write',
        number: 1,
        isWrite: true,
      }
      return admitted(attempt, (answered) => measured(attempt, answered))
    },

    keepsKeys: () => keepsKeys,
    close: () => transport.close(),
  }
}

/** A caller that found the quota used checks again after this time at the latest: others may have returned some. */
const quotaAgainMs = 60_000

/** A worker's one signal is listened to by every call that waits; Node would take more than ten for a leak. */
function expectCrowd(signal: AbortSignal | undefined): void {
  if (signal !== undefined) setMaxListeners(0, signal)
}

/** Everything a call can end with as an ApiError; a fault of our own passes as it is. */
function asApiError(error: unknown, call: ReadCall, gate: Gate, clock: Clock): ApiError {
  const { endpoint, signal } = call
  if (error instanceof ApiError) return error
  // Whatever is not an ApiError comes from waiting for admission: nothing was sent.
  if (signal?.aborted) return abortedCall(signal, endpoint, false)
  if (!(error instanceof BoatMirrorError)) throw error
  const { pausedUntil, probeAt } = gate.state()
  const until = Math.max(pausedUntil?.getTime() ?? 0, probeAt?.getTime() ?? 0)
  return new ApiError(error.code, `${endpoint}: ${error.message}`, {
    endpoint,
    mayHaveTakenEffect: false,
    retryAfterMs:
      error instanceof QuotaUsed ? Math.min(error.waitMs, quotaAgainMs) : Math.max(0, until - clock.now().getTime()),
    cause: error,
    remedy: error.remedy,
  })
}

/**
 * Only a missing answer or a 5xx counts against the API; a refusal shows that it is alive. A refusal of the account
 * closes the gate for all, unless the answer named a time, for which all wait already. A 401 closes it only where a
 * change waits for the answer: a run that only reads ends with it.
 */
function gateOutcomeOf({ code, status, retryAfterMs }: ApiError, { call, priority }: Attempt): GateOutcome {
  if (code === 'API_UNREACHABLE' || code === 'API_TIMEOUT' || code === 'API_SERVER_ERROR') return 'failure'
  if (status === undefined) return 'neutral'
  const refusesAccount =
    passesByItself(status, undefined) ||
    (status === 401 && priority === 'write') ||
    (status === 403 && call.provesAccess === true)
  return refusesAccount && retryAfterMs === undefined ? 'refused' : 'alive'
}

function loadResultOf(error: ApiError | null): Outcome['result'] {
  if (error === null) return 'success'
  return error.code === 'API_TIMEOUT' || error.status === 429 || error.status === 503 ? 'overload' : 'other'
}
