// One run, with its tasks and the deletions that it holds back.

import type { Queryable } from '../database/sql.ts'
import { findRun, type Run } from '../state/runs.ts'
import { heldKeyFacts, taskFacts } from './queries.ts'

export type RunDetails = {
  readonly run: Run
  readonly tasks: Awaited<ReturnType<typeof taskFacts>>
  readonly held: Awaited<ReturnType<typeof heldKeyFacts>>
}

const shownKeys = 50

/** Reads it; null when there is no such run. */
export async function runDetails(db: Queryable, id: string): Promise<RunDetails | null> {
  const run = await findRun(db, id)
  return run && { run, tasks: await taskFacts(db, id), held: await heldKeyFacts(db, id, shownKeys) }
}
