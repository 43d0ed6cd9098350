// Advances all open requests: starts the runs that can start, ends those with nothing left to do. May be called at
// any time, by any worker; one advisory lock prevents duplicates.

import type { PoolClient } from 'pg'
import { streamNamed, streams } from '../catalog/catalog.ts'
import { type Turn, turnName } from '../catalog/turns.ts'
import type { Database } from '../database/database.ts'
import { startReleases } from './deletions/confirm.ts'
import { dropPaused, finishRequests, type OpenStream, openStreams } from './due/requests.ts'
import {
  isInTheWay,
  type PlanSettings,
  planTask,
  priorities,
  type StreamProgress,
  startableStreams,
  sweepTask,
} from './plan.ts'
import { planRefreshes } from './refresh.ts'
import { finishRun, idleRuns, type Run, type RunStatus, refreshTrigger, runningRuns, startRun } from './runs/runs.ts'
import { addTasks, releasePlans } from './runs/tasks.ts'

const lists = streams.filter(({ reads }) => reads.kind === 'list').map(({ name }) => name)

type Advanced = {
  readonly started: readonly string[]
  readonly finished: readonly Run[]
}

/** Starts and ends runs until nothing more can be started or ended right now; `settings` say which streams are read. */
export async function advance(database: Database, settings: PlanSettings): Promise<Advanced> {
  return await database.transaction(async (client) => {
    await client.query(`select pg_advisory_xact_lock(hashtext('boat-mirror.advance'))`)
    const finished = await finishIdle(client)
    await planRefreshes(client, settings)
    const released = await startReleases(client)
    await dropPaused(client)
    const started = [...released, ...(await startAll(client))]
    await releasePlans(client, lists)
    await finishRequests(client)
    return { started, finished }
  })
}

async function finishIdle(client: PoolClient): Promise<Advanced['finished']> {
  const finished: Run[] = []
  for (const run of await idleRuns(client)) {
    if (run.isUndecided && !run.failedKinds.includes('confirm')) {
      await addTasks(client, run.id, run.stream, [{ kind: 'confirm', reason: 'missing', priority: priorities.confirm }])
      continue
    }
    const error = run.failure ?? run.error
    finished.push(await finishRun(client, { id: run.id, stream: run.stream, status: statusOf(run), error }))
  }
  return finished
}

type Idle = Awaited<ReturnType<typeof idleRuns>>[number]

/** What an ended run is called. Pure. */
export function statusOf(run: Pick<Idle, 'held' | 'error' | 'read' | 'failedKinds'>): RunStatus {
  if (run.failedKinds.includes('sweep') || run.failedKinds.includes('plan')) return 'failed'
  if (run.held > 0) return 'held'
  if (run.error === null && run.failedKinds.length === 0) return 'done'
  return run.read === 0 ? 'failed' : 'partial'
}

async function startAll(client: PoolClient): Promise<readonly string[]> {
  const open = await openStreams(client)
  if (open.every((each) => each.run_id !== null)) return []
  const running = [...(await runningRuns(client))]
  const started: string[] = []
  for (const { stream, hot, requests } of readyRuns(open)) {
    const first = requests.find(({ trigger }) => trigger === refreshTrigger) ?? requests[0]
    if (first === undefined || running.some((run) => isInTheWay(run, { stream, hot }))) continue
    const runId = await startRun(client, {
      ...{ stream, hot, trigger: first.trigger },
      full: requests.some((request) => request.full_read),
      requestIds: requests.map((request) => request.request_id),
    })
    const task = streamNamed(stream).reads.kind === 'list' ? sweepTask : planTask
    const { asked } = priorities
    await addTasks(client, runId, stream, [first.trigger === refreshTrigger ? { ...task, priority: asked } : task])
    running.push({ stream, hot, swept: false })
    started.push(turnName({ stream, hot }))
  }
  return started
}

type ReadyRun = Turn & { readonly requests: readonly OpenStream[] }

/** The runs that can start, each with the requests it then serves. Pure. */
export function readyRuns(open: readonly OpenStream[]): readonly ReadyRun[] {
  const byRequest = new Map<string, OpenStream[]>()
  for (const each of open) byRequest.set(each.request_id, [...(byRequest.get(each.request_id) ?? []), each])
  const ready = new Map<string, ReadyRun>()
  for (const streams of byRequest.values()) {
    const startable = new Set(startableStreams(new Map(streams.map((each) => [each.stream, progressOf(each)]))))
    for (const each of streams) {
      if (!startable.has(each.stream)) continue
      const name = turnName(each)
      ready.set(name, { stream: each.stream, hot: each.hot, requests: [...(ready.get(name)?.requests ?? []), each] })
    }
  }
  return [...ready.values()]
}

function progressOf(each: OpenStream): StreamProgress {
  if (each.run_id === null) return 'waiting'
  if (each.run_status !== 'running') return 'finished'
  return each.swept ? 'swept' : 'running'
}
