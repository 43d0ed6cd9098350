// The outbox: how many changes are in each state. Reads only.

import { literal, type Queryable } from '../database/sql.ts'
import { doneChanges } from '../mirror/kept-counts.ts'

type OutboxFacts = {
  /** How many changes are in each state; states without changes are missing. */
  readonly counts: Readonly<Record<string, number>>
  /** The oldest change in each of these states, by its id. */
  readonly first: Readonly<Record<string, number>>
  /** When the first of those in each state was settled; states of unsettled changes are missing. */
  readonly settledSince: Readonly<Record<string, Date>>
  /** When the oldest queued change was enqueued. */
  readonly oldestQueuedAt: Date | null
}

/** States by the index that finds their changes. */
const indexedStates = [
  ['queued', 'sending', 'conflict', 'unknown'],
  ['failed', 'expired', 'canceled', 'blocked'],
] as const

/** Counts the changes by state. The number of done changes is stored. */
export async function outboxFacts(db: Queryable): Promise<OutboxFacts> {
  const rows = (await Promise.all(indexedStates.map((states) => changesIn(db, states)))).flat()
  const done = await doneChanges(db)
  const counts = rows.map(({ status, count }) => [status, count] as const)
  return {
    counts: Object.fromEntries([...counts, ['done', done]]),
    first: Object.fromEntries(rows.map(({ status, first }) => [status, Number(first)])),
    settledSince: Object.fromEntries(
      rows.flatMap(({ status, settled }) => (settled === null ? [] : [[status, settled]])),
    ),
    oldestQueuedAt: rows.find(({ status }) => status === 'queued')?.oldest ?? null,
  }
}

type ChangesOfState = { status: string; first: string; oldest: Date; settled: Date | null; count: number }

/** The states are literals, because parameters would not match the predicates of the indexes. */
async function changesIn(db: Queryable, states: readonly string[]): Promise<readonly ChangesOfState[]> {
  const { rows } = await db.query<ChangesOfState>(
    `select status, min(id) as first, min(enqueued_at) as oldest, min(settled_at) as settled, count(*)::int as count
     from outbox.queue where status in (${states.map(literal).join(', ')}) group by status order by status`,
  )
  return rows
}
