// Alerts: the conditions that were sent (sync.alerts), whether the receiver accepts them, and how many are open.

import type { Config } from '../config.ts'
import { type SenderState, senderState } from '../database/senders.ts'
import type { Queryable } from '../database/sql.ts'
import { counted, relative } from '../format.ts'
import { shownReceiver } from '../text.ts'
import { unsent } from './webhook.ts'

type StoredCondition = {
  readonly kind: string
  readonly about: string
  readonly since: Date
  readonly told: boolean
  readonly goneSince: Date | null
}

/** All stored conditions, the oldest first. */
export async function storedConditions(db: Queryable): Promise<readonly StoredCondition[]> {
  const { rows } = await db.query<StoredCondition>(
    'select kind, about, since, told, gone_since as "goneSince" from sync.alerts order by since, kind, about',
  )
  return rows
}

/** Stores these conditions and deletes all others. */
export async function saveConditions(db: Queryable, conditions: readonly StoredCondition[]): Promise<void> {
  await db.query('delete from sync.alerts')
  await db.query(
    `insert into sync.alerts (kind, about, since, told, gone_since)
     select kind, about, since, told, "goneSince" from jsonb_to_recordset($1::jsonb)
       as c (kind text, about text, since timestamptz, told boolean, "goneSince" timestamptz)`,
    [JSON.stringify(conditions)],
  )
}

export type AlertsStatus = Omit<SenderState, 'failingS'> & {
  /** Scheme and host: the rest of the address is a secret. */
  readonly url: string
  /** Conditions sent as started and not ended. */
  readonly open: number
}

/** The state of the messages; null: none are configured. */
export async function alertsStatus(
  db: Queryable,
  { alertUrl }: Pick<Config, 'alertUrl'>,
): Promise<AlertsStatus | null> {
  if (alertUrl === null) return null
  const { failingS: _, ...known } = (await senderState(db, 'alert')) ?? unsent
  const open = (await storedConditions(db)).filter(({ told }) => told).length
  return { url: shownReceiver(alertUrl) ?? '', open, ...known }
}

/** How the messages are doing, as the end of a line. */
export function alertsText(
  { open, delivered, failingSince, lastError, nextAttemptAt }: AlertsStatus,
  now: Date,
): string {
  const sent = `${counted(delivered, 'message')} sent, ${counted(open, 'alert')} open`
  return failingSince === null
    ? sent
    : `failing: ${lastError} Next attempt ${relative(nextAttemptAt, now) ?? 'immediately'}; ${sent}`
}
