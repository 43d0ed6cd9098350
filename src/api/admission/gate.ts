// The gate every request passes. It holds all callers while the API asked for a pause or is down, lets one probe
// through, and shares its state with the other workers. It never sends anything.

import { type Clock, sleep, within } from '../../clock.ts'
import { on, type Queryable } from '../../database/sql.ts'
import { BoatMirrorError } from '../../errors.ts'
import { stringifyJson } from '../../json/plain.ts'
import type { Logger } from '../../log.ts'
import {
  admission,
  closedGate,
  closing,
  failuresToOpen,
  type GateState,
  isGateState,
  mergeGates,
  opening,
  pausing,
  probeDelayMs,
  probing,
  unprobed,
} from './breaker.ts'

export type { GateState } from './breaker.ts'

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
        else if (isProbe) change(unprobed(state, now()))
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
        change(probing(state, now()))
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
  if (isRefused)
    return new BoatMirrorError('API_PAUSED', `The API refuses this account; the next attempt is at ${until}.`, {
      remedy: 'Run `boat-mirror check`, and correct API_TOKEN and API_AUTH.',
    })
  return state.opened > 0
    ? new BoatMirrorError(
        'API_PAUSED',
        `The API failed too often, so requests wait; the next attempt is at ${until}.`,
        {
          remedy: 'Check that the API is up: `boat-mirror check`.',
        },
      )
    : new BoatMirrorError('API_PAUSED', `The API asked us to wait until ${until}.`, {
        remedy: 'Try again then, or lower API_RATE_LIMIT.',
      })
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

/** The gate's state as the API's gate keeps it: instants in milliseconds since 1970. */
type StoredGate = {
  readonly pausedUntil: number
  readonly opened: number
  readonly probeAt: number
  readonly changedAt: number
}

const fields = ['pausedUntil', 'opened', 'probeAt', 'changedAt'] as const satisfies readonly (keyof StoredGate)[]

const isStoredGate = (value: unknown): value is StoredGate => {
  if (typeof value !== 'object' || value === null) return false
  const members: Record<string, unknown> = { ...value }
  return fields.every((field) => Number.isFinite(members[field]))
}

/** @param id which API: its address. */
export function createGateStore(
  db: Queryable,
  id: string,
): { load(): Promise<StoredGate | null>; save(state: StoredGate): Promise<void> } {
  return {
    load: async () => {
      const row = await on(db).selectFrom('sync.gate').select('state').where('id', '=', id).executeTakeFirst()
      const state = row?.state
      return isStoredGate(state) ? state : null
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
