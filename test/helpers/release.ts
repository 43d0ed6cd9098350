// Lets the deletions happen that a run of a test mirror holds, as `sync.release` does.

import { advance } from '../../src/sync/advance.ts'
import { decideStream, findDecision } from '../../src/sync/decisions.ts'
import type { TestMirror } from './mirror.ts'

/** Decides, and starts the run that carries it out. @returns its id */
export async function startRelease({ app, config }: TestMirror, heldRun: number): Promise<string> {
  const { pool } = app.database
  const decision = await decideStream(pool, 'release', String(heldRun), { via: 'command' })
  await advance(app.database, config)
  const { resultId = null, error = null } = (await findDecision(pool, decision)) ?? {}
  if (resultId === null) throw new Error(`The release did not start: ${error ?? 'a run of the stream is running'}.`)
  return resultId
}
