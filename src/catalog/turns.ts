// The turns of the schedule: each stream has one for its complete runs, some have one for their hot runs.

import { streams } from './catalog.ts'
import type { StreamDef } from './types.ts'

/** A kind of run of a stream: complete, or hot, which reads only what is most likely to have changed. */
export type Turn = { readonly stream: string; readonly hot: boolean }

const hotSuffix = '.hot'

/** The name of a turn in schedules and in the queue: `rentals`, `rentals.hot`. */
export const turnName = ({ stream, hot }: Turn): string => (hot ? `${stream}${hotSuffix}` : stream)

/** The turns of a stream, the complete one first; what stands inside another record has none. */
function turnsOf({ name, reads, hotEvery }: StreamDef): readonly Turn[] {
  if (reads.kind === 'inside') return []
  const complete = { stream: name, hot: false }
  return hotEvery === undefined ? [complete] : [complete, { stream: name, hot: true }]
}

/** All turns, in catalog order. */
export const turns: readonly Turn[] = streams.flatMap(turnsOf)

/** The turn of this name, if there is one. */
export const findTurn = (name: string): Turn | undefined => turns.find((turn) => turnName(turn) === name)
