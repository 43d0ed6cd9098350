// The end of a pass: were all its records answered, each once?

import type { TaskRun } from '../context.ts'
import { byHash, passCounts, stepSize } from '../runs/sweep-ranges.ts'
import { addUpRanges } from './end-steps.ts'
import { type Checkpoint, judgePass, nextPass, nextVariant, passNumber } from './progress.ts'

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
