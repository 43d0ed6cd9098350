// The state behind the gate, as pure functions of state and time: a breaker (closed, open, half-open while one probe
// is out) and the pause the API asked for. No timers, no I/O.

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

/** The state while a probe is out: the other workers hold theirs back until its turn has passed. */
export const probing = (state: GateState, now: number): GateState => ({
  ...state,
  probeAt: now + probeDelayMs(state.opened),
})

/** The state after a probe was cancelled: the next probe may leave. */
export const unprobed = (state: GateState, now: number): GateState => ({ ...state, probeAt: now })

/** The state after the API asked for a pause of `ms`. A shorter pause never ends a longer one. */
export const pausing = (state: GateState, now: number, ms: number): GateState => ({
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
