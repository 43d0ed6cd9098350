// Recent writes of the outbox to the API, which the API may not show everywhere yet.

import type { Json } from '../../api/wire/json.ts'
import type { Queryable } from '../../database/sql.ts'

/** What is known of the time that the API needs to show a write. */
export type ShownAfter = {
  /** How long what was written may not be shown, in milliseconds. */
  ms(): number
  /** The longest that this is taken to become. */
  readonly longestMs: number
}

/** Until more is known: 5 s leave a margin, and no API was seen to need more than a minute. */
export const assumedShownAfter = { ms: () => 5_000, longestMs: 60_000 } as const satisfies ShownAfter

/** A record as changes of the outbox left it. */
export type OwnWrite = {
  readonly stream: string
  /** Its key in its table, as one text. */
  readonly key: string
  readonly at: Date
  /** `there`: what shows it is as new, where `fields` say nothing else. `sent`: it is not known yet what came of it. */
  readonly state: 'there' | 'gone' | 'sent'
  /** A change made it lately: no read showed it before. */
  readonly made: boolean
  /** Members of the record, as the API showed them after it. */
  readonly fields: Readonly<Record<string, Json>>
}

type Row = {
  stream: string
  kind: string
  key: string
  fields: Readonly<Record<string, Json>> | null
  at: Date
  sent: boolean
}

/** A range with both ends is taken for a small one where nothing is known of the table: it is looked up by index. */
const writtenSql = `select o.stream, o.kind, w.* from (
    select id, operation, record_key as key, left_behind as fields, settled_at as at, false as sent
      from outbox.queue where status = 'done' and settled_at > $1 and settled_at < 'infinity'
    union all
    select id, operation, record_key, null, sent_at, true from outbox.queue where status = 'sending' and departed and sent_at > $1
  ) w join outbox.operations o using (operation)
  where w.key is not null and o.stream = any($2) order by w.id`

/** The writes since then to records of these streams, one for each record. */
export async function ownWritesSince(
  db: Queryable,
  since: Date,
  streams: readonly string[],
): Promise<readonly OwnWrite[]> {
  const { rows } = await db.query<Row>(writtenSql, [since, streams])
  const written = new Map<string, OwnWrite>()
  for (const { stream, kind, key, fields, at, sent } of rows) {
    const place = `${stream} ${key}`
    const before = written.get(place)
    // A creation contains less than later reads: columns that its answer omitted.
    const makes = kind === 'create' || kind === 'add'
    const own = makes ? {} : fields
    const state = sent ? 'sent' : kind === 'delete' || kind === 'remove' ? 'gone' : 'there'
    const made = makes || before?.made === true
    written.set(place, { stream, key, at, state, made, fields: { ...before?.fields, ...own } })
  }
  return [...written.values()]
}
