// Confirms deletions: records that a sweep did not see are requested by their single endpoint, and held records when
// an operator releases them.

import type { PoolClient } from 'pg'
import { keyParts } from '../../catalog/keys.ts'
import { batches, mapConcurrently } from '../batches.ts'
import { changeSet, type Found } from '../change-set.ts'
import { listReading, type Reading, type TaskRun } from '../context.ts'
import { closeDecision, openDecisions, planChanged } from '../decisions.ts'
import { readDetails } from '../details/details.ts'
import { readSingleRecord } from '../details/single.ts'
import { judgeLeftOut } from '../lists/windows.ts'
import { isInTheWay, priorities } from '../plan.ts'
import { addCounts, noteRunError, runningRuns, startRun } from '../runs/runs.ts'
import { addToPlan, heldKeys, holdDeletions, markReleased, takeBackHeld } from '../runs/sweeps.ts'
import { addTasks } from '../runs/tasks.ts'
import { aboveOf, logHeld } from './below.ts'

type ConfirmPayload = {
  readonly keys: readonly string[]
  /** Why the list is suspicious; null: an ordinary absence. */
  readonly reason: string | null
  /** How many records the sweep missed in all. */
  readonly all: number
  /** Requests only a sample, and deletes nothing. */
  readonly hold?: boolean
}

type Asked = { readonly key: string; readonly kind: 'there' | 'gone' | 'failed'; readonly found: Found }

async function ask(reading: Reading<'list'>, key: string): Promise<Asked> {
  const { outcome, found } = await readSingleRecord(reading, key)
  if (outcome.kind === 'gone' || outcome.kind === 'there') return { key, kind: outcome.kind, found }
  const problem = `${reading.stream.name} ${key} could not be confirmed as deleted: ${outcome.reason}`
  return { key, kind: 'failed', found: changeSet([found, { problems: [problem] }]) }
}

const keysOf = (asked: readonly Asked[], kind: Asked['kind']): readonly string[] =>
  asked.filter((one) => one.kind === kind).map((one) => one.key)

/** Tombstones of those that are gone. */
function goneFound({ context, stream, reads }: Reading<'list'>, asked: readonly Asked[]): Found {
  const keys = keysOf(asked, 'gone').map((key) => keyParts(stream, key))
  const { endpoint: source } = reads.single
  return keys.length === 0 ? {} : { tombstones: [{ stream, keys, source, readAt: context.clock.now() }] }
}

/** Asks for every key of the task; 404 and 410 make the tombstone, an answer means that paging skipped the record. */
export async function runConfirm(run: TaskRun<'list'>): Promise<void> {
  const payload = run.task.payload as ConfirmPayload
  if (payload.reason === null) await confirmEach(run, payload.keys)
  else await confirmTogether(run, { ...payload, reason: payload.reason })
}

const askAll = (run: TaskRun<'list'>, keys: readonly string[]): AsyncGenerator<Asked> =>
  mapConcurrently(keys, run.context.settings.api.concurrency, (key) => ask(run, key))

async function confirmEach(run: TaskRun<'list'>, keys: readonly string[]): Promise<void> {
  const there: string[] = []
  for await (const batch of batches(askAll(run, keys), { limit: 500, lingerMs: 50 })) {
    await run.writer.commit(run, changeSet([...batch.map(({ found }) => found), goneFound(run, batch)]))
    there.push(...keysOf(batch, 'there'))
  }
  const doubt = await judgeLeftOut(run, there)
  if (doubt !== null) await noteRunError(run.context.database.pool, run.task.runId, doubt)
  await run.writer.end(run)
}

/**
 * The list is suspicious: nothing is deleted before every answer has arrived. If one of the missing records answers,
 * the list was wrong, and the deletions of this sweep are held.
 */
async function confirmTogether(
  run: TaskRun<'list'>,
  { keys, reason, all, hold = false }: ConfirmPayload & { readonly reason: string },
): Promise<void> {
  const { context, task, writer } = run
  const asked: Asked[] = []
  for await (const one of askAll(run, keys)) asked.push(one)
  const gone = keysOf(asked, 'gone')
  const allGone = gone.length === keys.length
  const deleted = allGone && !hold ? [goneFound(run, asked)] : []
  await writer.commit(run, changeSet([...asked.map(({ found }) => found), ...deleted]), {
    also: async (client) => {
      if (allGone && !hold) return
      if (!hold) {
        await holdDeletions(client, task.runId, [gone], { reason, missing: all })
        await addCounts(client, task.runId, { held: all })
      }
      await addToPlan(client, task.runId, {
        asked: asked.length,
        gone: gone.length,
        stillThere: keysOf(asked, 'there').length,
        notAnswered: keysOf(asked, 'failed').length,
        sample: asked.slice(0, 20).map(({ key, kind }) => ({ key, answer: kind })),
      })
    },
  })
  const doubt = await judgeLeftOut(run, keysOf(asked, 'there'))
  if (doubt !== null)
    await context.database.transaction(async (client) => {
      await takeBackHeld(client, task.runId)
      await noteRunError(client, task.runId, doubt)
    })
  else if (!allGone || hold)
    logHeld(run, `${reason} Nothing was deleted.`, { missing: all, asked: asked.length, gone: gone.length })
  await writer.end(run)
}

/**
 * Starts the runs that carry out releases; called under the lock that starting runs requires. A decision waits while
 * a run of the stream is running: two never overlap.
 * @returns the streams of the runs it started
 */
export async function startReleases(client: PoolClient): Promise<readonly string[]> {
  const started: string[] = []
  for (const { id, target, plan } of await openDecisions(client, 'run')) {
    const heldRunId = target.slice('run:'.length)
    const { rows } = await client.query<{ stream: string; plan: string | null }>(
      'select r.stream, sync.plan_of_run(r.id, $2) as plan from sync.runs r where r.id = $1',
      [heldRunId, id],
    )
    const [held] = rows
    if (held === undefined || held.plan !== plan) {
      await closeDecision(client, id, { error: planChanged })
      continue
    }
    const release = { stream: held.stream, hot: false }
    if ((await runningRuns(client)).some((run) => isInTheWay(run, release))) continue
    const runId = await startRun(client, { ...release, trigger: 'release', full: false, requestIds: [] })
    await addTasks(client, runId, held.stream, [
      { kind: 'release', priority: priorities.release, payload: { heldRunId } },
    ])
    await closeDecision(client, id, { resultId: runId })
    started.push(held.stream)
  }
  return started
}

/**
 * Carries out a release: each held record is requested, and becomes a tombstone when it is gone. For rows below
 * records, the records' rows are requested again, and those still missing are deleted.
 */
export async function runRelease(run: TaskRun): Promise<void> {
  const { pool } = run.context.database
  const { stream } = run
  const { heldRunId } = run.task.payload as { readonly heldRunId: string }
  const keys = await heldKeys(pool, heldRunId)
  const releasing = { ...run, released: new Set(keys) }
  if (stream.reads.kind === 'list') await confirmEach(listReading(releasing, stream), keys)
  else {
    await readDetails(
      releasing,
      aboveOf(
        stream,
        keys.map((key) => keyParts(stream, key)),
      ),
    )
    await run.writer.end(run)
  }
  // Only now: a worker that is killed on the way must find its keys again.
  await markReleased(pool, heldRunId)
}
