// The colours of states, the same on every page.

import type { Freshness } from '../../inspect/streams.ts'
import type { Tone } from './frame.ts'

/** How fresh a stream is. */
export const freshnessTones: Readonly<Record<Freshness, Tone>> = {
  fresh: 'ok',
  late: 'warn',
  failing: 'bad',
  unknown: 'mute',
  reading: 'busy',
  off: 'mute',
}

/** What came of a run. */
export const runTones: Readonly<Record<string, Tone>> = {
  running: 'busy',
  done: 'ok',
  partial: 'warn',
  held: 'warn',
  failed: 'bad',
}

/** The state of a change. */
export const changeTones: Readonly<Record<string, Tone>> = {
  queued: 'busy',
  sending: 'busy',
  blocked: 'warn',
  conflict: 'warn',
  unknown: 'warn',
  failed: 'bad',
  expired: 'mute',
  canceled: 'mute',
  done: 'ok',
}
