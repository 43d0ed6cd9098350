// The gate holds everybody back while the API is down or asked for a pause, and shares that between workers.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  admission,
  closedGate,
  closing,
  createGate,
  failuresToOpen,
  type Gate,
  type GateOutcome,
  type GateState,
  type GateStore,
  isGateState,
  mergeGates,
  opening,
  probeDelayMs,
} from '../../src/api/admission/gate.ts'
import { systemClock } from '../../src/clock.ts'
import { recordingLog } from './recording-log.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: new Date('2026-05-01T12:00:00Z') })
})
afterEach(() => {
  vi.useRealTimers()
})

const pass = async (gate: Gate, outcome: GateOutcome, times = 1): Promise<void> => {
  for (let i = 0; i < times; i++) (await gate.enter()).done(outcome)
}
const opened = async (options: { store?: GateStore; patienceMs?: number } = {}) => {
  const { log, lines } = recordingLog()
  const gate = createGate({ clock: systemClock, log, ...options })
  await pass(gate, 'failure', failuresToOpen)
  return { gate, lines }
}
/** Whether a caller that enters now has passed after `ms`. */
const passesWithin = async (gate: Gate, ms: number): Promise<boolean> => {
  let passed = false
  const stop = new AbortController()
  const entered = gate.enter({ signal: stop.signal }).then(
    (ticket) => {
      passed = true
      return ticket
    },
    () => undefined,
  )
  await vi.advanceTimersByTimeAsync(ms)
  stop.abort(new Error('waited long enough'))
  ;(await entered)?.done('neutral')
  return passed
}

const memoryStore = (initial: GateState | null = null): GateStore & { state: GateState | null; loads: number } => ({
  state: initial,
  loads: 0,
  async load() {
    this.loads++
    return this.state
  },
  async save(state) {
    this.state = state
  },
})

describe('breaker', () => {
  it('opens after twenty failures in a row, and says so once', async () => {
    const { log, lines } = recordingLog()
    const gate = createGate({ clock: systemClock, log })
    await pass(gate, 'failure', failuresToOpen - 1)
    expect(gate.state()).toMatchObject({ breaker: 'closed', failures: 19 })
    await pass(gate, 'failure')
    expect(gate.state()).toMatchObject({ breaker: 'open', probeAt: new Date('2026-05-01T12:00:01Z') })
    expect(lines.map((line) => line.event)).toEqual(['breaker_open'])
  })

  it('counts anew after any answer; what taught nothing does not count', async () => {
    const { log } = recordingLog()
    const gate = createGate({ clock: systemClock, log })
    await pass(gate, 'failure', 19)
    await pass(gate, 'neutral')
    await pass(gate, 'success')
    await pass(gate, 'failure', 19)
    expect(gate.state().breaker).toBe('closed')
  })

  it('lets nobody pass while open, and then one probe alone', async () => {
    const { gate } = await opened()
    expect(await passesWithin(gate, 900)).toBe(false)
    await vi.advanceTimersByTimeAsync(100)
    const probe = await gate.enter()
    expect(gate.state().breaker).toBe('half-open')
    expect(await passesWithin(gate, 20_000)).toBe(false)
    probe.done('success')
    expect(gate.state()).toMatchObject({ breaker: 'closed', probeAt: null, failures: 0 })
    expect(await passesWithin(gate, 0)).toBe(true)
  })

  it('doubles the time between probes up to a minute, and says once that it closed', async () => {
    const { gate, lines } = await opened()
    const waits: number[] = []
    for (let i = 0; i < 8; i++) {
      const from = Date.now()
      const entering = gate.enter()
      await vi.advanceTimersByTimeAsync(70_000)
      const probe = await entering
      probe.done('failure')
      const { probeAt } = gate.state()
      waits.push((probeAt?.getTime() ?? 0) - Date.now())
      expect(Date.now() - from).toBeGreaterThan(0)
    }
    expect(waits).toEqual([2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1_000))
    await vi.advanceTimersByTimeAsync(60_000)
    await pass(gate, 'success')
    expect(lines.map((line) => line.event)).toEqual(['breaker_open', 'breaker_closed'])
  })

  it('a probe that was called off gives its turn to the next', async () => {
    const { gate } = await opened()
    await vi.advanceTimersByTimeAsync(1_000)
    const probe = await gate.enter()
    probe.done('neutral')
    probe.done('failure')
    expect(await passesWithin(gate, 0)).toBe(true)
  })

  it('closes when a request that left before it opened is answered after all', async () => {
    const { log } = recordingLog()
    const gate = createGate({ clock: systemClock, log })
    const early = await gate.enter()
    await pass(gate, 'failure', failuresToOpen)
    early.done('success')
    expect(gate.state().breaker).toBe('closed')
  })

  it('probe delays are 1 s, 2 s, 4 s … 60 s', () => {
    expect([1, 2, 3, 6, 7, 1_000].map(probeDelayMs)).toEqual([1_000, 2_000, 4_000, 32_000, 60_000, 60_000])
  })
})

