// The end of a pass: was each record answered once? Large passes are judged in steps. Each step is a transaction of
// bounded size with its own checkpoint, so that a worker that resumes the task continues where the last one stopped.

import type { Queryable } from '../../database/sql.ts'
import type { TaskRun } from '../context.ts'
import { beforePages, byHash, type Division, dividePages, passCounts, stepSize } from '../runs/sweep-ranges.ts'
import { checkpointTask } from '../runs/tasks.ts'
import { type Checkpoint, type EndProgress, judgePass, nextPass, nextVariant, passNumber } from './progress.ts'

/** Evaluates a pass whose pages are all committed. Returns where to continue. */
export async function endPass(run: TaskRun, at: Checkpoint): Promise<Checkpoint> {
  const { context, task } = run
  const pass = passNumber(at)
  const ranges = Math.max(1, Math.ceil(at.keys / stepSize.rows))
  const facts = await addUpRanges(run, at, {
    ranges,
    division: async () => byHash(pass, ranges),
    factsOf: (db, range) => passCounts(db, { runId: task.runId, pass }, range),
  })
  const verdict = judgePass({ pass: at.pass, ...facts, totals: at.totals, unproven: at.unproven })
  switch (verdict.kind) {
    case 'complete':
      return nextVariant(at)
    case 'partial':
      return { ...nextVariant(at), doubts: [...at.doubts, verdict.reason.replaceAll('<stream>', task.stream)] }
    case 'again':
      context.log.info({ event: 'sweep_again', stream: task.stream, run: task.runId }, verdict.reason)
      return nextPass(at)
    default:
      return verdict satisfies never
  }
}

type Facts<Name extends string> = Readonly<Record<Name, number>>

type Steps<Name extends string> = {
  /** Number of the ranges. */
  readonly ranges: number
  readonly division: () => Promise<Division>
  /** The facts of one range of divided pages; null: of all pages as they are. */
  readonly factsOf: (db: Queryable, range: number | null) => Promise<Facts<Name>>
}

/** Adds up the facts of all ranges. A single range is one statement without a step. @throws LEASE_LOST */
export async function addUpRanges<Name extends string>(
  run: TaskRun,
  at: Checkpoint,
  { ranges, division, factsOf }: Steps<Name>,
): Promise<Facts<Name>> {
  const { context, task, signal } = run
  const { pool } = context.database
  if (ranges === 1) return await factsOf(pool, null)
  let done: EndProgress = at.end ?? { divided: beforePages, ranges: 0, facts: {} }
  const step = async (work: (client: Queryable) => Promise<EndProgress>): Promise<void> => {
    signal.throwIfAborted()
    done = await context.database.transaction(async (client) => {
      const next = await work(client)
      await checkpointTask(client, task, { checkpoint: { ...at, end: next }, counts: {} })
      return next
    })
  }
  const divide = await division()
  for (let from = done.divided; from !== null; from = done.divided) {
    const pages = { from, pages: stepSize.pages }
    await step(async (client) => ({ ...done, divided: await dividePages(client, task.runId, divide, pages) }))
  }
  while (done.ranges < ranges)
    await step(async (client) => {
      const facts = sumOf(done.facts, await factsOf(client, done.ranges))
      return { ...done, ranges: done.ranges + 1, facts }
    })
  return done.facts as Facts<Name>
}

const sumOf = <Name extends string>(before: Readonly<Record<string, number>>, more: Facts<Name>): Facts<Name> => {
  const names = Object.keys(more) as Name[]
  return Object.fromEntries(names.map((name) => [name, (before[name] ?? 0) + more[name]])) as Facts<Name>
}
