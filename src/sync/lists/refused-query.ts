// A list that refuses its extra parameters (order, deactivated records) is read without them: after the first refusal
// the same request is sent without, and only its answer proves that the parameters were refused.

import { ApiError } from '../../errors.ts'
import {
  mayConcernParameters,
  noteRefused,
  refusedParameters,
  withoutParameters,
} from '../../profile/refused-parameters.ts'
import type { Reading, TaskRun } from '../context.ts'
import { resolvePaging } from './paging.ts'
import type { Pass } from './windows.ts'

/** Parameters that the list is known to refuse. */
export const refusedBy = ({ context, stream }: Pick<Reading, 'context' | 'stream'>): Promise<ReadonlySet<string>> =>
  refusedParameters(context.database.pool, stream.name, context.clock)

/** The parameters that make a pass differ from the whole list, or, if there are none, those the list always gets. */
function partedBy({ query: asked }: Pass, always: Readonly<Record<string, string>> = {}): ReadonlySet<string> {
  const own = Object.keys(asked).filter((name) => always[name] !== asked[name])
  return new Set(own.length > 0 ? own : Object.keys(asked))
}

/**
 * Examines the refusal of a pass's first page: is the list answered without the pass's own parameters?
 * @returns true: it is, and they are stored as refused
 */
export async function leaveOut(run: TaskRun<'list'>, pass: Pass, error: unknown): Promise<boolean> {
  const { context, stream, reads } = run
  const names = partedBy(pass, reads.query)
  if (pass.part !== undefined || names.size === 0 || !mayConcernParameters(error)) return false
  if (!(await isAnswered(run, withoutParameters(pass.query, names)))) return false
  const reason = error.message
  await noteRefused(context.database.pool, stream.name, { names: [...names], reason })
  context.log.warn(
    { event: 'parameters_refused', stream: stream.name, parameters: [...names], reason },
    `${stream.name}: the API refuses ${[...names].join(', ')}. For seven days, the list is requested without ${names.size === 1 ? 'it' : 'them'}. ${reason}`,
  )
  return true
}

async function isAnswered(run: TaskRun<'list'>, query: Readonly<Record<string, string>>): Promise<boolean> {
  const { context, reads, signal } = run
  const { paging, pageBase } = await resolvePaging(run, query)
  const call = { endpoint: reads.list, query: { ...query }, paging, pageBase, maxPages: 1, mayBeRefused: true, signal }
  try {
    for await (const _ of context.api.list(call)) return true
    return true
  } catch (error) {
    if (error instanceof ApiError && error.kind !== 'abort') return false
    throw error
  }
}
