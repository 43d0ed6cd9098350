// 22 writes, the answer lost before and after the effect, on either hop: between the program and what it writes to, and
// between Boat Mirror and the API. What writes is given, so that the program may be `fetch` or a Boat Mirror itself.

import type { Sandbox } from '../../sandbox/index.ts'
import { effects } from '../outbox/effects.ts'
import type { Planned } from '../outbox/plans.ts'
import type { Loss, LossyFront } from './lossy-front.ts'

export type Hop = 'program' | 'api'

export type LostAnswer = { readonly planned: Planned; readonly hop: Hop; readonly loss: Loss }

/** Writes one change through the front and says how it ended, in its own words: `done`, or anything else. */
export type Writer = (planned: Planned) => Promise<string>

export type Fate = {
  readonly operation: string
  readonly hop: Hop
  readonly loss: Loss
  readonly ended: string
  /** How often the effect shows at the API. */
  readonly effects: number
}

/** Every case of a plan of 22 changes for each hop and loss. */
export const hops: readonly Hop[] = ['program', 'api']
export const losses: readonly Loss[] = ['before', 'after']

/** What a sandbox does to lose an answer. */
const faultOf = { before: 'reset', after: 'dropAfterEffect' } as const

/** Loses the answer of each change once, and lets all of them be written at once. */
export async function writeThroughLosses(
  { sandbox, front }: { readonly sandbox: Sandbox; readonly front: LossyFront },
  cases: readonly LostAnswer[],
  write: Writer,
): Promise<readonly Fate[]> {
  return await Promise.all(
    cases.map(async ({ planned, hop, loss }) => {
      const { operation, method, path, endpoint, target } = planned
      if (hop === 'program') front.lose(method, path, loss)
      else sandbox.fault({ op: endpoint, match: target, times: 1, respond: faultOf[loss] })
      const ended = await write(planned)
      return { operation, hop, loss, ended, effects: effects(sandbox, planned) }
    }),
  )
}
