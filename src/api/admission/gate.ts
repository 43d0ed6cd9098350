// The gate every request passes. It holds all callers while the API asked for a pause or is down, lets one probe
// through, and shares its state with the other workers in sync.gate. It never sends anything. The rules are pure functions
// of state and time: a breaker (closed, open, half-open while one probe is out) and the pause the API asked for.

import { type Clock, sleep, within } from '../../clock.ts'
import { on, type Queryable } from '../../database/sql.ts'
import { BoatMirrorError } from '../../errors.ts'
import { stringifyJson } from '../../json/plain.ts'
import type { Logger } from '../../log.ts'

/** Where workers share the state of the gate. */
export interface GateStore {
  load(): Promise<GateState | null>
  save(state: GateState): Promise<void>
}

/**
 * `success`: the API did what was asked. `alive`: it refused this request. `refused`: it takes nothing of this account.
 * `failure`: no answer, or 5xx. `neutral`: nothing was learned.
 */
export type GateOutcome = 'success' | 'alive' | 'refused' | 'failure' | 'neutral'

/** Given to each caller that passed, who returns it once with the outcome. */
export type GatePass = {
  /** False when the gate was closed after this pass was given: the request must not leave any more. */
  stands(): boolean
  done(outcome: GateOutcome): void
}

type GateStatus = {
  readonly breaker: 'closed' | 'open' | 'half-open'
  readonly pausedUntil: Date | null
  /** When the next probe may leave; null while closed. */
  readonly probeAt: Date | null
  /** Failures in a row in this process. */
  readonly failures: number
}

export interface Gate {
  /**
   * Resolves when one request may leave. While the gate is closed it waits, at most `patienceMs` (0: not at all).
   * @throws BoatMirrorError API_PAUSED, or the signal's reason when aborted
   */
  enter(options?: { readonly signal?: AbortSignal | undefined; readonly patienceMs?: number }): Promise<GatePass>
  /** Pauses everything for `ms`, because the API asked for it. */
  pause(ms: number): void
  state(): GateStatus
}

type GateOptions = {
  readonly store?: GateStore
  readonly clock: Clock
  readonly log: Logger
  /** Longest wait of a caller that sets none; unset: no limit. */
  readonly patienceMs?: number
}

/** How long what the store said is good for, and the longest sleep between two looks. */
const refreshMs = 1_000

export function createGate(options: GateOptions): Gate {
  const { clock, log } = options
  const now = (): number => clock.now().getTime()
  const shared = createShare(options.store, log, (theirs) => {
    state = mergeGates(state, theirs)
    return state
  })
  let state = closedGate
  let failures = 0
  /** Consecutive refusals of the account; requests that ran at the same time count once. */
  let refusals = 0
  let probeOut = false

  const change = (next: GateState): void => {
    state = next
    shared.save()
  }

  const onRefusal = (): void => {
    onAnswer()
    if (state.pausedUntil > now()) return
    refusals++
    change(pausing(state, now(), probeDelayMs(refusals)))
    if (refusals === 1)
      log.warn({ event: 'account_refused' }, 'the API refuses this account: all requests wait between attempts')
  }
  const onSuccess = (): void => {
    onAnswer()
    if (refusals > 0) log.info({ event: 'account_accepted' }, 'the API accepts this account again: requests continue')
    refusals = 0
  }
  const onAnswer = (): void => {
    failures = 0
    if (state.opened === 0) return
    change(closing(state, now()))
    log.info({ event: 'breaker_closed' }, 'the API answers again: requests continue')
  }
  const onFailure = (wasProbe: boolean): void => {
    failures++
    const opens = state.opened === 0 && failures >= failuresToOpen
    if (!opens && !wasProbe) return
    change(opening(state, now()))
    if (opens)
      log.warn(
        { event: 'breaker_open', failures },
        `the API failed ${failures} times in a row: requests wait, and probes are sent one at a time`,
      )
  }

  const passFor = (isProbe: boolean): GatePass => {
    let handedBack = false
    return {
      stands: () => (isProbe ? state.pausedUntil <= now() : admission(state, now(), probeOut).kind === 'pass'),
      done(outcome) {
        if (handedBack) return
        handedBack = true
        if (isProbe) probeOut = false
        if (outcome === 'success') onSuccess()
        else if (outcome === 'alive') onAnswer()
        else if (outcome === 'refused') onRefusal()
        else if (outcome === 'failure') onFailure(isProbe)
        else if (isProbe) change({ ...state, probeAt: now() }) // it was cancelled: the next one may leave
      },
    }
  }

  const enter: Gate['enter'] = async ({ signal, patienceMs = options.patienceMs ?? Number.POSITIVE_INFINITY } = {}) => {
    const enteredAt = now()
    while (true) {
      signal?.throwIfAborted()
      // A caller that comes when a refresh is due waits for it, but not for a store that does not answer.
      const refreshing = shared.refreshIfDue(now())
      if (refreshing !== null) await within(refreshMs, refreshing)
      const verdict = admission(state, now(), probeOut)
      if (verdict.kind === 'pass') return passFor(false)
      if (verdict.kind === 'probe') {
        probeOut = true
        // The other workers hold theirs back until its turn has passed.
        change({ ...state, probeAt: now() + probeDelayMs(state.opened) })
        return passFor(true)
      }
      const left = patienceMs - (now() - enteredAt)
      if (left <= 0) throw paused(state, now(), refusals > 0)
      await sleep(Math.min(verdict.ms, left, refreshMs), signal)
    }
  }

  return {
    enter,
    pause: (ms) => {
      if (ms > 0) change(pausing(state, now(), ms))
    },
    state: () => ({
      breaker: state.opened === 0 ? 'closed' : probeOut ? 'half-open' : 'open',
      pausedUntil: state.pausedUntil > now() ? new Date(state.pausedUntil) : null,
      probeAt: state.opened === 0 ? null : new Date(state.probeAt),
      failures,
    }),
  }
}

