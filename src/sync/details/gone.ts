// The read of a child answered 404: is the parent deleted, or only the child?

import { keyParts } from '../../catalog/keys.ts'
import { liveRows } from '../../mirror/kept-counts.ts'
import { changeSet, type Found } from '../change-set.ts'
import { listReading, type Reading, type TaskRun } from '../context.ts'
import { beyondLimit } from '../deletions/threshold.ts'
import { refusedBelow } from '../remembered/losses.ts'
import { deletedLately } from '../runs/sweeps.ts'
import { parentValues } from './readers/children.ts'
import { askableParent, readSingleRecord } from './single.ts'

/** A parent that was seen within this time is known to be there, in milliseconds. */
const recentlySeenMs = 10 * 60_000

/** Decides what a 404 on `key` means. */
export async function judgeGone(run: TaskRun, key: string, startedAt: Date): Promise<Found> {
  const { stream, reads, task } = run
  const asked = askableParent(stream, key)
  // It was requested to find out whether it still exists.
  if (asked === null && task.isAsked) return await goneListed(listReading(run, stream), key)
  if (asked === null)
    // The list named it a moment ago. The next sweep decides whether it is gone.
    return {
      warnings: [`${stream.name}: the API answered 404 to the detail request of a listed record.`],
      records: [{ stream: stream.name, key, detailHash: '', detailReadAt: startedAt }],
    }
  const parent = listReading(run, asked.stream)
  const since = new Date(startedAt.getTime() - recentlySeenMs)
  // That a record has no document is nothing unusual: that its list has just named it is proof enough.
  const byList = reads.kind === 'document' && reads.optional
  const found: Found[] = []
  if (!(await run.writer.isThere(parent, asked.key, { since, byList }))) {
    const answered = await readSingleRecord(parent, asked.key)
    found.push(answered.found)
    if (answered.outcome.kind === 'gone') return changeSet([...found, await goneListed(parent, asked.key)])
    if (answered.outcome.kind !== 'there') {
      const problem = `${stream.name} ${key}: the API answered 404, and the ${parent.stream.name} record above it could not be read.`
      return changeSet([...found, { problems: [problem] }])
    }
  }
  found.push({ records: [{ stream: stream.name, key, detailHash: '', detailReadAt: startedAt }] })
  if (reads.kind === 'document' && reads.optional) {
    const replace = [parentValues(stream, key).scope]
    const source = reads.endpoint
    found.push({ tables: [{ stream, mode: 'record', source, readAt: startedAt, rows: [], replace }] })
  } else if (reads.kind === 'collection') {
    // What it means is decided at the end of the run.
    found.push({ held: [{ stream, keys: [refusedBelow(parentValues(stream, key).scope.values)], reason: null }] })
  } else {
    const problem = `${stream.name} ${key}: the API answered 404 although the ${parent.stream.name} record exists. The known rows stay.`
    return changeSet([...found.slice(0, -1), { problems: [problem] }])
  }
  return changeSet(found)
}

/** A record of a list is gone: its tombstone cascades to its descendants, as far as the delete threshold allows. */
async function goneListed({ context, stream, reads }: Reading<'list'>, key: string): Promise<Found> {
  const { pool } = context.database
  const live = await liveRows(pool, stream.name)
  const lately = await deletedLately(pool, stream.name)
  const { deleteLimit: limit } = context.settings
  const reason = beyondLimit({ live, missing: 1, deletedLately: lately, limit })
  if (reason !== null)
    return {
      problems: [
        `${stream.name} ${key} is gone from the API, but is kept: ${reason} The next sweep of ${stream.name} decides.`,
      ],
    }
  const { endpoint: source } = reads.single
  return { tombstones: [{ stream, keys: [keyParts(stream, key)], source, readAt: context.clock.now() }] }
}
