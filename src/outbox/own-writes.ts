// What our own changes wrote a moment ago: the API may not show it yet.

import { showDelayOf } from './context.ts'
import type { Delivery, Verdict } from './kinds/kind.ts'
import { gone, type Outcome, type Unseen } from './outcome.ts'
import { checkAgain } from './show-delay.ts'

/**
 * A recent write of ours to the change's record, or its creation, which is searched longest; null: none recently. One that lies
 * ahead of the database's clock was not: that was set back.
 */
async function writtenLately({ context, change, startedAt }: Delivery): Promise<Unseen | null> {
  const delay = showDelayOf(context)
  const { rows } = await context.database.pool.query<{ written_ms: number | null; made_ms: number | null }>(
    `select min(w.ago_ms) as written_ms, min(w.ago_ms) filter (where w.made) as made_ms
     from (select o.kind = 'create' or d.depends_on is not null as made,
             greatest(0, extract(epoch from $4::timestamptz - c.settled_at) * 1000)::float8 as ago_ms
           from outbox.queue c join outbox.operations o using (operation)
             left join outbox.dependencies d on d.change_id = $1 and d.depends_on = c.id
           where c.status = 'done' and c.id <> $1 and c.settled_at > $4::timestamptz - $3 * interval '1 ms' and c.settled_at < $4::timestamptz + interval '2 s'
             and (c.aggregate = $2 or d.depends_on is not null)) w`,
    [change.id, change.aggregate, delay.longestMs, startedAt],
  )
  const { written_ms = null, made_ms = null } = rows[0] ?? {}
  if (made_ms !== null) return { sinceMs: made_ms, patienceMs: delay.longestMs }
  const sinceMs = delay.lastWrite(change.aggregate)?.sinceMs ?? written_ms
  return sinceMs === null ? null : { sinceMs, patienceMs: delay.ms() }
}

/** When to search again for a missing record that a change of ours just wrote. Null: it does not exist. */
export async function awaited(delivery: Delivery): Promise<ReturnType<typeof checkAgain>> {
  const written = await writtenLately(delivery)
  return written === null ? null : checkAgain(written)
}

/** The outcome for a record that is not there before anything was sent: gone, or not to be seen yet. */
export async function goneOrAwaited(delivery: Delivery): Promise<Outcome> {
  const again = await awaited(delivery)
  return again === null ? gone(delivery.change) : { kind: 'retry', heldBack: true, ...again }
}

/**
 * After a successful answer: when to read the record again, because it shows nothing of the write yet. Null: its
 * present content counts.
 */
export function notShown({ context, change, knownMs }: Delivery, verdict: Verdict): Outcome | null {
  if (verdict.kind !== 'not' && verdict.kind !== 'gone') return null
  const sinceMs = change.evidence.answered ? knownMs : 0
  const again = checkAgain({ sinceMs, patienceMs: showDelayOf(context).ms() })
  return again === null ? null : { kind: 'verify', answered: true, ...again }
}
