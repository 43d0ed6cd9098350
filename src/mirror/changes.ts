// The feed for a program: an async iterator, with what acknowledges for a consumer.

import { existingStream } from '../catalog/catalog.ts'
import { sleep } from '../clock.ts'
import { type QueryRunner, queryableOn } from '../database/query-runner.ts'
import { BoatMirrorError } from '../errors.ts'
import { parseForProgram } from '../json/plain.ts'
import { assertOptions } from '../near-names.ts'
import { followFeed, placeOf } from './follow.ts'

/** One change of the mirror. */
export type FeedChange = {
  /** Its place in the feed. */
  readonly cursor: string
  readonly seq: string
  readonly stream: string
  readonly key: Readonly<Record<string, unknown>>
  readonly operation: 'insert' | 'update' | 'delete'
  readonly changedAt: Date
  /** Column → before and after; a number that JavaScript would round is text. */
  readonly diff: Readonly<Record<string, readonly [unknown, unknown]>>
}

export type FeedOptions = {
  /** Continues after the last acknowledgement of this consumer. */
  readonly consumer?: string
  /** `start` (default), `now`, or the cursor to continue after; a consumer begins there when it is new. */
  readonly from?: string
  /** Leaves other streams out. */
  readonly streams?: readonly string[]
  /** Waits for further changes instead of ending; asks once a second. */
  readonly follow?: boolean
  /** Ends the iterator, which throws its reason. */
  readonly signal?: AbortSignal
}

export type Feed = AsyncGenerator<FeedChange, void, void> & {
  /** Everything up to this cursor is done; `within` a transaction, when that commits. */
  ack(cursor: string, within?: QueryRunner): Promise<void>
}

const pollMs = 1_000

/**
 * Every change of the mirror, in order: none is skipped, and those of one record keep their order.
 * @param db Kysely on the mirror's database, of any schema
 * @throws BoatMirrorError USAGE for an unknown stream or option
 */
export function changes(db: QueryRunner, options: FeedOptions = {}): Feed {
  assertOptions(options, ['consumer', 'from', 'streams', 'follow', 'signal'])
  const { consumer, follow = false, signal } = options
  const streams = options.streams?.map((name) => existingStream(name).name)
  if (streams?.length === 0)
    throw new BoatMirrorError(
      'USAGE',
      'streams is an empty list: no change would be returned, but all would be acknowledged.',
      {
        remedy: 'Name streams, or omit it for all.',
      },
    )
  /** The last change that was given and not acknowledged. */
  let open: string | null = null
  const ack = async (cursor: string, within = db): Promise<void> => {
    await queryableOn(within).query('select mirror.ack_changes($1, $2)', [consumer ?? null, cursor])
    if (cursor === open) open = null
  }
  async function* read(): AsyncGenerator<FeedChange, void, void> {
    const queries = queryableOn(db)
    const wait = follow ? () => sleep(pollMs, signal) : null
    for await (const entries of followFeed(queries, await placeOf(queries, options), wait)) {
      let given: string | undefined
      for (const { key, diff, ...entry } of entries) {
        if (streams !== undefined && !streams.includes(entry.stream)) continue
        signal?.throwIfAborted()
        open = given = entry.cursor
        yield { ...entry, key: parseForProgram(key), diff: parseForProgram(diff) } as FeedChange
      }
      // Skipped changes are acknowledged, too: a consumer of quiet streams must not fall behind.
      const last = entries.at(-1)?.cursor
      if (consumer !== undefined && last !== undefined && last !== given && open === null) await ack(last)
    }
  }
  return Object.assign(read(), { ack })
}
