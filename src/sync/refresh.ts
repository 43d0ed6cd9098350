// Requested refreshes: a stream, as a sync of it, or one record with its details, in a separate run.

import type { PoolClient } from 'pg'
import { childrenOf, findStream, parentOf } from '../catalog/catalog.ts'
import { keyParts, keyText } from '../catalog/keys.ts'
import type { StreamDef } from '../catalog/types.ts'
import { type SyncContext, type TaskRun, taskRun } from './context.ts'
import { readDetails } from './details/details.ts'
import { nextReads } from './due/due.ts'
import { addRequestStreams, type NewRefresh, newRefreshes, refuseRequest } from './due/refreshes.ts'
import { dueSettings, isEnabled, type PlanSettings, priorities, streamsToRead } from './plan.ts'
import { type KnownRecord, knownRecords } from './remembered/known-records.ts'
import { noteRunError, refreshTrigger, startRun } from './runs/runs.ts'
import { addTasks } from './runs/tasks.ts'

/** The same context, whose reads go before everything scheduled. */
export const askingFirst = (context: SyncContext): SyncContext => ({
  ...context,
  api: {
    ...context.api,
    read: (call) => context.api.read({ ...call, priority: 'asked' }),
    list: (call) => context.api.list({ ...call, priority: 'asked' }),
  },
})

/** Says what the refreshes that came are to read: of one record its run starts at once, beside whatever runs. */
export async function planRefreshes(client: PoolClient, settings: PlanSettings): Promise<void> {
  for (const refresh of await newRefreshes(client)) {
    const stream = findStream(refresh.stream)
    if (stream === undefined || !isEnabled(stream, settings))
      await refuseRequest(client, refresh.id, `The configuration turns off ${refresh.stream}.`)
    else if (refresh.isPaused) await refuseRequest(client, refresh.id, `${refresh.stream} is paused.`)
    else if (refresh.key === null)
      await addRequestStreams(client, refresh.id, streamsToRead([refresh.stream], settings))
    else await startRecord(client, refresh, refresh.key)
  }
}

async function startRecord(client: PoolClient, { id, stream }: NewRefresh, recordKey: string): Promise<void> {
  const wanted = { stream, hot: false, trigger: refreshTrigger, full: true, requestIds: [], recordKey }
  const runId = await startRun(client, wanted)
  await addRequestStreams(client, id, [stream], runId)
  await addTasks(client, runId, stream, [
    { kind: 'refresh', priority: priorities.asked, payload: { keys: [recordKey] } },
  ])
}

/** Reads the record, then what hangs on it, as deep as it goes. */
export async function runRefresh(run: TaskRun): Promise<void> {
  const { stream, task, writer } = run
  const { keys } = task.payload as { readonly keys: readonly [string] }
  const [key] = keys
  const parts = keyParts(stream, key)
  const parent = parentOf(stream)
  const isThere =
    parent === undefined
      ? await readListed(run, stream, key)
      : await readBelowParent(run, parent, keyText(parts.slice(0, parent.key.length)))
  if (isThere) await readBelow(run, stream, parts)
  await writer.end(run)
}

/** Reads a record of a list; false: the API shows none. */
async function readListed(run: TaskRun, stream: StreamDef, key: string): Promise<boolean> {
  await readDetails(runOf(run, stream), [key])
  const known = await rowOf(run, stream, key)
  if (known?.exists !== true)
    await noteRunError(
      run.context.database.pool,
      run.task.runId,
      `Neither the API nor the mirror has ${stream.name} ${key}.`,
    )
  return known?.alive === true
}

/** Reads what a record below another is read with; false: what it hangs below is not there. */
async function readBelowParent(run: TaskRun, parent: StreamDef, key: string): Promise<boolean> {
  const { stream, context, task } = run
  if (stream.reads.kind === 'inside') return await readListed(run, parent, key)
  if ((await rowOf(run, parent, key))?.alive === true) {
    await readDetails(run, [key])
    return true
  }
  const remedy = `boat-mirror refresh ${parent.name} ${keyParts(parent, key).join(' ')}`
  const problem = `The mirror has no ${parent.name} ${key}, and ${stream.name} are read below it. Refresh it first: ${remedy}`
  await noteRunError(context.database.pool, task.runId, problem)
  return false
}

/** Reads the details below a record, and those below these. */
async function readBelow(run: TaskRun, stream: StreamDef, parts: readonly string[]): Promise<void> {
  const { database, settings } = run.context
  const children = childrenOf(stream.name).filter(({ reads }) => reads.kind !== 'inside')
  for (const child of children.filter((each) => isEnabled(each, settings))) {
    const below = await nextReads(database.pool, child, parts, dueSettings(run.context))
    await readDetails(
      runOf(run, child),
      below.map(({ key }) => key),
    )
    await readBelow(run, child, parts)
  }
}

/** The same task, as it reads another stream; what it changes there is counted as well. */
const runOf = ({ context, task, writer, signal }: TaskRun, stream: StreamDef): TaskRun =>
  taskRun(context, { ...task, stream: stream.name }, writer, signal)

const rowOf = async ({ context }: TaskRun, stream: StreamDef, key: string): Promise<KnownRecord | undefined> =>
  (await knownRecords(context.database.pool, stream, [key])).get(key)
