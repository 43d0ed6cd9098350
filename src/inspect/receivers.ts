// The receivers of the webhook and of alerts: whether each accepts what it is sent, how far the webhook is behind, and which conditions
// were sent as alerts (sync.alerts).

import type { Config } from '../config.ts'
import { type SenderState, senderState } from '../database/senders.ts'
import type { Queryable } from '../database/sql.ts'
import { counted, duration, relative } from '../format.ts'
import { shownReceiver } from '../text.ts'
import { type ConsumerStatus, webhookConsumer } from './feed.ts'

/** Seconds after which a call that is not accepted needs attention. */
const patienceS = 120

export type WebhookStatus = Omit<SenderState, 'failingS'> & {
  /** Scheme and host: the rest of the address is a secret. */
  readonly url: string
  /**
   * `waiting`: no worker has started. `following`: the last call was accepted. `retrying`: it was not, for less than
   * two minutes; `failing`: for longer. `lost`: changes were deleted before they were sent.
   */
  readonly state: 'waiting' | 'following' | 'retrying' | 'failing' | 'lost'
  /** Age of the oldest change that was not accepted; 0: there is none. */
  readonly behindS: number
}

/** The state of the webhook; null: WEBHOOK_URL is not set. */
export async function webhookStatus(
  db: Queryable,
  { webhookUrl }: Pick<Config, 'webhookUrl'>,
  consumers: readonly ConsumerStatus[],
): Promise<WebhookStatus | null> {
  if (webhookUrl === null) return null
  const consumer = consumers.find(({ name }) => name === webhookConsumer)
  const { failingS, ...known } = (await senderState(db, 'webhook')) ?? unsent
  const failing = failingS === null ? null : failingS < patienceS ? 'retrying' : 'failing'
  const state = consumer === undefined ? 'waiting' : consumer.state === 'lost' ? 'lost' : (failing ?? 'following')
  return { url: shownReceiver(webhookUrl) ?? '', state, behindS: consumer?.behindS ?? 0, ...known }
}

/** The state before anything was sent. */
export const unsent: SenderState = {
  delivered: 0,
  deliveredAt: null,
  failingSince: null,
  failingS: null,
  nextAttemptAt: null,
  attempts: 0,
  lastError: null,
}

/** The state of the webhook, as the end of a line. */
export function webhookText({ state, behindS, delivered, lastError, nextAttemptAt }: WebhookStatus, now: Date): string {
  const sent = `${counted(delivered, 'change')} sent`
  const behind = behindS === 0 ? 'up to date' : `${duration(behindS)} behind`
  if (state === 'waiting') return 'starts with the next worker'
  if (state === 'lost') return `lost changes; ${sent}`
  if (state === 'following') return `${behind}; ${sent}`
  return `failing: ${lastError} Next attempt ${relative(nextAttemptAt, now) ?? 'immediately'}; ${behind}; ${sent}`
}

type StoredCondition = {
  readonly kind: string
  readonly about: string
  readonly since: Date
  readonly told: boolean
  readonly goneSince: Date | null
}

export async function storedConditions(db: Queryable): Promise<readonly StoredCondition[]> {
  const { rows } = await db.query<StoredCondition>(
    'select kind, about, since, told, gone_since as "goneSince" from sync.alerts order by since, kind, about',
  )
  return rows
}

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

/** The state of the alerts; null: ALERT_URL is not set. */
export async function alertsStatus(
  db: Queryable,
  { alertUrl }: Pick<Config, 'alertUrl'>,
): Promise<AlertsStatus | null> {
  if (alertUrl === null) return null
  const { failingS: _, ...known } = (await senderState(db, 'alert')) ?? unsent
  const open = (await storedConditions(db)).filter(({ told }) => told).length
  return { url: shownReceiver(alertUrl) ?? '', open, ...known }
}

/** The state of the alerts, as the end of a line. */
export function alertsText(
  { open, delivered, failingSince, lastError, nextAttemptAt }: AlertsStatus,
  now: Date,
): string {
  const sent = `${counted(delivered, 'message')} sent, ${counted(open, 'alert')} open`
  return failingSince === null
    ? sent
    : `failing: ${lastError} Next attempt ${relative(nextAttemptAt, now) ?? 'immediately'}; ${sent}`
}
