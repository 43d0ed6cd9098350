// Moves all open requests on: starts the runs that can start, ends the ones that have nothing left to do. Anybody may call
// it at any time; one advisory lock keeps two from doing the same.

import type { PoolClient } from 'pg'
import { streamNamed, streams } from '../catalog/catalog.ts'
import type { Database } from '../database/database.ts'
import {
  finishRequests,
  finishRun,
  idleRuns,
  type OpenStream,
  openStreams,
  type RunStatus,
  runningStreams,
  startRun,
} from '../state/runs.ts'
import { addTasks, releasePlans } from '../state/tasks.ts'
import { planTask, type StreamProgress, startableStreams, sweepTask } from './plan.ts'

const lists = streams.filter(({ reads }) => reads.kind === 'list').map(({ name }) => name)

export type Advanced = {
  readonly started: readonly string[]
  readonly finished: readonly {
    readonly id: string
    readonly stream: string
    readonly status: RunStatus
    readonly error: string | null
  }[]
}

/** Starts and ends runs until nothing more can be started or ended right now. */
export async function advance(database: Database): Promise<Advanced> {
  return await database.transaction(async (client) => {
    await client.query(`select pg_advisory_xact_lock(hashtext('boat-mirror.advance'))`)
    const finished = await finishIdle(client)
    const started = await startAll(client)
    await releasePlans(client, lists)
    await finishRequests(client)
    return { started, finished }
  })
}

async function finishIdle(client: PoolClient): Promise<Advanced['finished']> {
  const finished: { id: string; stream: string; status: RunStatus; error: string | null }[] = []
  for (const run of await idleRuns(client)) {
    const error = run.failure ?? run.error
    const ended = { id: run.id, stream: run.stream, status: statusOf(run), error }
    await finishRun(client, ended)
    finished.push(ended)
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
  const running = await runningStreams(client)
  const ready = readyByStream(open)
  const started: string[] = []
  for (const [name, requests] of ready) {
    if (running.has(name)) continue
    const first = requests[0]
    if (first === undefined) continue
    const runId = await startRun(client, {
      stream: name,
      trigger: first.trigger,
      full: requests.some((request) => request.full_read),
      requestIds: requests.map((request) => request.request_id),
    })
    await addTasks(client, runId, name, [streamNamed(name).reads.kind === 'list' ? sweepTask : planTask])
    started.push(name)
  }
  return started
}

/** The streams that can start, each with the requests it then serves. Pure. */
export function readyByStream(open: readonly OpenStream[]): ReadonlyMap<string, readonly OpenStream[]> {
  const byRequest = new Map<string, OpenStream[]>()
  for (const each of open) byRequest.set(each.request_id, [...(byRequest.get(each.request_id) ?? []), each])
  const ready = new Map<string, OpenStream[]>()
  for (const streams of byRequest.values()) {
    const startable = new Set(startableStreams(new Map(streams.map((each) => [each.stream, progressOf(each)]))))
    for (const each of streams)
      if (startable.has(each.stream)) ready.set(each.stream, [...(ready.get(each.stream) ?? []), each])
  }
  return ready
}

function progressOf(each: OpenStream): StreamProgress {
  if (each.run_id === null) return 'waiting'
  if (each.run_status !== 'running') return 'finished'
  return each.swept ? 'swept' : 'running'
}
