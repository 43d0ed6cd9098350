// The sandbox's own time: the host's clock by default, movable and stoppable by the control interface, so that the
// 15-minute expiry and tomorrow's calendars can be seen without waiting.

export interface SandboxClock {
  /** The present instant, milliseconds since 1970. */
  readonly now: () => number
  /** Moves the clock forward (or back) by milliseconds. */
  readonly advance: (ms: number) => void
  /** Stops the clock at an instant; only `advance` and `set` move it from there. */
  readonly set: (instant: Date) => void
  /** Lets a stopped clock run on from where it stands. */
  readonly run: () => void
}

/** A clock that runs with the host's, or one that stands still at `start`. */
export function createClock(start?: Date): SandboxClock {
  let frozen: number | null = start ? start.getTime() : null
  let offset = 0
  const now = (): number => frozen ?? Date.now() + offset
  return {
    now,
    advance(ms) {
      if (frozen === null) offset += ms
      else frozen += ms
    },
    set(instant) {
      frozen = instant.getTime()
    },
    run() {
      offset = now() - Date.now()
      frozen = null
    },
  }
}
