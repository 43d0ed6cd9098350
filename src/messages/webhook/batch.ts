// The content of a webhook call: which changes may be sent, how many fit, the call that tests a receiver, and signatures by Standard
// Webhooks. Pure.

import { Webhook } from 'standardwebhooks'
import { holdsPerson, personalColumns, streams } from '../../catalog/catalog.ts'
import { changeText, type FeedEntry } from '../../mirror/follow.ts'

/** The most changes in one call: a receiver must handle them within its time limit. */
export const batchSize = 100
/** Bytes of a body, unless a single change is larger: queues and functions behind a receiver accept at most 256 kB. */
export const bodyLimit = 256_000

/** An entry of the feed; `diff` null: it is not for the receiver. */
export type ReadEntry = Omit<FeedEntry, 'diff'> & { readonly diff: string | null }

type Batch = {
  /** The last entry that it covers, also if that is not for the receiver. */
  readonly endCursor: string
  /** 0: nothing is sent. */
  readonly changes: number
  readonly body: string
}

const bodyOf = (type: string, madeAt: Date, changes: readonly string[]): string =>
  `{"type":"${type}","timestamp":"${madeAt.toISOString()}","data":{"changes":[${changes.join(',')}]}}`

/** Makes a batch of the first of these entries. @throws Error if there are none */
export function batchOf(entries: readonly ReadEntry[], madeAt: Date): Batch {
  const texts: string[] = []
  let bytes = Buffer.byteLength(bodyOf(changed, madeAt, []))
  let endCursor: string | undefined
  for (const { diff, ...entry } of entries) {
    if (diff !== null) {
      const text = changeText({ ...entry, diff })
      const more = Buffer.byteLength(text) + (texts.length === 0 ? 0 : 1)
      if (texts.length > 0 && bytes + more > bodyLimit) break
      texts.push(text)
      bytes += more
    }
    endCursor = entry.cursor
  }
  if (endCursor === undefined) throw new Error('A batch has no changes.')
  return { endCursor, changes: texts.length, body: bodyOf(changed, madeAt, texts) }
}

const changed = 'mirror.changed'

/** The body of `webhook test`: a call without changes. */
export const testBody = (madeAt: Date): string => bodyOf('mirror.test', madeAt, [])

/** The headers of one attempt. Each secret signs, because a receiver knows one of them. */
export function signedHeaders(
  secrets: readonly string[],
  { id, body }: { readonly id: string; readonly body: string },
  sentAt: Date,
): Readonly<Record<string, string>> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, sentAt, body)).join(' '),
  }
}

/** Streams to send, each with the members of a diff to omit. */
export type Selection = Readonly<Record<string, readonly string[]>>

/** Named streams are sent whole. With none named: all except documents, without personal columns and payloads that hold a person. */
export function selectionOf(named: readonly string[] | null): Selection {
  if (named !== null) return Object.fromEntries(named.map((name) => [name, []]))
  return Object.fromEntries(
    streams
      .filter((stream) => stream.document !== true)
      .map((stream) => [stream.name, [...personalColumns(stream), ...(holdsPerson(stream) ? ['_payload'] : [])]]),
  )
}
