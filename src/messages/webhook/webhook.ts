// Posts the changes of the mirror to WEBHOOK_URL, batch after batch: the next one leaves when the receiver has taken the one
// before, so that no change overtakes another. At least once: what was not acknowledged is sent again with the same id.

import type { Clock } from '../../clock.ts'
import type { Config } from '../../config.ts'
import type { Database } from '../../database/database.ts'
import { type Lease, noteFailure, takeLease } from '../../database/senders.ts'
import { BoatMirrorError } from '../../errors.ts'
import type { Logger } from '../../log.ts'
import { waitForChanges } from '../../mirror/wait-for-changes.ts'
import { noteDelivery } from '../../mirror/webhook-deliveries.ts'
import type { Privacy } from '../../privacy/privacy.ts'
import { processLife } from '../../process-name.ts'
import { waitMs } from '../backoff.ts'
import { createPost, type PostResult } from '../post.ts'
import { fingerprint, type StepResult, startSender } from '../sender.ts'
import { batchSize, signedHeaders } from './batch.ts'
import { acknowledge, giveUp, nextBatch, type StoredBatch } from './batch-store.ts'
import { selectionOf } from './selection.ts'

export type WebhookOptions = {
  readonly url: string
  /** Each of them signs. */
  readonly secrets: readonly string[]
  readonly streams: readonly string[] | null
  readonly proxies: Config['api']['proxies']
  readonly database: Database
  /** Where NOTIFY is heard; null: nowhere, then each second is looked for changes. */
  readonly listenUrl: string | null
  /** What receivers compare a message's time with. */
  readonly clock: Clock
  readonly log: Logger
  readonly privacy?: Privacy | undefined
  /** Of one call, in milliseconds; 20,000 by default, which a lease allows for. */
  readonly timeLimitMs?: number
}

const checkEveryMs = 1_000

/** Starts posting; one worker at a time does. */
export function startWebhook(options: WebhookOptions): { stop(): Promise<void> } {
  const { url, secrets, database, clock, log } = options
  const selection = selectionOf(options.streams)
  const post = createPost({ variable: 'WEBHOOK_URL', address: url, proxies: options.proxies }, options.timeLimitMs)
  const owner = processLife()
  const address = fingerprint(url)
  /** Halved for a receiver that finds a body too large, and doubled again with what it takes. */
  let most = batchSize
  let isLost = false

  const failed = async (
    lease: Lease,
    batch: StoredBatch,
    result: PostResult & { kind: 'failed' },
  ): Promise<StepResult> => {
    if (result.status === 413 && batch.changes > 1) {
      most = Math.ceil(batch.changes / 2)
      await giveUp(database, batch)
      return 'more'
    }
    const { error, status } = result
    if (lease.attempts === 0)
      log.warn(
        { event: 'webhook_failing', status, reason: error },
        `the receiver did not accept the webhook: ${error} Boat Mirror retries until it does`,
      )
    await noteFailure(database.pool, lease, { error, waitMs: waitMs(result, lease.attempts + 1, Math.random()) })
    return 'idle'
  }

  const deliver = async (lease: Lease, batch: StoredBatch, signal: AbortSignal): Promise<StepResult> => {
    const began = performance.now()
    const result = await post.send(batch.body, signedHeaders(secrets, batch, clock.now()), signal)
    await noteDelivery(database.pool, {
      id: batch.id,
      changes: batch.changes,
      status: result.status,
      durationMs: Math.round(performance.now() - began),
      error: result.kind === 'failed' ? result.error : null,
      afterCursor: batch.afterCursor,
    })
    if (result.kind === 'failed') return await failed(lease, batch, result)
    await acknowledge(database, lease, batch)
    if (lease.attempts > 0) log.info({ event: 'webhook_taken' }, 'the receiver accepts the webhook again')
    most = Math.min(batchSize, most * 2)
    return 'more'
  }

  const step = async (signal: AbortSignal): Promise<StepResult> => {
    const lease = await takeLease(database.pool, 'webhook', { owner, address })
    if (!lease?.due) return 'idle'
    try {
      const next = await nextBatch(database, lease, { selection, most, privacy: options.privacy })
      if (next.kind === 'lost' && !isLost)
        log.error(
          { event: 'webhook_lost' },
          'the webhook lost changes that are older than HISTORY_DAYS: boat-mirror status shows how to restart it',
        )
      isLost = next.kind === 'lost'
      if (next.kind === 'batch') return await deliver(lease, next.batch, signal)
      return next.kind === 'skipped' ? 'more' : 'idle'
    } catch (error) {
      if (error instanceof BoatMirrorError && error.kind === 'abort') return 'idle'
      throw error
    }
  }

  const { listenUrl } = options
  const sending = startSender({
    ...{ checkEveryMs, name: 'webhook', owner, db: database.pool, log, step },
    // Changes held back by a transaction that ended meanwhile send no notification: the check each second finds them.
    ...(listenUrl !== null && { wakeUps: (signal: AbortSignal) => waitForChanges(listenUrl, log, signal) }),
  })
  return {
    stop: async () => {
      await sending.stop()
      await post.close()
    },
  }
}
