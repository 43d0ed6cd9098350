// The end of a run below records: what becomes of the rows of records that showed none. One of these records is nothing
// unusual. Several that leave little of what this run read are asked for row by row, or held.

import { keyParts } from '../../catalog/keys.ts'
import type { SingleRead } from '../../catalog/types.ts'
import { dateIn } from '../../clock.ts'
import { counted } from '../../format.ts'
import { liveRows } from '../../mirror/kept-counts.ts'
import { makeDue } from '../../mirror/records.ts'
import { entries, readProfile } from '../../profile/profile.ts'
import { mapConcurrently } from '../batches.ts'
import { changeSet, type Found } from '../change-set.ts'
import type { TaskRun } from '../context.ts'
import { parentValues } from '../details/readers/children.ts'
import { type Answered, readOutcome } from '../details/single.ts'
import { aboveLostLately, type EmptiedBelow, type EmptiedRow, emptiedBelow, lostLately } from '../remembered/losses.ts'
import { assumedShownAfter, ownWritesSince } from '../remembered/own-writes.ts'
import { noteRunError } from '../runs/runs.ts'
import { aboveOf } from './below.ts'
import { beyondLimit, sampleSize } from './threshold.ts'

/** Decides about all that a run found missing below records. A worker that takes over decides about what is left. */
export async function decideEmptied(run: TaskRun): Promise<void> {
  const { context, stream, task, writer } = run
  const readAt = context.clock.now()
  const facts = await emptiedBelow(context.database.pool, stream, task.runId)
  const { refused } = facts
  const isEmptyList = refused.length > 0 && (await meansEmpty(run, facts))
  const emptied = facts.emptied.filter(({ isRefused }) => isEmptyList || !isRefused)
  const { found, reason } = await judge(run, facts, emptied)
  const keys = emptied.map(({ key }) => keyParts(stream, key))
  const source = 'list' in stream.reads ? stream.reads.list : stream.name
  const [tombstones, held] = [[{ stream, keys, source, readAt, lost: true } as const], [{ stream, keys, reason }]]
  const decided = reason === null ? { tombstones } : { held }
  await writer.commit(run, changeSet([...found, ...(keys.length > 0 ? [decided] : [])]), {
    also: async (client) => {
      await client.query(`delete from sync.held where run_id = $1 and released_at = '-infinity'`, [task.runId])
      if (refused.length === 0 || isEmptyList) return
      await makeDue(client, [stream.name], refused)
      // The API may not show yet what is below a record that a change of ours has just made.
      const { longestMs } = context.shownAfter ?? assumedShownAfter
      const own = await ownWritesSince(client, new Date(readAt.getTime() - longestMs), [stream.parent ?? ''])
      const odd = refused.filter((record) => own.every(({ key }) => key !== record))
      if (odd.length === 0) return
      const problem = `${source} answered 404 for ${counted(odd.length, 'record')} that the API has (${odd[0]}). Nothing shows that it means an empty list. The known rows stay.`
      await noteRunError(client, task.runId, problem)
    },
  })
  await writer.end(run)
}

/**
 * Whether 404 below a record that is there means an empty list: none of the stream was ever answered as empty, and others were
 * answered with rows to this run.
 */
async function meansEmpty({ context, stream }: TaskRun, facts: EmptiedBelow): Promise<boolean> {
  const profile = await readProfile(context.database.pool)
  const isKnown = profile.value(entries.notFound, stream.name) !== undefined
  if (facts.answersNone) await profile.contradict(entries.notFound, stream.name, 'The API answered empty lists, too.')
  if (isKnown || facts.answersNone) return !facts.answersNone
  if (!facts.answersRows || !facts.refusesEmpty) return false
  await profile.found(entries.notFound, stream.name, 'an empty list')
  return true
}

type Judged = { readonly found: readonly Found[]; readonly reason: string | null }

/** `reason`: why the rows are held; null: they may go, as far as the limit allows. */
async function judge(run: TaskRun, facts: EmptiedBelow, emptied: readonly EmptiedRow[]): Promise<Judged> {
  const { context, stream } = run
  const { pool } = context.database
  const { deleteLimit: limit, timeZone } = context.settings
  const deletedLately = await lostLately(pool, stream, dateIn(timeZone, context.clock.now()))
  const live = await liveRows(pool, stream.name)
  const beyond = beyondLimit({ live, missing: emptied.length, deletedLately, limit })
  if (beyond !== null) return { found: [], reason: beyond }
  const single = stream.reads.kind === 'collection' ? stream.reads.single : undefined
  const above = aboveOf(
    stream,
    emptied.map(({ key }) => keyParts(stream, key)),
  )
  // Where rows can be asked for, it makes no difference which run saw the first of them go.
  const lately = single && above.length === 1 ? await aboveLostLately(pool, stream) : []
  const left = facts.left - emptied.length
  const isSudden = new Set([...above, ...lately]).size > 1 && left * 2 <= facts.before
  if (!isSudden && (single === undefined || emptied.every(({ isRefused }) => !isRefused)))
    return { found: [], reason: null }
  const reason = `All ${stream.name} of ${counted(above.length, 'record')} are suddenly gone: ${left} of ${counted(facts.before, 'row')} are left.`
  if (single === undefined) return { found: [], reason }
  const step = Math.max(1, emptied.length / sampleSize)
  const sample = emptied.filter((_, place) => Math.floor(place / step) > Math.floor((place - 1) / step))
  const found: Found[] = []
  let there = 0
  const asked = mapConcurrently(sample, context.settings.api.concurrency, (row) => ask(run, single, row))
  for await (const { outcome, found: own } of asked) {
    found.push(own)
    if (outcome.kind !== 'gone') there += 1
  }
  if (there === 0) return { found, reason: null }
  return { found, reason: `${reason} ${there} of ${sample.length} that were requested did not answer 404.` }
}

/** Requests one row by its own endpoint, with each id that its path may take. */
async function ask(run: TaskRun, { endpoint, param }: SingleRead, row: EmptiedRow): Promise<Answered<unknown>> {
  const key = keyParts(run.stream, row.key)
  const { params } = parentValues(run.stream, aboveOf(run.stream, [key])[0] ?? '')
  const own = await readOutcome(run, { endpoint, params: { ...params, [param]: key.at(-1) ?? '' } })
  if (own.outcome.kind !== 'gone' || row.otherId === null) return own
  const other = await readOutcome(run, { endpoint, params: { ...params, [param]: row.otherId } })
  return { ...other, found: changeSet([own.found, other.found]) }
}
