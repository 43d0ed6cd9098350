// Follows the feed: batch after batch, and at its end waits for more.

import { sleep } from '../clock.ts'
import { listen } from '../database/listen.ts'
import type { Queryable } from '../database/sql.ts'
import type { Logger } from '../log.ts'
import { changesChannel } from './change-notifier.ts'

/** A change as the feed gives it; `key` and `diff` as JSON text, so that no number loses a digit. */
export type FeedEntry = {
  readonly cursor: string
  readonly seq: string
  readonly stream: string
  readonly key: string
  readonly operation: 'insert' | 'update' | 'delete'
  readonly changedAt: Date
  readonly diff: string
}

/** Where to begin: where a consumer acknowledged, or after a cursor (null: at the start). */
export type FeedPlace = { readonly consumer: string } | { readonly cursor: string | null }

const batchSize = 1_000

/** Batches of changes in the feed's order; at its end it waits for more, or (null) ends. */
export async function* followFeed(
  db: Queryable,
  place: FeedPlace,
  waitForMore: (() => Promise<void>) | null,
): AsyncGenerator<readonly FeedEntry[], void> {
  const columns = 'cursor, seq, stream, key::text as key, operation, changed_at as "changedAt", diff::text as diff'
  let last = 'cursor' in place ? place.cursor : null
  for (;;) {
    // A consumer's place moves when it acknowledges, which comes later than reading.
    const [source, from] =
      last === null && 'consumer' in place ? ['next_changes', place.consumer] : ['changes_since', last]
    const { rows } = await db.query<FeedEntry>(`select ${columns} from mirror.${source}($1, $2)`, [from, batchSize])
    last = rows.at(-1)?.cursor ?? last
    if (rows.length > 0) yield rows
    if (rows.length === batchSize) continue
    if (waitForMore === null) return
    await waitForMore()
  }
}

/** What was committed below an older transaction is given when that one ends, which nobody announces. */
const pollMs = 2_000

/** Makes a wait that ends when changes are announced, or after two seconds; it rejects when the signal is aborted. */
export function waitForChanges(url: string, log: Logger, signal: AbortSignal): () => Promise<void> {
  let announced = false
  let wake = (): void => {}
  const onNotify = (): void => {
    announced = true
    wake()
  }
  void listen({ url, channel: changesChannel, onNotify, log, signal })
  return async () => {
    const woken = new Promise<void>((resolve) => {
      wake = resolve
    })
    if (!announced) await Promise.race([woken, sleep(pollMs, signal)])
    announced = false
  }
}