function paused(state: GateState, now: number, isRefused: boolean): BoatMirrorError {
  const until = new Date(Math.max(state.pausedUntil, state.opened > 0 ? state.probeAt : 0, now)).toISOString()
  const [message, remedy] = isRefused
    ? [
        `The API refuses this account; the next attempt is at ${until}.`,
        'Run `boat-mirror check`, and correct API_TOKEN and API_AUTH.',
      ]
    : state.opened > 0
      ? [
          `The API failed too often, so requests wait; the next attempt is at ${until}.`,
          'Check that the API is up: `boat-mirror check`.',
        ]
      : [`The API asked us to wait until ${until}.`, 'Try again then, or lower API_RATE_LIMIT.']
  return new BoatMirrorError('API_PAUSED', message, { remedy })
}

type Share = {
  /** Reads the store, at most once a second; null when it is too early. */
  refreshIfDue(now: number): Promise<void> | null
  /** Writes what we know, after learning what the others know. */
  save(): void
}

/**
 * The store behind a cache. Its failures are logged once and block no caller. `learn` takes its state and returns the
 * merged one.
 */
function createShare(store: GateStore | undefined, log: Logger, learn: (theirs: GateState) => GateState): Share {
  if (store === undefined) return { refreshIfDue: () => null, save: () => undefined }
  let lookedAt = Number.NEGATIVE_INFINITY
  let saving: Promise<void> = Promise.resolve()
  let saveDue = false
  let out = false

  const guarded = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work()
      out = false
    } catch (error) {
      if (!out)
        log.warn({ event: 'gate_alone', error }, 'cannot share the state of the API gate with the other workers')
      out = true
    }
  }
  const refreshing = async (): Promise<GateState> => {
    const loaded: unknown = await store.load()
    return learn(isGateState(loaded) ? loaded : closedGate)
  }

  return {
    refreshIfDue(now) {
      if (Math.abs(now - lookedAt) < refreshMs) return null // a clock set backwards must not stop the refresh
      lookedAt = now
      return guarded(async () => {
        await refreshing()
      })
    },
    save() {
      if (saveDue) return
      saveDue = true
      saving = saving.then(() =>
        guarded(async () => {
          saveDue = false
          await store.save(await refreshing())
        }),
      )
    },
  }
}

