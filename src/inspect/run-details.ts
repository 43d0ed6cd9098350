// One run, with its tasks and the deletions that it holds back.

import type { Queryable } from '../database/sql.ts'
import { findRun, type Run } from '../sync/runs/runs.ts'
import { oneLine } from '../text.ts'
import { heldKeyFacts, taskFacts } from './queries.ts'

export type RunDetails = {
  readonly run: Run
  readonly tasks: Awaited<ReturnType<typeof taskFacts>>
  readonly held: Awaited<ReturnType<typeof heldKeyFacts>>
}

const shownKeys = 50

/** Reads it; null when the run does not exist. */
export async function runDetails(db: Queryable, id: string): Promise<RunDetails | null> {
  const run = await findRun(db, id)
  return run && { run, tasks: await taskFacts(db, id), held: await heldKeyFacts(db, id, shownKeys) }
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
