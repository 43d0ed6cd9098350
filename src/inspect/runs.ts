// Runs and their tasks: one run with its held deletions, the running and the finished runs, and what waits. Reads only.

import type { Queryable } from '../database/sql.ts'
import { findRun, type Run } from '../sync/runs/runs.ts'
import { heldKeyPage } from '../sync/runs/sweeps.ts'
import { oneLine } from '../text.ts'

export type RunDetails = {
  readonly run: Run
  readonly tasks: Awaited<ReturnType<typeof taskFacts>>
  readonly held: Awaited<ReturnType<typeof heldKeyPage>>
}

const shownKeys = 50

export async function runDetails(db: Queryable, id: string): Promise<RunDetails | null> {
  const run = await findRun(db, id)
  return (
    run && { run, tasks: await taskFacts(db, id), held: await heldKeyPage(db, id, { after: '', limit: shownKeys }) }
  )
}

const planWords: Readonly<Record<string, string>> = {
  reason: 'Held because',
  live: 'Records in the mirror',
  seen: 'Records in the list',
  missing: 'Not in the list',
  deletedWithin24Hours: 'Deleted in the last 24 hours',
  parents: 'Parent records that lost rows',
  rows: 'Rows missing from them',
  asked: 'Requested individually',
  gone: 'No longer exist',
  stillThere: 'Still exist',
  notAnswered: 'Not answered',
}

type Answer = { readonly key: unknown; readonly answer: string }

/** Why a run holds its deletions, as names and values. */
export function planFacts(plan: unknown): readonly (readonly [name: string, value: string])[] {
  const { sample, ...facts } = plan as Readonly<Record<string, unknown>> & { readonly sample?: readonly Answer[] }
  const names = new Set([...Object.keys(planWords), ...Object.keys(facts)])
  const shown = [...names].filter((name) => typeof facts[name] === 'string' || typeof facts[name] === 'number')
  const answers = (sample ?? []).map(({ key, answer }) => `${oneLine(String(key), 40)} ${answer}`)
  return [
    ...shown.map((name): [string, string] => [planWords[name] ?? name, String(facts[name])]),
    ...(answers.length === 0 ? [] : [['Sample', answers.join(', ')] as const]),
  ]
}

type TaskFacts = {
  readonly kind: string
  readonly status: string
  readonly tasks: number
  readonly attempts: number
  readonly error: string | null
}

/** The tasks of a run, counted by kind and status. */
async function taskFacts(db: Queryable, runId: string): Promise<readonly TaskFacts[]> {
  const { rows } = await db.query<TaskFacts>(
    `select kind, status, min(error) as error, count(*)::int as tasks, sum(attempts)::int as attempts
     from sync.tasks where run_id = $1 group by kind, status order by kind, status`,
    [runId],
  )
  return rows
}

export type FinishedRun = {
  readonly stream: string
  readonly id: number
  readonly status: string
  readonly startedAt: Date
  readonly seconds: number
  readonly read: number
  readonly changes: number
}

/** The last finished complete runs of each stream, oldest first. */
export async function recentRuns(db: Queryable, perStream: number): Promise<readonly FinishedRun[]> {
  const { rows } = await db.query<FinishedRun>(
    `select s.stream, r.id::float8 as id, r.status, r.started_at as "startedAt",
       extract(epoch from r.finished_at - r.started_at)::float8 as seconds, r.read::float8 as read,
       (r.inserted + r.updated + r.deleted)::float8 as changes
     from sync.streams s cross join lateral (select * from sync.runs
       where stream = s.stream and not hot and record_key is null and trigger <> 'release' and finished_at is not null
       order by id desc limit $1) r
     order by s.stream, r.id`,
    [perStream],
  )
  return rows
}

export type RunningRun = {
  readonly id: number
  readonly stream: string
  readonly phase: string
  readonly seconds: number
  readonly read: number
  /** Records in the list, if the API reports it. */
  readonly total: number | null
  readonly changes: number
  readonly requests: number
  readonly tasksDone: number
  readonly tasks: number
}

/** The running runs, oldest first. Tasks are counted run by run: without statistics, a join would read those of all runs. */
export async function runningRuns(db: Queryable): Promise<readonly RunningRun[]> {
  const { rows } = await db.query<RunningRun>(
    `select r.id::float8 as id, r.stream, r.phase, extract(epoch from clock_timestamp() - r.started_at)::float8 as seconds,
       r.read::float8 as read, coalesce(r.total, t.total)::float8 as total, (r.inserted + r.updated + r.deleted)::float8 as changes,
       r.requests::float8 as requests, t."tasksDone", t.tasks
     from sync.runs r cross join lateral (
       select count(*)::int as tasks, count(*) filter (where status in ('done', 'failed'))::int as "tasksDone",
         max((checkpoint -> 'totals' ->> -1)::float8) as total
       from sync.tasks where run_id = r.id offset 0) t
     where r.status = 'running' order by r.id`,
  )
  return rows
}

export async function waitingStreams(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ stream: string }>(
    `select distinct s.stream from sync.request_streams s join sync.requests r on r.id = s.request_id
     where r.finished_at is null and s.run_id is null order by s.stream`,
  )
  return rows.map(({ stream }) => stream)
}

type OpenTasks = { readonly waiting: number; readonly running: number }

export async function openTasks(db: Queryable): Promise<OpenTasks> {
  const { rows } = await db.query<OpenTasks>(
    `select count(*) filter (where status = 'waiting')::int as waiting, count(*) filter (where status = 'running')::int as running
     from sync.tasks where status in ('waiting', 'running')`,
  )
  return rows[0] ?? { waiting: 0, running: 0 }
}

export type Backlog = {
  /** Running runs. */
  readonly runs: number
  /** Their tasks: done, and in total. */
  readonly done: number
  readonly all: number
  /** Since the oldest of them started, in seconds. */
  readonly elapsedS: number
}

/** What the running runs that have tasks still have to do; null when none runs. Pure. */
export function backlogOf(running: readonly RunningRun[]): Backlog | null {
  const busy = running.filter(({ tasks }) => tasks > 0)
  if (busy.length === 0) return null
  return {
    runs: busy.length,
    done: busy.reduce((sum, { tasksDone }) => sum + tasksDone, 0),
    all: busy.reduce((sum, { tasks }) => sum + tasks, 0),
    elapsedS: Math.max(...busy.map(({ seconds }) => seconds)),
  }
}

/** The newest request of this trigger that is not finished; null when there is none. */
export async function openRequest(db: Queryable, trigger: string): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>(
    'select id from sync.requests where trigger = $1 and finished_at is null order by id desc limit 1',
    [trigger],
  )
  return rows[0]?.id ?? null
}