/** The gate's state in sync.gate. @param id which API: its address. */
export function createGateStore(db: Queryable, id: string): GateStore {
  return {
    load: async () => {
      const row = await on(db).selectFrom('sync.gate').select('state').where('id', '=', id).executeTakeFirst()
      const state = row?.state
      return isGateState(state) ? state : null
    },
    // Another worker may have stored something since we looked: the longer pause and the newer breaker stand.
    save: async (state) => {
      await db.query(
        `insert into sync.gate as g (id, state) values ($1, $2::jsonb) on conflict (id) do update
           set updated_at = clock_timestamp(), state = case
             when (g.state ->> 'changedAt')::numeric > (excluded.state ->> 'changedAt')::numeric then g.state
             else excluded.state end || jsonb_build_object('pausedUntil',
               greatest((g.state ->> 'pausedUntil')::numeric, (excluded.state ->> 'pausedUntil')::numeric))`,
        [id, stringifyJson(state)],
      )
    },
  }
}

/** Plain JSON, so that any store can keep it. Instants are milliseconds since 1970. */
export type GateState = {
  /** Nothing leaves before this instant (Retry-After); 0: not paused. */
  readonly pausedUntil: number
  /** How often in a row the breaker has opened or a probe has failed; 0: closed. */
  readonly opened: number
  /** From this instant one probe may leave, while `opened` is above 0. */
  readonly probeAt: number
  /** When `opened` last changed, later each time even if the clock was set back: what is newer wins between workers. */
  readonly changedAt: number
}

export const closedGate: GateState = { pausedUntil: 0, opened: 0, probeAt: 0, changedAt: 0 }

/** Failures in a row, over the process, that open the breaker. */
export const failuresToOpen = 20
const firstProbeMs = 1_000
const slowestProbeMs = 60_000

/** Delay before the next probe: 1 s, 2 s, 4 s … capped at 60 s. `opened` counts from 1. */
export const probeDelayMs = (opened: number): number =>
  Math.min(slowestProbeMs, firstProbeMs * 2 ** Math.min(opened - 1, 10))

/** The state after the breaker opened, or after a probe failed. */
export const opening = (state: GateState, now: number): GateState => ({
  ...state,
  opened: state.opened + 1,
  probeAt: now + probeDelayMs(state.opened + 1),
  changedAt: Math.max(now, state.changedAt + 1),
})

/** The state after a probe succeeded. */
export const closing = (state: GateState, now: number): GateState => ({
  ...state,
  opened: 0,
  probeAt: 0,
  changedAt: Math.max(now, state.changedAt + 1),
})

/** The state after the API asked for a pause of `ms`. A shorter pause never ends a longer one. */
const pausing = (state: GateState, now: number, ms: number): GateState => ({
  ...state,
  pausedUntil: Math.max(state.pausedUntil, now + ms),
})

/** What two workers know, put together: the longer pause, the newer breaker, and for the same breaker the later probe. */
export function mergeGates(ours: GateState, theirs: GateState): GateState {
  const pausedUntil = Math.max(ours.pausedUntil, theirs.pausedUntil)
  if (theirs.changedAt !== ours.changedAt)
    return { ...(theirs.changedAt > ours.changedAt ? theirs : ours), pausedUntil }
  return { ...ours, pausedUntil, probeAt: Math.max(ours.probeAt, theirs.probeAt) }
}

/** What a caller may do now: pass, pass as the probe, or wait for so many milliseconds. */
type Admission = { readonly kind: 'pass' } | { readonly kind: 'probe' } | { readonly kind: 'wait'; readonly ms: number }

/** Decides for one caller. `probeOut`: a probe of this process is running. */
export function admission(state: GateState, now: number, probeOut: boolean): Admission {
  // A probe that is further off than any delay was set by a clock that was set back since.
  const untilProbe = state.opened > 0 ? Math.min(state.probeAt - now, probeDelayMs(state.opened)) : 0
  const wait = Math.max(state.pausedUntil - now, untilProbe)
  if (wait > 0) return { kind: 'wait', ms: wait }
  if (state.opened === 0) return { kind: 'pass' }
  return probeOut ? { kind: 'wait', ms: probeDelayMs(1) } : { kind: 'probe' }
}

/** Whether anything read from a store is a gate's state. */
export function isGateState(value: unknown): value is GateState {
  if (typeof value !== 'object' || value === null) return false
  const fields: Record<string, unknown> = { ...value }
  return Object.keys(closedGate).every((key) => Number.isFinite(fields[key]))
}
