// What one call of a webhook carries: changes in the feed's order, up to a number and a size; and its signature by Standard
// Webhooks. Pure.

import { Webhook } from 'standardwebhooks'
import { changeText, type FeedEntry } from '../../mirror/follow.ts'

/** Changes in one call at most. */
export const batchSize = 500
/** Characters of a body, unless one change alone is larger: many receivers take no more than a megabyte. */
const bodyLength = 500_000

/** An entry of the feed; without `diff` it is not for the receiver. */
export type ReadEntry = Omit<FeedEntry, 'diff'> & { readonly diff: string | null }

export type Batch = {
  /** The last entry it stands for, those included that are not for the receiver. */
  readonly endCursor: string
  /** 0: nothing of what was read is for the receiver, and nothing is sent. */
  readonly changes: number
  readonly body: string
}

/** The batch of the first of these entries. @throws Error when there are none: a slip in our own code */
export function batchOf(entries: readonly ReadEntry[], madeAt: Date): Batch {
  const texts: string[] = []
  let length = 0
  let endCursor: string | undefined
  for (const { diff, ...entry } of entries) {
    const text = diff === null ? null : changeText({ ...entry, diff })
    if (text !== null && texts.length > 0 && length + text.length > bodyLength) break
    if (text !== null) texts.push(text)
    length += text?.length ?? 0
    endCursor = entry.cursor
  }
  if (endCursor === undefined) throw new Error('A batch was made of nothing.')
  const body = `{"type":"mirror.changed","timestamp":"${madeAt.toISOString()}","data":{"changes":[${texts.join(',')}]}}`
  return { endCursor, changes: texts.length, body }
}

/** The headers of one attempt; time and signature are the attempt's own. */
export function signedHeaders(
  secret: string,
  { id, body }: { readonly id: string; readonly body: string },
  sentAt: Date,
): Readonly<Record<string, string>> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign(id, sentAt, body),
  }
}
