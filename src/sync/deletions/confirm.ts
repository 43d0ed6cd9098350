// Confirming deletions: what a sweep did not see is asked for by its single endpoint.

import { streamNamed } from '../../catalog/catalog.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { keyParts } from '../../state/records.ts'
import { addCounts } from '../../state/runs.ts'
import { heldKeys, holdDeletions, markReleased } from '../../state/sweeps.ts'
import { endTask, type Task } from '../../state/tasks.ts'
import { batches, mapConcurrently } from '../batches.ts'
import { commitWork } from '../commit.ts'
import type { SyncContext } from '../context.ts'
import { readSingleRecord } from '../details/single.ts'
import { addWork, emptyWork, type Work } from '../work.ts'

type ConfirmPayload = {
  readonly keys: readonly string[]
  /** Why the list is suspicious; null: an ordinary absence. */
  readonly reason: string | null
  /** How many records the sweep missed in all. */
  readonly all: number
  /** Only a sample is asked for, and nothing is deleted. */
  readonly hold?: boolean
}

type Asked = { readonly key: string; readonly kind: 'there' | 'gone' | 'failed'; readonly work: Work }

async function ask(context: SyncContext, stream: StreamDef, key: string, signal: AbortSignal): Promise<Asked> {
  const { outcome, work } = await readSingleRecord(context, stream, key, signal)
  if (outcome.kind === 'gone') return { key, kind: 'gone', work }
  if (outcome.kind === 'there') return { key, kind: 'there', work }
  const reason = outcome.kind === 'failed' ? outcome.reason : 'The single read answered without a record.'
  work.problems.push(`${stream.name} ${key} could not be confirmed as deleted: ${reason}`)
  return { key, kind: 'failed', work }
}

const tombstoneOf = (stream: StreamDef, keys: readonly string[], readAt: Date): Work['tombstones'][number] => ({
  stream,
  keys: keys.map((key) => keyParts(stream, key)),
  source: stream.reads.kind === 'list' ? stream.reads.single.endpoint : '',
  readAt,
})

/** Asks for every key of the task; 404 and 410 make the tombstone, an answer means that paging skipped the record. */
export async function runConfirm(context: SyncContext, task: Task, signal: AbortSignal): Promise<void> {
  const stream = streamNamed(task.stream)
  const payload = task.payload as ConfirmPayload
  if (payload.reason === null) await confirmEach(context, task, stream, payload.keys, signal)
  else await confirmTogether(context, task, stream, { ...payload, reason: payload.reason }, signal)
}

async function confirmEach(
  context: SyncContext,
  task: Task,
  stream: StreamDef,
  keys: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const asked = mapConcurrently(keys, context.settings.api.concurrency, (key) => ask(context, stream, key, signal))
  for await (const batch of batches(asked, { limit: 500, lingerMs: 50 })) {
    const work = emptyWork()
    for (const one of batch) addWork(work, one.work)
    const gone = batch.filter((one) => one.kind === 'gone').map((one) => one.key)
    if (gone.length > 0) work.tombstones.push(tombstoneOf(stream, gone, context.clock.now()))
    await commitWork(context, task, work)
  }
  await endTask(context.database.pool, task, { error: null })
}

/**
 * The list is suspicious: nothing is deleted before every answer is in. If one of the missing records answers, the list was
 * wrong, and the deletions of this sweep wait for a person.
 */
async function confirmTogether(
  context: SyncContext,
  task: Task,
  stream: StreamDef,
  payload: ConfirmPayload & { readonly reason: string },
  signal: AbortSignal,
): Promise<void> {
  const work = emptyWork()
  const results: Asked[] = []
  for await (const one of mapConcurrently(payload.keys, context.settings.api.concurrency, (key) =>
    ask(context, stream, key, signal),
  )) {
    results.push(one)
    addWork(work, one.work)
  }
  const keysOf = (kind: Asked['kind']): readonly string[] =>
    results.filter((one) => one.kind === kind).map((one) => one.key)
  const gone = keysOf('gone')
  const allGone = gone.length === payload.keys.length
  if (allGone && payload.hold !== true) work.tombstones.push(tombstoneOf(stream, gone, context.clock.now()))
  await commitWork(context, task, work, {
    also: async (client) => {
      if (!allGone && payload.hold !== true) {
        await holdDeletions(client, task.runId, gone, { reason: payload.reason, missing: payload.all })
        await addCounts(client, task.runId, { held: payload.all })
      }
      await client.query(`update sync.runs set plan = coalesce(plan, '{}') || $2::jsonb where id = $1 and held > 0`, [
        task.runId,
        JSON.stringify({
          asked: results.length,
          gone: gone.length,
          stillThere: keysOf('there').length,
          notAnswered: keysOf('failed').length,
          sample: results.slice(0, 20).map(({ key, kind }) => ({ key, answer: kind })),
        }),
      ])
    },
  })
  if (!allGone || payload.hold === true)
    context.log.warn(
      {
        event: 'deletions_held',
        stream: stream.name,
        run: task.runId,
        missing: payload.all,
        asked: results.length,
        gone: gone.length,
      },
      `${payload.reason} Nothing was deleted. Look at it with: boat-mirror runs; let it happen with: boat-mirror runs release ${task.runId}`,
    )
  await endTask(context.database.pool, task, { error: null })
}

/** Carries out what a person released: each held record is asked for, and tombstoned when it is gone. */
export async function runRelease(context: SyncContext, task: Task, signal: AbortSignal): Promise<void> {
  const { heldRunId } = task.payload as { readonly heldRunId: string }
  const keys = await heldKeys(context.database.pool, heldRunId)
  await confirmEach(context, task, streamNamed(task.stream), keys, signal)
  // Only now: a worker that is killed on the way must find its keys again.
  await markReleased(context.database.pool, heldRunId)
}
