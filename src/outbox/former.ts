// A change that was queued in another history of this database: before a promotion or a recovery to a point in time, or in the
// database that this one is a copy of. It may have been sent in a future that is lost, so it is claimed as dispatched and
// verified before anything is sent. There is no evidence of what was there before, but the mirror shows what was known then:
//
//   create, add    It took effect if the API shows exactly one record of this content that the mirror did not hold in that
//                  history. None: it had no effect. Several: `unknown`
//   update         All fields show what it sets: it took effect. All show what was there when it was queued: it had no effect.
//                  Anything else, a later change among it: `unknown`
//   others         decide without evidence, as after any lost answer

import { streamNamed } from '../catalog/catalog.ts'
import { keyText } from '../catalog/keys.ts'
import { identifier, keySql, type Queryable } from '../database/sql.ts'
import { keyObject } from '../mirror/diff-sql.ts'
import { decided } from '../sync/refused-decision.ts'
import type { Delivery, Sent } from './kinds/kind.ts'
import { kindOf } from './kinds/kinds.ts'
import { withResults } from './kinds/shared.ts'
import type { Outcome } from './outcome.ts'
import { mirrorKey, rootOf } from './reads.ts'
import { isUnsettled } from './states.ts'

/** Unsettled changes of the database that this one is a copy of, until you decide about it; null: none. */
export async function copiedChanges(db: Queryable): Promise<{ readonly changes: number; readonly since: Date } | null> {
  const { rows } = await db.query<{ changes: number; since: Date }>(
    `select count(*)::int as changes, case when i.epoch = h.epoch then i.since else clock_timestamp() end as since
     from outbox.installation i cross join sync.history() h join outbox.queue q on q.epoch <> h.epoch and ${isUnsettled('q.status')}
     where case when i.epoch = h.epoch then i.undecided else (i.cluster, i.place) is distinct from (h.cluster, h.place) end
     group by i.epoch, h.epoch, i.since`,
  )
  return rows[0] ?? null
}

/**
 * Decides what became of the database that this one is a copy of.
 * @param undetected nothing inside shows that it is one.
 * @returns how many changes that concerns.
 * @throws BoatMirrorError USAGE, DATABASE_PRIVILEGE
 */
export const settleFormer = async (db: Queryable, state: 'gone' | 'lives', undetected: boolean): Promise<number> =>
  Number(await decided(db, 'outbox.settle_former', [state, undetected, null, 'command']))

type Known = {
  /** Those of the ids that the mirror held in the change's own history. */
  readonly ids: readonly string[]
  /** Whether a complete sync had ended in that history, so that the mirror held what was there. */
  readonly isWhole: boolean
}

/** Which of these records the mirror held in the former history. */
async function knownThen(
  { context, change }: Delivery,
  params: Sent['params'],
  ids: readonly string[],
): Promise<Known> {
  const stream = streamNamed(change.write.stream)
  const keys = ids.map((id) => keyText(mirrorKey(change.write, params, id) ?? []))
  const { rows } = await context.database.pool.query<Known>(
    `select array(select t.id::text from mirror.${identifier(stream.name)} t where ${keySql(stream, 't')} = any($1)
       and not exists (select from mirror.change_log c where c.stream = '${stream.name}' and c.key = ${keyObject(stream.key, 't')}
         and c.operation = 'insert' and c.epoch::text <> q.proof->>'former' and c.changed_at > q.enqueued_at)) as ids,
       exists (select from sync.runs r where r.stream = $3 and r.status = 'done' and not r.hot
         and r.finished_at < (select i.since from outbox.installation i)) as "isWhole"
     from outbox.queue q where q.id = $2`,
    [keys, change.id, rootOf(change.write).stream.name],
  )
  return rows[0] ?? { ids: [], isWhole: false }
}

/**
 * What the change would have sent, with what the mirror knew as its evidence.
 * @returns the outcome where that is already certain. @throws ApiError when what is there now can't be read.
 */
export async function sentFormerly(delivery: Delivery): Promise<Sent | Outcome> {
  const { change } = delivery
  const { evidence } = change
  const kind = kindOf(change.write)
  const sent = await withResults(change, (given) => (kind.formerly ?? kind.prepare)(delivery, given))
  if (!('evidence' in sent)) return laterInstead(sent)
  if (!kind.makesRecord) return { ...sent, evidence: { ...evidence, ...sent.evidence } }
  const { ids, isWhole } = await knownThen(delivery, sent.params, sent.evidence.ids ?? [])
  return { ...sent, evidence: { ...evidence, ...sent.evidence, ids, ...(!isWhole && { unread: true }) } }
}

/** It is not sent before it is verified: a later attempt becomes a later verification. */
const laterInstead = (outcome: Outcome): Outcome =>
  outcome.kind === 'retry' ? { kind: 'verify', delayMs: outcome.delayMs, error: outcome.error } : outcome
