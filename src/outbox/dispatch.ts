// Marks a change as dispatched: commits what is sent and what was there before, before its request is sent.

import { asRead, type JsonObject } from '../api/wire/json.ts'
import { keyText } from '../catalog/keys.ts'
import { columnsOf, type Queryable } from '../database/sql.ts'
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
  const marked = await db.query<{ id: string; sent_at: Date }>(
    'select * from outbox.mark_dispatched($1, $2, $3, $4, $5, $6, $7)',
    values,
  )
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
