// Marks a change as dispatched: commits what is sent and what was there before, before its request is sent.

import { asRead, type JsonObject } from '../api/wire/json.ts'
import { keyText } from '../catalog/keys.ts'
import { columnsOf, durably, type Queryable } from '../database/sql.ts'
import type { Privacy } from '../privacy/privacy.ts'
import { type Change, storedEvidence } from './change.ts'
import { changeLost } from './claim.ts'
import type { Sent } from './kinds/kind.ts'
import { jsonParameter, type Outcome } from './outcome.ts'
import { hashedFields, isHashed } from './personal.ts'
import { mirrorKey, type Params } from './reads.ts'

/** A change that is about to be sent, and its request. */
export type Departure = { readonly change: Change; readonly sent: Sent }

/** The path of a request with its parameters, as outbox.changes shows it. */
export const shownPath = (endpoint: string, params: Params): string =>
  endpoint
    .slice(endpoint.indexOf(' ') + 1)
    .replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))

/**
 * Checks the conditions of sending (`outbox.why_unsent`) again, because the reads since the claim may take long. The quota is not among
 * them: a request beyond it is not sent. Outdated rules for personal data write nothing. `case` makes
 * Postgres join first: otherwise it checks every change that is `sending`, 4.5 times as often.
 */
const markSql = `with privacy as (select generation from sync.privacy for share)
  update outbox.queue q set departed = true, sent_at = clock_timestamp(), request = s.request::jsonb,
    proof = s.proof::jsonb, record_key = s.record_key, warning = s.warning, looks = 0, error = null, response = null,
    conflict = null
  from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[])
    as s (id, fence, request, proof, record_key, warning)
  where q.id = s.id and q.fence = s.fence and q.status = 'sending' and q.lease_until > clock_timestamp()
    and q.epoch = (select mirror.feed_epoch())
    and (select generation from privacy) = coalesce($7::bigint, (select generation from privacy))
    and ${durably} and case when q.id = s.id then outbox.why_unsent(q) is null end
  returning q.id, q.sent_at`

async function mark(
  db: Queryable,
  departing: readonly Departure[],
  privacy: Privacy | undefined,
): Promise<ReadonlyMap<string, Date>> {
  const rows = departing.map(({ change, sent }) => {
    const { write } = change
    const [method = ''] = write.endpoint.split(' ')
    const shown = hashedFields(privacy, write, asRead(sent.body) as JsonObject)
    const body = write.body.length > 0 ? { body: shown } : {}
    const isHidden = isHashed(shown) || sent.evidence.sent !== undefined
    const evidence = isHidden ? { ...sent.evidence, sent: sent.body } : sent.evidence
    const key = mirrorKey(write, sent.params, null)
    return [
      change.id,
      change.fence,
      jsonParameter({ method, path: shownPath(write.endpoint, sent.params), ...body }),
      jsonParameter(storedEvidence(evidence)),
      key === null ? null : keyText(key),
      sent.warnings.join(' ') || null,
    ]
  })
  const values = [...columnsOf(rows, 6), privacy?.generation() ?? null]
  const marked = await db.query<{ id: string; sent_at: Date }>(markSql, values)
  return new Map(marked.rows.map(({ id, sent_at }) => [id, sent_at]))
}

/** The outcome of a change that could not be marked: it is returned unsent, without an attempt. */
async function stopped(db: Queryable, change: Change): Promise<Outcome> {
  const { rows } = await db.query<{ why: { status: 'queued' | 'failed' | 'expired'; error: string } | null }>(
    `select outbox.why_unsent(q) as why from outbox.queue q
     where q.id = $1 and q.fence = $2 and q.status = 'sending' and q.lease_until > clock_timestamp()`,
    [change.id, change.fence],
  )
  const [row] = rows
  if (row === undefined) throw changeLost(change)
  const { status, error } = row.why ?? { status: 'queued', error: 'It could not be sent yet.' }
  if (status === 'queued') return { kind: 'retry', delayMs: 0, error, heldBack: true }
  return { kind: status, error, response: null, unsent: true }
}

/**
 * Commits what will be sent and what was there before. Only then may the requests be sent. Uses one statement; if it fails, one for each.
 * @returns for each its `sent_at`, or the outcome if it may not be sent any more; rejects with BoatMirrorError LEASE_LOST when another
 * pusher took the change over, or PRIVACY_DIFFERS.
 */
export function markDispatched(
  db: Queryable,
  departing: readonly Departure[],
  privacy?: Privacy,
): readonly Promise<Date | Outcome>[] {
  const together = mark(db, departing, privacy).catch((error: unknown) => {
    if (departing.length === 1) throw error
    return null
  })
  return departing.map(async (departure) => {
    const { change } = departure
    const sentAt = ((await together) ?? (await mark(db, [departure], privacy))).get(change.id)
    if (sentAt !== undefined) return sentAt
    await privacy?.assertCurrent(db)
    return await stopped(db, change)
  })
}
