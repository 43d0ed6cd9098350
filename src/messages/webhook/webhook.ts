// Posts the changes of the mirror to WEBHOOK_URL in batches. The next batch is sent after the receiver has accepted the previous one, so
// that changes stay in order. Delivery is at least once: a batch without acknowledgement is sent again with the same id.

import type { Clock } from '../../clock.ts'
import type { Config } from '../../config.ts'
import type { Database } from '../../database/database.ts'
import { listen } from '../../database/listen.ts'
import { giveLeaseBack, type Lease, noteFailure, takeLease } from '../../database/senders.ts'
import { BoatMirrorError } from '../../errors.ts'
import type { Logger } from '../../log.ts'
import { changesChannel } from '../../mirror/change-notifier.ts'
import { noteDelivery } from '../../mirror/webhook-deliveries.ts'
import type { Privacy } from '../../privacy/privacy.ts'
import { processLife, service } from '../../service.ts'
import { createPost, fingerprint, nextPostMs, type PostResult } from '../post.ts'
import { batchSize, selectionOf, signedHeaders } from './batch.ts'
import { acknowledge, giveUp, nextBatch, type StoredBatch } from './batch-store.ts'

type WebhookOptions = {
  readonly url: string
  /** Each of them signs. */
  readonly secrets: readonly string[]
  readonly streams: readonly string[] | null
  readonly proxies: Config['api']['proxies']
  readonly database: Database
  /** Where NOTIFY arrives; null: nowhere, then changes are found within a second. */
  readonly listenUrl: string | null
  readonly clock: Clock
  readonly log: Logger
  readonly privacy?: Privacy | undefined
  /** Milliseconds for one call; 20,000 by default. */
  readonly timeLimitMs?: number
}

const checkEveryMs = 1_000

/** `again`: there may be more to send. */
type Next = 'again' | undefined

/** Starts posting; one worker at a time does. */
export function startWebhook(options: WebhookOptions): { stop(): Promise<void> } {
  const { url, secrets, database, listenUrl, clock, log } = options
  const selection = selectionOf(options.streams)
  const post = createPost({ variable: 'WEBHOOK_URL', address: url, proxies: options.proxies }, options.timeLimitMs)
  const owner = processLife()
  const address = fingerprint(url)
  /** Halved after 413, and doubled after an accepted batch. */
  let most = batchSize
  let isLost = false

  const failed = async (lease: Lease, batch: StoredBatch, result: PostResult & { kind: 'failed' }): Promise<Next> => {
    if (result.status === 413 && batch.changes > 1) {
      most = Math.ceil(batch.changes / 2)
      await giveUp(database, batch)
      return 'again'
    }
    const { error, status } = result
    if (lease.attempts === 0)
      log.warn(
        { event: 'webhook_failing', status, reason: error },
        `the receiver did not accept the webhook: ${error} Boat Mirror retries until it does`,
      )
    await noteFailure(database.pool, lease, { error, waitMs: nextPostMs(result, lease.attempts + 1) })
    return undefined
  }

  const deliver = async (lease: Lease, batch: StoredBatch, signal: AbortSignal): Promise<Next> => {
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
    return 'again'
  }

  const runOnce = async (signal: AbortSignal): Promise<Next> => {
    const lease = await takeLease(database.pool, 'webhook', { owner, address })
    if (!lease?.due) return undefined
    try {
      const next = await nextBatch(database, lease, { selection, most, privacy: options.privacy })
      if (next.kind === 'lost' && !isLost)
        log.error(
          { event: 'webhook_lost' },
          'the webhook lost changes that are older than HISTORY_DAYS: boat-mirror status shows how to restart it',
        )
      isLost = next.kind === 'lost'
      if (next.kind === 'batch') return await deliver(lease, next.batch, signal)
      return next.kind === 'skipped' ? 'again' : undefined
    } catch (error) {
      if (error instanceof BoatMirrorError && error.kind === 'abort') return undefined
      throw error
    }
  }

  // The end of a transaction that held changes back sends no notification; the next run finds the changes.
  const sending = service('sending the webhook', checkEveryMs, runOnce, {
    log,
    atEnd: () => giveLeaseBack(database.pool, 'webhook', owner),
  })
  const stopping = new AbortController()
  const listening =
    listenUrl === null
      ? undefined
      : listen({ url: listenUrl, channel: changesChannel, onNotify: sending.poke, log, signal: stopping.signal })
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all([sending.stop(), listening])
      await post.close()
    },
  }
}
