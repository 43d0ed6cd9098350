// A read below a record answered 404: is the record gone, or only what was asked for?

import type { StreamDef } from '../../catalog/types.ts'
import { isReadSince } from '../../state/due.ts'
import { keyParts } from '../../state/records.ts'
import { deletionFacts } from '../../state/sweeps.ts'
import type { SyncContext } from '../context.ts'
import { judgeDeletions } from '../deletions/threshold.ts'
import { addWork, type Work } from '../work.ts'
import { parentValues } from './readers/collection.ts'
import { askableParent, readSingleRecord } from './single.ts'

/** A parent whose single was read within this time is known to be there, in milliseconds. */
const recentlyReadMs = 10 * 60_000

/** Decides what a 404 (or, for a collection, an answer without content) on `key` means and adds it to the work. */
export async function judgeGone(
  context: SyncContext,
  stream: StreamDef,
  key: string,
  startedAt: Date,
  work: Work,
  signal: AbortSignal,
): Promise<void> {
  const parent = askableParent(stream, key)
  if (parent === null) {
    // The list named it a moment ago. The next sweep decides whether it is gone.
    work.warnings.push(`${stream.name}: a listed record was answered 404 by its single endpoint.`)
    work.records.push({ stream: stream.name, key, detailReadAt: startedAt })
    return
  }
  const since = new Date(startedAt.getTime() - recentlyReadMs)
  if (!(await isReadSince(context.database.pool, parent.stream, parent.key, since))) {
    const { outcome, work: parentWork } = await readSingleRecord(context, parent.stream, parent.key, signal)
    addWork(work, parentWork)
    if (outcome.kind === 'gone') return tombstoneParent(context, parent.stream, parent.key, work)
    if (outcome.kind !== 'there') {
      work.problems.push(`${stream.name} ${key}: answered 404, and its ${parent.stream.name} record could not be read.`)
      return
    }
  }
  work.records.push({ stream: stream.name, key, detailHash: '', detailReadAt: startedAt })
  if (stream.reads.kind !== 'document') {
    work.warnings.push(
      `${stream.name}: answered 404 although the ${parent.stream.name} record is there; what was known stays.`,
    )
    return
  }
  const { scope } = parentValues(stream, key)
  work.tables.push({
    stream,
    mode: 'record',
    source: stream.reads.endpoint,
    readAt: startedAt,
    rows: [],
    replace: [scope],
  })
}

/** The parent is gone too: its tombstone takes everything below with it, as far as the fuse allows. */
async function tombstoneParent(context: SyncContext, parent: StreamDef, key: string, work: Work): Promise<void> {
  const { live, deletedLately } = await deletionFacts(context.database.pool, parent)
  const verdict = judgeDeletions({ live, seen: live, missing: 1, deletedLately, limit: context.settings.deleteLimit })
  if (verdict.kind === 'hold') {
    work.problems.push(
      `${parent.name} ${key} is gone, but is kept: ${verdict.reason} The next sweep of ${parent.name} decides.`,
    )
    return
  }
  const source = parent.reads.kind === 'list' ? parent.reads.single.endpoint : ''
  work.tombstones.push({ stream: parent, keys: [keyParts(parent, key)], source, readAt: context.clock.now() })
}
