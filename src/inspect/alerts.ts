// The alerts as operators see them: whether the receiver accepts them, and how many conditions are open.

import type { Config } from '../config.ts'
import { type SenderState, senderState } from '../database/senders.ts'
import type { Queryable } from '../database/sql.ts'
import { counted, relative } from '../format.ts'
import { shownReceiver } from '../text.ts'
import { storedConditions } from './alert-conditions.ts'
import { unsent } from './webhook.ts'

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
