// Whether the records of a list are only summaries of their singles: asked of the API, remembered for a day.

import type { Page } from '../../api/client.ts'
import type { Json } from '../../api/wire/json.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { ApiError } from '../../errors.ts'
import { contradictPin, getPin, setPin } from '../../state/detected-settings.ts'
import type { Task } from '../../state/tasks.ts'
import type { SyncContext } from '../context.ts'
import { keyOf } from '../project.ts'
import { missingInList } from './summary.ts'

type ListReads = Extract<StreamDef['reads'], { kind: 'list' }>

/** How long a probe of summary lists is trusted, in milliseconds. */
const summaryProbeMs = 24 * 3_600_000
const probedRecords = 3

/** Are the records of this list only summaries of their singles? Probed with the first records, pinned, probed again each day. */
export async function isSummary(
  context: SyncContext,
  task: Pick<Task, 'fullRead'>,
  stream: StreamDef,
  reads: ListReads,
  pages: readonly Page[],
  signal: AbortSignal,
): Promise<boolean> {
  const pinKey = `summary:${stream.name}`
  const pin = await getPin(context.database.pool, pinKey)
  const pinned = pin === null ? undefined : (pin.value as { summary: boolean }).summary
  const fresh = pin !== null && context.clock.now().getTime() - pin.probedAt.getTime() < summaryProbeMs
  if (pinned !== undefined && fresh && !task.fullRead) return pinned
  const { compared, missing, failure } = await compareWithSingles(context, stream, reads, pages, signal)
  if (compared === 0 && pinned === undefined && failure !== undefined) throw failure
  if (compared === 0) return pinned ?? false
  const summary = missing.size > 0
  if (pinned !== undefined && pinned !== summary)
    await contradictPin(context.database.pool, pinKey, `Lists were ${pinned ? '' : 'not '}summaries before.`)
  await setPin(context.database.pool, pinKey, { summary, missing: [...missing].sort().slice(0, 50) })
  return summary
}

/** Compares the first records of a list with their singles, until enough could be read or enough could not. */
async function compareWithSingles(
  context: SyncContext,
  stream: StreamDef,
  reads: ListReads,
  pages: readonly Page[],
  signal: AbortSignal,
): Promise<{ readonly compared: number; readonly missing: ReadonlySet<string>; readonly failure?: ApiError }> {
  const missing = new Set<string>()
  let [compared, unread] = [0, 0]
  let failure: ApiError | undefined
  for (const record of pages.flatMap((page) => page.items)) {
    if (compared === probedRecords || unread === probedRecords) break
    const key = keyOf(stream, record, context.settings.timeZone)?.[0]
    if (key === undefined) continue
    const single = await readSingle(context, reads, key, signal)
    if (single instanceof ApiError) failure = single
    if (single instanceof ApiError || single === undefined) {
      unread += 1
      continue
    }
    compared += 1
    for (const path of missingInList(record, single)) missing.add(path)
  }
  return { compared, missing, ...(failure === undefined ? {} : { failure }) }
}

/** The single of a record; undefined when it is refused or empty, and the error when all attempts failed. */
async function readSingle(
  context: SyncContext,
  { single }: ListReads,
  key: string,
  signal: AbortSignal,
): Promise<Json | ApiError | undefined> {
  try {
    const answer = await context.api.read({ endpoint: single.endpoint, params: { [single.param]: key }, signal })
    return answer.body
  } catch (error) {
    // A single that is refused tells nothing about the list; the details will report it.
    if (error instanceof ApiError && error.kind === 'skip') return undefined
    // One record that cannot be read must not keep all the others from the mirror; where nobody is asked, all wait.
    if (error instanceof ApiError && error.kind === 'retry' && error.code !== 'API_PAUSED') return error
    throw error
  }
}
