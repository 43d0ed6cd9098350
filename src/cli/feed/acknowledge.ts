// The acknowledgements of a reader of `feed`. Changes of streams it did not select count as acknowledged once
// everything printed before them is; otherwise a consumer of a quiet stream would fall behind.

import type { Queryable } from '../../database/sql.ts'

type Acknowledger = {
  /** Changes up to `read` were gone through; `written` is the last of those that are about to be written out, if any. */
  gives(read: string, written: string | undefined): void
  /** Cursors are done, and so is what came after the last of them and was not written out. */
  acknowledge(cursors: readonly string[]): Promise<void>
  /** Was something written out that is not acknowledged? */
  isOpen(): boolean
}

/** Acknowledges for a consumer. */
export function createAcknowledger(db: Queryable, consumer: string): Acknowledger {
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
export async function acknowledgeLines(
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
