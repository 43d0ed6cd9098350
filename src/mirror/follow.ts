// Follows the feed: batch after batch, and at its end waits for more.

import type { Queryable } from '../database/sql.ts'
import { withoutControls } from '../text.ts'

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

/** A change as a JSON object on one line: what the command `feed` prints, and a webhook carries. */
export const changeText = ({ cursor, seq, stream, key, operation, changedAt, diff }: FeedEntry): string =>
  withoutControls(
    `{"cursor":"${cursor}","seq":${seq},"stream":${JSON.stringify(stream)},"key":${key},"operation":"${operation}","changedAt":"${changedAt.toISOString()}","diff":${diff}}`,
  )

/** Where to begin: where a consumer acknowledged, or after a cursor (null: at the start). */
type FeedPlace = { readonly consumer: string } | { readonly cursor: string | null }

/** Where to begin by name; a new consumer is registered there. `from`: `start`, `now`, or a cursor. */
export async function placeOf(
  db: Queryable,
  { consumer, from = 'start' }: { readonly consumer?: string | undefined; readonly from?: string | undefined },
): Promise<FeedPlace> {
  if (consumer === undefined) {
    if (from !== 'now') return { cursor: from === 'start' ? null : from }
    const { rows } = await db.query<{ cursor: string | null }>('select mirror.last_cursor() as cursor')
    return { cursor: rows[0]?.cursor ?? null }
  }
  const isNew = 'not exists (select from sync.consumers where name = $1)'
  await db.query(`select mirror.reset_consumer($1, $2) where ${isNew}`, [consumer, from])
  return { consumer }
}

/**
 * The changes of some streams. Of what one entry brings, only the last has the cursor of the entry, so the last that is left
 * takes it.
 */
export function ofStreams(entries: readonly FeedEntry[], streams: ReadonlySet<string>): readonly FeedEntry[] {
  const whole = new Map(entries.map(({ seq, cursor }) => [seq, cursor]))
  const left = entries.filter(({ stream }) => streams.has(stream))
  return left.map((entry, index) =>
    left[index + 1]?.seq === entry.seq ? entry : { ...entry, cursor: whole.get(entry.seq) ?? entry.cursor },
  )
}

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
    if (rows.length >= batchSize) continue // what one entry brings a restricted role comes whole
    if (waitForMore === null) return
    await waitForMore()
  }
}
