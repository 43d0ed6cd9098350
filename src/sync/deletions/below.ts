// The delete threshold below records: rows missing from a complete answer are deleted immediately while they are few, and
// those of a record that shows no others at the end of the run (`emptied.ts`). When more would be deleted within 24 hours
// than of a list, they wait for a decision. Counted in the transaction that deletes them.

import type { PoolClient } from 'pg'
import { parentOf } from '../../catalog/catalog.ts'
import { keyText } from '../../catalog/keys.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { dateIn } from '../../clock.ts'
import { counted } from '../../format.ts'
import { liveRows } from '../../mirror/kept-counts.ts'
import { makeDue } from '../../mirror/records.ts'
import type { LostRows, TableWrite } from '../../mirror/rows.ts'
import { type ChangeSet, changeSet, type HeldRows } from '../change-set.ts'
import type { TaskRun } from '../context.ts'
import { aboveLostLately, comingOf, heldBelow, lockLosses, lostLately } from '../remembered/losses.ts'
import { noteRunError } from '../runs/runs.ts'
import { addHeld, deletedLately, holdBelow } from '../runs/sweeps.ts'
import { alwaysAllowed, beyondLimit } from './threshold.ts'

/** Thrown to roll a transaction back that would delete too much; the same without these deletions may be committed. */
export class TooManyLost extends Error {
  readonly held: HeldRows

  constructor(held: HeldRows) {
    super(held.reason ?? 'The end of the run decides.')
    this.held = held
  }
}

/**
 * Slots and availability follow from bookings: a slot that is sold out is not a loss, and neither is a duration that
 * is no longer offered.
 */
const isLoss = ({ reads }: StreamDef): boolean => reads.kind !== 'slots' && reads.kind !== 'availability'

/** The key under which a run holds a row: rows inside a record are requested with the record. */
const heldKeyOf = ({ reads, parentKey = [] }: StreamDef, key: readonly string[]): string =>
  keyText(reads.kind === 'inside' ? key.slice(0, parentKey.length) : key)

/** Keys of the records above some rows, each once. */
export const aboveOf = ({ parentKey = [] }: StreamDef, keys: readonly (readonly string[])[]): readonly string[] => [
  ...new Set(keys.map((key) => keyText(key.slice(0, parentKey.length)))),
]

/**
 * Lets rows go that a complete answer did not bring, or throws.
 * @param client the transaction in which they went
 * @param tables what it wrote
 * @throws TooManyLost
 */
export async function assertMayGo(
  client: PoolClient,
  run: TaskRun,
  { stream, keys }: LostRows,
  tables: readonly TableWrite[],
): Promise<void> {
  const { context, released, task } = run
  if (!isLoss(stream)) return
  if (released !== undefined && keys.every((key) => released.has(heldKeyOf(stream, key)))) return
  const today = dateIn(context.settings.timeZone, context.clock.now())
  // A refresh concerns one record. At the end of a run all of them are known.
  if (stream.reads.kind !== 'inside' && task.kind !== 'refresh' && task.kind !== 'confirm') {
    const shown = tables.flatMap((write) => (write.stream === stream ? write.rows.map((row) => row.key) : []))
    const above = new Set(aboveOf(stream, shown))
    const alone = keys.filter((key) => aboveOf(stream, [key]).every((each) => !above.has(each)))
    const emptied = await comingOf(client, stream, alone, today)
    if (emptied.length > 0) throw new TooManyLost({ stream, keys: emptied, reason: null })
  }
  await lockLosses(client, stream.name)
  // All deletions of the stream: more than those that count, and found at once.
  const all = await deletedLately(client, stream.name)
  const held = stream.reads.kind === 'inside' ? 0 : await heldBelow(client, stream, keys.map(keyText))
  if (all + held <= alwaysAllowed) return
  const live = await liveRows(client, stream.name)
  const limit = context.settings.deleteLimit
  const judge = (lost: number): string | null => {
    const missing = Math.min(lost, keys.length) + held
    return beyondLimit({ live, missing, deletedLately: lost + held - missing, limit })
  }
  if (judge(all) === null) return
  const reason = judge(await lostLately(client, stream, today))
  if (reason !== null) throw new TooManyLost({ stream, keys, reason })
}

/** The same changes without the deletion of these rows: the rows below their records stay, and are requested again. */
export function withoutLost(changes: ChangeSet, held: HeldRows): ChangeSet {
  const { stream, keys } = held
  const above = new Set(aboveOf(stream, keys))
  const tables = changes.tables.map((write) => {
    if (write.stream !== stream || write.replace === undefined) return write
    const width = stream.parentKey?.length ?? 0
    return { ...write, replace: write.replace.filter(({ values }) => !above.has(keyText(values.slice(0, width)))) }
  })
  const parent = parentOf(stream)?.name
  const records = changes.records.flatMap((state) => {
    if (!above.has(state.key)) return state
    // What is still to be decided has been read.
    if (state.stream === stream.name) return held.reason === null ? { ...state, detailHash: '' } : []
    // Rows inside a record are compared when the record differs from its stored state.
    const isHolder = stream.reads.kind === 'inside' && state.stream === parent
    return isHolder ? { ...state, listHash: '', detailHash: '' } : state
  })
  const tagged = changes.tagged.filter((each) => each.stream !== stream.name || !above.has(each.key))
  const tombstones = changes.tombstones.filter((each) => each.stream !== stream || !each.lost)
  return changeSet([{ ...changes, tables, records, tagged, tombstones }, { held: [held] }])
}

/**
 * Holds rows until an operator decides, in the transaction that does not delete them. Rows that a refresh of one
 * record found are left to the next run.
 */
export async function keepLost(client: PoolClient, run: TaskRun, held: HeldRows): Promise<void> {
  const { task } = run
  const { stream, keys, reason } = held
  if (reason === null) return await addHeld(client, task.runId, keys.map(keyText), '-infinity')
  const above = aboveOf(stream, keys)
  // A transaction that was let through meanwhile has committed by then: its losses are among those counted again.
  await lockLosses(client, stream.name)
  if (stream.reads.kind !== 'inside') await makeDue(client, [stream.name], above)
  const what = `${counted(keys.length, 'row')} of ${stream.name}`
  if (task.kind === 'refresh') {
    await noteRunError(
      client,
      task.runId,
      `${what} would be deleted, but stay for now: ${reason} The next run decides.`,
    )
    return
  }
  const sample = above.slice(0, 20).map((key) => {
    const rows = keys.filter((each) => keyText(each.slice(0, stream.parentKey?.length)) === key)
    return { key, answer: `lost ${counted(rows.length, 'row')}` }
  })
  const heldKeys = [...new Set(keys.map((key) => heldKeyOf(stream, key)))]
  const isFirst = await holdBelow(client, task.runId, heldKeys, {
    ...{ reason, sample },
    ...{ parents: above.length, rows: keys.length },
  })
  if (!isFirst) return
  // What went before there was a reason to hold it may be back as well.
  await makeDue(client, [stream.name], await aboveLostLately(client, stream))
  logHeld(run, `${reason} Boat Mirror keeps ${what}.`, { missing: keys.length })
}

/** Logs why a run holds deletions, and how to decide about them. */
export const logHeld = ({ context, stream, task: { runId } }: TaskRun, why: string, facts: object): void =>
  context.log.warn(
    { event: 'deletions_held', stream: stream.name, run: runId, ...facts },
    `${why} Review with: boat-mirror runs show ${runId}. Delete what is still gone with: boat-mirror runs release ${runId}`,
  )
