// `feed`: the changes of the mirror, one JSON object a line.

import { existingStream } from '../../catalog/catalog.ts'
import type { Queryable } from '../../database/sql.ts'
import { BoatMirrorError } from '../../errors.ts'
import { waitForChanges } from '../../mirror/change-notifier.ts'
import { changeText, followFeed, ofStreams, placeOf } from '../../mirror/follow.ts'
import type { CommandContext } from '../context.ts'
import { assertOpen, write } from '../terminal/unwritten.ts'

type FeedOptions = {
  readonly consumer?: string
  readonly ack?: 'printed'
  readonly streams?: readonly string[]
  readonly from?: string
  readonly follow: boolean
}

export async function runFeed(context: CommandContext, options: FeedOptions): Promise<void> {
  if (options.ack !== undefined && options.consumer === undefined)
    throw new BoatMirrorError('USAGE', '--ack needs a consumer.', { remedy: 'Name it with --consumer.' })
  if (options.consumer !== undefined) assertOpen()
  try {
    await writeFeed(context, options)
  } catch (error) {
    if (!context.signal.aborted || !options.follow) throw error
  }
  // Output without a reader would keep the process alive.
  if (context.signal.aborted && process.stdout.writableLength > 0) process.exit(0)
}

async function writeFeed(context: CommandContext, options: FeedOptions): Promise<void> {
  const { consumer, ack, streams, follow } = options
  const wanted = streams && new Set(streams.map((name) => existingStream(name).name))
  await using opened = await context.openDatabase()
  const db = opened.database.pool
  const refused = new AbortController()
  const signal = AbortSignal.any([context.signal, refused.signal])
  const place = await placeOf(db, options)
  const acknowledger = consumer === undefined ? null : createAcknowledger(db, consumer)

  let over = false
  let acknowledged: Promise<void> | undefined
  // It does not wait for input from a terminal.
  if (acknowledger !== null && ack === undefined && (follow || !process.stdin.isTTY))
    acknowledged = acknowledgeLines(process.stdin.setEncoding('utf8'), acknowledger, () => over).catch(
      (error: unknown) => refused.abort(error),
    )
  const more = follow ? waitForChanges(opened.directUrl, context.log, signal) : null
  try {
    for await (const entries of followFeed(db, place, more)) {
      const shown = wanted === undefined ? entries : ofStreams(entries, wanted)
      const last = shown.at(-1)?.cursor
      acknowledger?.gives(entries.at(-1)?.cursor ?? '', last)
      await write(shown.map((entry) => `${changeText(entry)}\n`).join(''), signal)
      await acknowledger?.acknowledge(ack === undefined || last === undefined ? [] : [last])
    }
    over = true
    if (acknowledger?.isOpen() === true) await acknowledged
    signal.throwIfAborted()
  } finally {
    process.stdin.destroy()
  }
}

type Acknowledger = {
  /** Changes up to `read` were gone through; `written` is the last of those that are about to be written out, if any. */
  gives(read: string, written: string | undefined): void
  /** Cursors are done, and so is what came after the last of them and was not written out. */
  acknowledge(cursors: readonly string[]): Promise<void>
  /** Was something written out that is not acknowledged? */
  isOpen(): boolean
}

function createAcknowledger(db: Queryable, consumer: string): Acknowledger {
  let lastRead: string | null = null
  let lastWritten: string | null = null
  const acknowledge = async (cursors: readonly string[]): Promise<void> => {
    const written = lastWritten
    const read = written === null || cursors.includes(written) ? lastRead : null
    const done = read === null ? cursors : [...cursors, read]
    if (done.length > 0)
      await db.query('select mirror.ack_changes($1, c.cursor) from unnest($2::text[]) c (cursor)', [consumer, done])
    if (read === null) return
    if (lastWritten === written) lastWritten = null
    if (lastRead === read) lastRead = null
    // Meanwhile more was gone through, of which nothing was written out.
    else if (lastWritten === null) await acknowledge([])
  }
  return {
    gives: (read, written) => {
      lastRead = read
      lastWritten = written ?? lastWritten
    },
    acknowledge,
    isOpen: () => lastWritten !== null,
  }
}

/** Acknowledges the cursors that a stream brings, one a line, until it ends or `isOver` says that this was the last. */
async function acknowledgeLines(
  lines: AsyncIterable<string>,
  acknowledger: Acknowledger,
  isOver: () => boolean,
): Promise<void> {
  let rest = ''
  const acknowledge = (cursors: readonly string[]): Promise<void> =>
    acknowledger.acknowledge(cursors.map((cursor) => cursor.trim()).filter((cursor) => cursor !== ''))
  for await (const chunk of lines) {
    const whole = (rest + chunk).split('\n')
    rest = whole.pop() ?? ''
    await acknowledge(whole)
    if (isOver() && !acknowledger.isOpen()) return
  }
  await acknowledge([rest])
}
