// The end of a run below records: what becomes of the rows of records whose answers brought none. One such record is nothing
// unusual. Several that leave little of what this run read are asked for row by row, or held.

import type { SingleRead } from '../../catalog/types.ts'
import { counted } from '../../format.ts'
import { aboveLostLately, comingOf, type EmptiedRow, emptiedRows, readBelow } from '../../state/remembered/losses.ts'
import { keyParts, makeDue } from '../../state/remembered/records.ts'
import { changedBy, noteRunError } from '../../state/runs/runs.ts'
import { forgetUndecided, undecidedKeys } from '../../state/runs/sweeps.ts'
import { contradictDetected, notFoundPrefix, readDetected, saveDetected } from '../../state/shared/detected-settings.ts'
import { mapConcurrently } from '../batches.ts'
import { changeSet, type Found } from '../change-set.ts'
import type { TaskRun } from '../context.ts'
import { parentValues } from '../details/readers/children.ts'
import { type Answered, readOutcome } from '../details/single.ts'
import { aboveOf, beyondToday, todayOf } from './below.ts'
import { sampleSize } from './threshold.ts'

/** Decides about all that a run found missing below records. A worker that takes over decides about what is left. */
export async function decideEmptied(run: TaskRun): Promise<void> {
  const { context, stream, task, writer } = run
  const { pool } = context.database
  const readAt = context.clock.now()
  const missing = (await undecidedKeys(pool, task.runId)).map((key) => keyParts(stream, key))
  const unanswered = missing.filter((key) => key.at(-1) === '')
  const refused = aboveOf(stream, unanswered)
  const below = await emptiedRows(pool, stream, { keys: [], above: refused })
  const { rows, ...answers } = await readBelow(pool, stream, task.runStartedAt)
  const withRows = aboveOf(stream, keysOf(below)).length
  const isEmptyList = await meansEmpty(run, { ...answers, refused: refused.length, withRows })
  const emptied = [...(await emptiedRows(pool, stream, { keys: missing, above: [] })), ...(isEmptyList ? below : [])]
  const keys = keysOf(emptied)
  const { found, reason } = await judge(run, emptied, { rows, isRefused: isEmptyList && withRows > 0 })
  const source = 'list' in stream.reads ? stream.reads.list : 'endpoint' in stream.reads ? stream.reads.endpoint : ''
  const gone: Found = keys.length === 0 ? {} : { tombstones: [{ stream, keys, source, readAt, lost: true }] }
  await writer.commit(run, changeSet([...found, reason === null ? gone : { held: [{ stream, keys, reason }] }]), {
    also: async (client) => {
      await forgetUndecided(client, task.runId)
      if (refused.length === 0 || isEmptyList) return
      await makeDue(client, [stream.name], refused)
      const problem = `${source} answered 404 for ${counted(refused.length, 'record')} that the API has (${refused[0]}). Nothing shows that it means an empty list. The known rows stay.`
      await noteRunError(client, task.runId, problem)
    },
  })
  await writer.end(run)
}

const keysOf = (rows: readonly EmptiedRow[]): readonly (readonly string[])[] => rows.map(({ key }) => key)

/**
 * Whether 404 below a record that is there means an empty list: no list of the stream was ever answered without records, and
 * this run was answered others with them. `withRows`: of so many refused ones the mirror has rows.
 */
async function meansEmpty(
  { context, stream }: TaskRun,
  facts: Pick<Awaited<ReturnType<typeof readBelow>>, 'answersRows' | 'answersNone'> & {
    readonly refused: number
    readonly withRows: number
  },
): Promise<boolean> {
  if (facts.refused === 0) return false
  const { pool } = context.database
  const setting = `${notFoundPrefix}${stream.name}`
  const isKnown = (await readDetected(pool, setting)) !== null
  if (isKnown && facts.answersNone) await contradictDetected(pool, setting, 'The API answered an empty list, too.')
  if (isKnown || facts.answersNone) return !facts.answersNone
  if (!facts.answersRows || facts.withRows === facts.refused) return false
  await saveDetected(pool, setting, 'an empty list')
  return true
}

type Verdict = {
  readonly found: readonly Found[]
  /** Why the rows are held; null: they may go. */
  readonly reason: string | null
}

/** @param read `rows`: what stands below all records that the run read; `isRefused`: some lists answered 404 */
async function judge(
  run: TaskRun,
  emptied: readonly EmptiedRow[],
  { rows, isRefused }: { readonly rows: number; readonly isRefused: boolean },
): Promise<Verdict> {
  const { context, stream, task } = run
  const { pool } = context.database
  const lost = await comingOf(pool, stream, keysOf(emptied), todayOf(run))
  const beyond = await beyondToday(pool, run, { stream, keys: lost }, lost.length)
  if (beyond !== null) return { found: [], reason: beyond }
  const single = stream.reads.kind === 'collection' ? stream.reads.single : undefined
  const { inserted, deleted } = await changedBy(pool, task.runId)
  const [before, left] = [rows - inserted + deleted, rows - inserted - lost.length]
  // Where nothing can be asked for, only what one run sees at once is suspicious.
  const above = new Set([...aboveOf(stream, lost), ...(single ? await aboveLostLately(pool, stream) : [])])
  const isSuspicious = (above.size > 1 && left * 2 <= before) || (isRefused && single !== undefined)
  if (lost.length === 0 || !isSuspicious) return { found: [], reason: null }
  const reason = `All ${stream.name} of ${counted(aboveOf(stream, lost).length, 'record')} are suddenly gone: ${left} of ${counted(before, 'row')} are left.`
  if (single === undefined) return { found: [], reason }
  const step = Math.max(1, emptied.length / sampleSize)
  const sample = Array.from({ length: Math.min(emptied.length, sampleSize) }, (_, place) => Math.floor(place * step))
  const rowsAsked = sample.flatMap((place) => emptied[place] ?? [])
  const asked: Answered<unknown>[] = []
  for await (const one of mapConcurrently(rowsAsked, context.settings.api.concurrency, (row) => ask(run, single, row)))
    asked.push(one)
  const there = asked.filter(({ outcome }) => outcome.kind !== 'gone').length
  const found = asked.map((one) => one.found)
  if (there === 0) return { found, reason: null }
  return { found, reason: `${reason} Of ${asked.length} that were requested one by one, ${there} did not answer 404.` }
}

/** Requests one row by its own endpoint, by each id that its path may take. */
async function ask(run: TaskRun, single: SingleRead, { key, otherId }: EmptiedRow): Promise<Answered<unknown>> {
  const { params } = parentValues(run.stream, aboveOf(run.stream, [key])[0] ?? '')
  const found: Found[] = []
  for (const id of [key.at(-1), otherId]) {
    if (!id) continue
    const { endpoint, param } = single
    const { outcome, found: own } = await readOutcome(run, { endpoint, params: { ...params, [param]: id } })
    found.push(own)
    if (outcome.kind !== 'gone') return { outcome, found: changeSet(found) }
  }
  return { outcome: { kind: 'gone' }, found: changeSet(found) }
}
