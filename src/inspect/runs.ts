// Runs and their tasks: one run with what it holds, the running and the finished ones, and what waits. Reads only.

import { sql } from 'kysely'
import { on, type Queryable } from '../database/sql.ts'
import { findRun, type Run } from '../sync/runs/runs.ts'
import { heldKeyPage } from '../sync/runs/sweeps.ts'
import { oneLine } from '../text.ts'

export type RunDetails = {
  readonly run: Run
  readonly tasks: Awaited<ReturnType<typeof taskFacts>>
  readonly held: Awaited<ReturnType<typeof heldKeyPage>>
}

const shownKeys = 50

/** Reads it; null when the run does not exist. */
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

/** Why a run holds its deletions, as names and values, the reason first. */
export function planFacts(plan: unknown): readonly (readonly [name: string, value: string])[] {
  const { sample, ...facts } = plan as Readonly<Record<string, unknown>> & { readonly sample?: readonly Answer[] }
  const names = new Set([...Object.keys(planWords), ...Object.keys(facts)])
  const told = [...names].filter((name) => typeof facts[name] === 'string' || typeof facts[name] === 'number')
  const answers = (sample ?? []).map(({ key, answer }) => `${oneLine(String(key), 40)} ${answer}`)
  return [
    ...told.map((name): [string, string] => [planWords[name] ?? name, String(facts[name])]),
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
  return await on(db)
    .selectFrom('sync.tasks')
    .select((eb) => ['kind', 'status', eb.fn.min('error').as('error')])
    .select([sql<number>`count(*)::int`.as('tasks'), sql<number>`sum(attempts)::int`.as('attempts')])
    .where('run_id', '=', runId)
    .groupBy(['kind', 'status'])
    .orderBy('kind')
    .orderBy('status')
    .execute()
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

const changesOf = sql<number>`(r.inserted + r.updated + r.deleted)::float8`.as('changes')

/** The last finished complete runs of each stream, oldest first. */
export async function recentRuns(db: Queryable, perStream: number): Promise<readonly FinishedRun[]> {
  return await on(db)
    .selectFrom('sync.streams as s')
    .innerJoinLateral(
      (q) =>
        q
          .selectFrom('sync.runs')
          .selectAll()
          .whereRef('stream', '=', 's.stream')
          .where('hot', '=', false)
          .where('record_key', 'is', null)
          .where('trigger', '<>', 'release')
          .where('finished_at', 'is not', null)
          .orderBy('id', 'desc')
          .limit(perStream)
          .as('r'),
      (join) => join.onTrue(),
    )
    .select((eb) => [
      's.stream',
      eb.cast<number>('r.id', 'float8').as('id'),
      'r.status',
      'r.started_at as startedAt',
      sql<number>`extract(epoch from r.finished_at - r.started_at)::float8`.as('seconds'),
      eb.cast<number>('r.read', 'float8').as('read'),
      changesOf,
    ])
    .orderBy('s.stream')
    .orderBy('r.id')
    .execute()
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

/** The running runs, oldest first. */
export async function runningRuns(db: Queryable): Promise<readonly RunningRun[]> {
  return await on(db)
    .selectFrom('sync.runs as r')
    .innerJoinLateral(
      (q) =>
        q
          .selectFrom('sync.tasks')
          .select(sql<number>`count(*)::int`.as('tasks'))
          .select(sql<number>`count(*) filter (where status in ('done', 'failed'))::int`.as('tasksDone'))
          .select(sql<number | null>`max((checkpoint -> 'totals' ->> -1)::float8)`.as('total'))
          .whereRef('run_id', '=', 'r.id')
          .as('t'),
      (join) => join.onTrue(),
    )
    .select((eb) => [
      eb.cast<number>('r.id', 'float8').as('id'),
      'r.stream',
      'r.phase',
      sql<number>`extract(epoch from clock_timestamp() - r.started_at)::float8`.as('seconds'),
      eb.cast<number>('r.read', 'float8').as('read'),
      sql<number | null>`coalesce(r.total, t.total)::float8`.as('total'),
      changesOf,
      eb.cast<number>('r.requests', 'float8').as('requests'),
      't.tasksDone',
      't.tasks',
    ])
    .where('r.status', '=', 'running')
    .orderBy('r.id')
    .execute()
}

/** Requested streams that have not started. */
export async function waitingStreams(db: Queryable): Promise<readonly string[]> {
  const rows = await on(db)
    .selectFrom('sync.request_streams as s')
    .innerJoin('sync.requests as r', 'r.id', 's.request_id')
    .select('s.stream')
    .distinct()
    .where('r.finished_at', 'is', null)
    .where('s.run_id', 'is', null)
    .orderBy('s.stream')
    .execute()
  return rows.map(({ stream }) => stream)
}

/** Open tasks by status. */
export async function openTasks(db: Queryable): Promise<{ readonly waiting: number; readonly running: number }> {
  return await on(db)
    .selectFrom('sync.tasks')
    .select([
      sql<number>`count(*) filter (where status = 'waiting')::int`.as('waiting'),
      sql<number>`count(*) filter (where status = 'running')::int`.as('running'),
    ])
    .where('status', 'in', ['waiting', 'running'])
    .executeTakeFirstOrThrow()
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

/** What the running runs still have to do; null when none runs. */
export async function backlog(db: Queryable): Promise<Backlog | null> {
  const row = await on(db)
    .selectFrom('sync.runs as r')
    // Run by run, by index: without statistics all tasks of all runs would be read.
    .innerJoinLateral(
      (q) =>
        q
          .selectFrom('sync.tasks as t')
          .select(sql<number>`count(*) filter (where t.status in ('done', 'failed'))`.as('done'))
          .select(({ fn }) => fn.countAll().as('all'))
          .whereRef('t.run_id', '=', 'r.id')
          .offset(sql.lit(0))
          .as('t'),
      (join) => join.onTrue(),
    )
    .select([
      sql<number>`count(*)::int`.as('runs'),
      sql<number>`sum(t.done)::int`.as('done'),
      sql<number>`sum(t."all")::int`.as('all'),
      sql<number>`extract(epoch from clock_timestamp() - min(r.started_at))::float8`.as('elapsedS'),
    ])
    .where('r.status', '=', sql.lit('running'))
    .where('t.all', '>', 0)
    .having((eb) => eb.fn.countAll(), '>', 0)
    .executeTakeFirst()
  return row ?? null
}

/** The newest request of this trigger that is not finished; null when there is none. */
export async function openRequest(db: Queryable, trigger: string): Promise<string | null> {
  const request = await on(db)
    .selectFrom('sync.requests')
    .select('id')
    .where('trigger', '=', trigger)
    .where('finished_at', 'is', null)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return request?.id ?? null
}