describe('pause', () => {
  it('holds everybody back for as long as the API asked', async () => {
    const { log } = recordingLog()
    const gate = createGate({ clock: systemClock, log })
    gate.pause(30_000)
    gate.pause(1_000)
    expect(gate.state().pausedUntil).toEqual(new Date('2026-05-01T12:00:30Z'))
    expect(await passesWithin(gate, 29_999)).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(await passesWithin(gate, 0)).toBe(true)
    expect(gate.state().pausedUntil).toBeNull()
  })

  it('of no time is none', async () => {
    const gate = createGate({ clock: systemClock, log: recordingLog().log })
    gate.pause(0)
    expect(gate.state().pausedUntil).toBeNull()
  })
})

describe('an account that is refused', () => {
  const waits = async (gate: Gate): Promise<number> => Number(gate.state().pausedUntil ?? Date.now()) - Date.now()

  it('holds everybody, all workers alike, for 1 s, 2 s, 4 s … until a request is done', async () => {
    const store = memoryStore()
    const gate = createGate({ clock: systemClock, log: recordingLog().log, store })
    const together = [await gate.enter(), await gate.enter()]
    for (const each of together) each.done('refused') // one refusal, however many were under way
    for (const ms of [1_000, 2_000, 4_000]) {
      expect(await waits(gate)).toBe(ms)
      await vi.advanceTimersByTimeAsync(0)
      const other = createGate({ clock: systemClock, log: recordingLog().log, store })
      expect(await passesWithin(other, ms - 1)).toBe(false)
      await vi.advanceTimersByTimeAsync(1)
      await pass(gate, 'refused')
    }
    await vi.advanceTimersByTimeAsync(8_000)
    await pass(gate, 'alive') // what is refused for a reason of its own says nothing of the account
    await pass(gate, 'refused')
    expect(await waits(gate)).toBe(16_000)
    await vi.advanceTimersByTimeAsync(16_000)
    await pass(gate, 'success')
    await pass(gate, 'refused')
    expect(await waits(gate)).toBe(1_000)
  })
})

describe('waiting', () => {
  it('ends at once with the reason of the signal', async () => {
    const { gate } = await opened()
    const stop = new AbortController()
    const entering = gate.enter({ signal: stop.signal })
    stop.abort(new Error('called off'))
    await expect(entering).rejects.toThrow('called off')
    await expect(gate.enter({ signal: stop.signal })).rejects.toThrow('called off')
  })

  it('ends with API_PAUSED when patience is over', async () => {
    const { gate } = await opened({ patienceMs: 500 })
    const entering = expect(gate.enter()).rejects.toMatchObject({
      code: 'API_PAUSED',
      kind: 'retry',
      remedy: expect.any(String),
    })
    await vi.advanceTimersByTimeAsync(500)
    await entering
  })

  it('without patience does not begin', async () => {
    const gate = createGate({ clock: systemClock, log: recordingLog().log })
    gate.pause(5_000)
    await expect(gate.enter({ patienceMs: 0 })).rejects.toMatchObject({
      code: 'API_PAUSED',
      message: 'The API asked us to wait until 2026-05-01T12:00:05.000Z.',
    })
  })
})

