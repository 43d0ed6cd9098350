// The webhook as people see it: whether the receiver takes what it is sent, and how far it is behind.

import type { Config } from '../config.ts'
import { type SenderState, senderState } from '../database/senders.ts'
import type { Queryable } from '../database/sql.ts'
import { counted, duration, relative } from '../format.ts'
import { shownReceiver } from '../text.ts'
import type { ConsumerStatus } from './consumers.ts'

/** The consumer of the feed by which the webhook follows it. */
export const webhookConsumer = 'boat-mirror.webhook'

/** A call that is not accepted for this many seconds needs attention. */
const patienceS = 120

export type WebhookStatus = Omit<SenderState, 'failingS'> & {
  /** Scheme and host: the rest of the address is a secret. */
  readonly url: string
  /**
   * `waiting`: no worker has started. `following`: the last call was accepted. `retrying`: it was not, for less than
   * two minutes; `failing`: for longer. `lost`: changes were deleted before they were sent.
   */
  readonly state: 'waiting' | 'following' | 'retrying' | 'failing' | 'lost'
  /** Age of the oldest change that was not taken; 0: there is none. */
  readonly behindS: number
}

/** The state of the webhook; null: none is configured. */
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

/** How the webhook is doing, as the end of a line. */
export function webhookText({ state, behindS, delivered, lastError, nextAttemptAt }: WebhookStatus, now: Date): string {
  const sent = `${counted(delivered, 'change')} sent`
  const behind = behindS === 0 ? 'up to date' : `${duration(behindS)} behind`
  if (state === 'waiting') return 'starts with the next worker'
  if (state === 'lost') return `lost changes; ${sent}`
  if (state === 'following') return `${behind}; ${sent}`
  return `failing: ${lastError} Next attempt ${relative(nextAttemptAt, now) ?? 'immediately'}; ${behind}; ${sent}`
}