describe('workers', () => {
  it('learn from each other that the API is down, before their first request', async () => {
    const store = memoryStore()
    await opened({ store })
    await vi.advanceTimersByTimeAsync(0)
    expect(isGateState(store.state)).toBe(true)
    const other = createGate({ clock: systemClock, log: recordingLog().log, store })
    expect(await passesWithin(other, 900)).toBe(false)
    expect(other.state().breaker).toBe('open')
  })

  it('learn that it is up again, and of a pause', async () => {
    const store = memoryStore()
    const one = createGate({ clock: systemClock, log: recordingLog().log, store })
    const two = createGate({ clock: systemClock, log: recordingLog().log, store })
    await pass(two, 'success')
    await pass(one, 'failure', failuresToOpen)
    one.pause(10_000)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await passesWithin(two, 5_000)).toBe(false)
    await vi.advanceTimersByTimeAsync(5_000)
    await pass(one, 'success')
    expect(await passesWithin(two, 2_100)).toBe(true)
    expect(two.state().breaker).toBe('closed')
  })

  it('ask the store at most once a second', async () => {
    const store = memoryStore()
    const gate = createGate({ clock: systemClock, log: recordingLog().log, store })
    await pass(gate, 'success', 100)
    expect(store.loads).toBe(1)
    await vi.advanceTimersByTimeAsync(1_000)
    await pass(gate, 'success', 100)
    expect(store.loads).toBe(2)
  })

  it('do not lose one another’s pause when they save at the same time', async () => {
    const store = memoryStore({ ...closedGate, pausedUntil: Date.now() + 60_000 })
    const gate = createGate({ clock: systemClock, log: recordingLog().log, store })
    gate.pause(1_000)
    await vi.advanceTimersByTimeAsync(0)
    expect(store.state?.pausedUntil).toBe(Date.parse('2026-05-01T12:01:00Z'))
  })

  it('go on alone while the store is out, and say so once', async () => {
    const { log, lines } = recordingLog()
    const broken: GateStore = {
      load: () => Promise.reject(new Error('no database')),
      save: () => Promise.reject(new Error('no database')),
    }
    const gate = createGate({ clock: systemClock, log, store: broken })
    await pass(gate, 'success')
    await vi.advanceTimersByTimeAsync(3_000)
    await pass(gate, 'failure', failuresToOpen)
    await vi.advanceTimersByTimeAsync(0)
    expect(lines.filter((line) => line.event === 'gate_alone')).toHaveLength(1)
    expect(JSON.stringify(lines)).not.toContain('[object Object]')
    expect(gate.state().breaker).toBe('open')
  })

  it('are not held up by a store that does not answer', async () => {
    const silent: GateStore = { load: () => new Promise(() => undefined), save: async () => undefined }
    const gate = createGate({ clock: systemClock, log: recordingLog().log, store: silent })
    expect(await passesWithin(gate, 1_000)).toBe(true)
    expect(await passesWithin(gate, 1_000)).toBe(true)
  })

  it('do not believe what is no state', async () => {
    const store: GateStore = {
      load: async () => ({ pausedUntil: 'x' }) as unknown as GateState,
      save: async () => undefined,
    }
    const gate = createGate({ clock: systemClock, log: recordingLog().log, store })
    await pass(gate, 'success')
    expect(gate.state().breaker).toBe('closed')
  })
})

describe('pure state', () => {
  it('of two workers is the longer pause and the newer breaker', () => {
    const ours: GateState = { pausedUntil: 5, opened: 2, probeAt: 9, changedAt: 1 }
    const theirs: GateState = { pausedUntil: 3, opened: 0, probeAt: 0, changedAt: 2 }
    expect(mergeGates(ours, theirs)).toEqual({ pausedUntil: 5, opened: 0, probeAt: 0, changedAt: 2 })
    expect(mergeGates(theirs, ours)).toEqual({ pausedUntil: 5, opened: 0, probeAt: 0, changedAt: 2 })
  })

  it('of two workers that know the same breaker is the later probe', () => {
    const ours: GateState = { pausedUntil: 0, opened: 2, probeAt: 9, changedAt: 1 }
    expect(mergeGates(ours, { ...ours, probeAt: 12 }).probeAt).toBe(12)
    expect(mergeGates({ ...ours, probeAt: 12 }, ours).probeAt).toBe(12)
  })

  it('outlasts a clock that is set back by an hour: what changes later is newer, and the next probe leaves in time', () => {
    const now = 10_000_000
    const open = opening(opening(closedGate, now), now)
    const back = now - 3_600_000
    expect(admission(open, back, false)).toEqual({ kind: 'wait', ms: 2_000 })
    const closed = closing(open, back)
    expect(mergeGates(closed, open).opened).toBe(0)
    expect(mergeGates(open, closed).opened).toBe(0)
    expect(mergeGates(closed, opening(closed, back)).opened).toBe(1)
  })

  it('makes a probe wait for the end of a pause, too', () => {
    const state: GateState = { pausedUntil: 50, opened: 1, probeAt: 10, changedAt: 0 }
    expect(admission(state, 20, false)).toEqual({ kind: 'wait', ms: 30 })
    expect(admission(state, 50, false)).toEqual({ kind: 'probe' })
  })
})
