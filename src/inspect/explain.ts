// Everything known of one record, and why it is or is not deleted, in sentences.

import { childrenOf, streamNamed, withAncestors } from '../catalog/catalog.ts'
import { keyText } from '../catalog/keys.ts'
import type { StreamDef } from '../catalog/types.ts'
import { isStubSource, type Queryable } from '../database/sql.ts'
import { holderOf } from '../sync/due/candidates.ts'
import { type DueSettings, type NextRead, nextReads } from '../sync/due/due.ts'
import { reasons } from '../sync/due/reasons.ts'
import { type PausedStream, pausedStreams } from '../sync/due/stream-state.ts'
import { type QuarantineFacts, quarantinedRecord } from '../sync/quarantine.ts'
import {
  type Below,
  deletingRunAround,
  type HistoryEntry,
  heldBy,
  type LastSweep,
  lastSweep,
  type PastRead,
  pastReads,
  type RecordChange,
  type RecordRow,
  type RunAround,
  recordChanges,
  recordHistory,
  recordRow,
  rowsBelow,
} from './record-queries.ts'

type RecordState = 'alive' | 'stub' | 'deleted' | 'absent'

export type RecordFacts = {
  readonly stream: string
  /** Key columns and their values. */
  readonly key: Readonly<Record<string, string>>
  readonly row: RecordRow | null
  readonly below: readonly Below[]
  readonly history: { readonly total: number; readonly entries: readonly HistoryEntry[] }
  readonly quarantine: QuarantineFacts | null
  readonly changes: readonly RecordChange[]
  /** Its parent record; null: it has none. */
  readonly parent: { readonly stream: string; readonly key: string; readonly state: RecordState } | null
  /** The run during which it was marked as deleted. */
  readonly deletingRun: RunAround | null
  readonly lastSweep: LastSweep | null
  /** The run that holds its deletion back. */
  readonly heldBy: string | null
}

export type Explanation = RecordFacts & {
  readonly state: RecordState
  readonly why: readonly string[]
  /** Why and when it, or the record that contains it, was read within a day, newest first. */
  readonly reads: readonly PastRead[]
  /** Why and when its details, or those of the record that contains it, are read next; null: never. */
  readonly next: NextRead | null
  /** The stream that reads it, if it is paused. */
  readonly paused: PausedStream | null
}

/** The most entries of history and outbox. */
const shownEntries = 50

/** Collects the facts. Throws Postgres's error for a key of the wrong type (SQLSTATE class 22). */
export async function explainRecord(
  db: Queryable,
  stream: StreamDef,
  key: readonly string[],
  settings: DueSettings,
): Promise<Explanation> {
  const text = keyText(key)
  const row = await recordRow(db, stream, key)
  const below: Below[] = []
  for (const child of childrenOf(stream.name)) below.push(await rowsBelow(db, child, key, text))
  const facts: RecordFacts = {
    stream: stream.name,
    key: Object.fromEntries(stream.key.map((name, index) => [name, key[index] ?? ''])),
    row,
    below,
    history: await recordHistory(db, stream, key, shownEntries),
    quarantine: await quarantinedRecord(db, stream.name, text),
    changes: await changesOf(db, stream, key),
    parent: await parentOf(db, stream, key),
    deletingRun: row?.deletedAt ? await deletingRunAround(db, runningStream(stream), row.deletedAt) : null,
    lastSweep: stream.reads.kind === 'list' ? await lastSweep(db, stream.name, text) : null,
    heldBy: await heldBy(db, stream.name, text),
  }
  const state = stateOf(row)
  const ahead = row?.isAhead === true ? [aheadOfClock(stream)] : []
  const reading = streamNamed(runningStream(stream))
  const holderKey = key.slice(0, holderOf(reading).key.length)
  const reads = await pastReads(db, reading.name, keyText(holderKey))
  const [next = null] = await nextReads(db, reading, holderKey, settings)
  const paused = (await pausedStreams(db)).find((each) => each.stream === reading.name) ?? null
  return { ...facts, state, why: [...whyDeleted(stream, state, facts), ...ahead], reads, next, paused }
}

const aheadOfClock = (stream: StreamDef): string =>
  `Its read time is ahead of the database's clock. The next run of ${runningStream(stream)} corrects that and reads it again.`

/** Why and when details are read next, in a sentence. Pure. */
export function whenNext({ reason, listed, oldAt }: NextRead, shown: (time: Date | null) => string): string {
  if (reason !== null) return `At the next run, because ${reasons[reason]} (${reason}).`
  return listed
    ? 'Only as a sample, because its list shows all that its own read would return.'
    : `From ${shown(oldAt)}, or as soon as a change is seen.`
}

/** The stream whose runs read this one. */
const runningStream = (stream: StreamDef): string =>
  stream.reads.kind === 'inside' && stream.parent !== undefined ? stream.parent : stream.name

function stateOf(row: Pick<RecordRow, 'deletedAt' | 'source'> | null): RecordState {
  if (row === null) return 'absent'
  if (row.deletedAt !== null) return 'deleted'
  return isStubSource(row.source) ? 'stub' : 'alive'
}

async function changesOf(db: Queryable, stream: StreamDef, key: readonly string[]): Promise<readonly RecordChange[]> {
  const aggregate = withAncestors(stream)[0]?.aggregate
  if (aggregate === undefined) return []
  const scope = { aggregate: `${aggregate}:${key[0]}`, whole: stream.parent === undefined, stream: stream.name }
  return await recordChanges(db, { ...scope, key, text: keyText(key) }, shownEntries)
}

async function parentOf(db: Queryable, stream: StreamDef, key: readonly string[]): Promise<RecordFacts['parent']> {
  if (stream.parent === undefined) return null
  const parent = streamNamed(stream.parent)
  const parentKey = key.slice(0, parent.key.length)
  return { stream: parent.name, key: keyText(parentKey), state: stateOf(await recordRow(db, parent, parentKey)) }
}

/** Why the record is or is not deleted, in sentences. Pure. */
export const whyDeleted = (stream: StreamDef, state: RecordState, facts: RecordFacts): readonly string[] => [
  whyIn[state](facts, stream),
]

const whyIn: Readonly<Record<RecordState, (facts: RecordFacts, stream: StreamDef) => string>> = {
  absent: whyAbsent,
  deleted: whyGone,
  stub: ({ row }) =>
    `It is known only from another record (${row?.source ?? ''}), which also refreshes it. It is not considered for deletion until it has been read itself.`,
  alive: whyAlive,
}

function whyAbsent({ quarantine, parent, history }: RecordFacts): string {
  if (quarantine !== null)
    return `The API returned it, but it could not be mirrored. Quarantine entry ${quarantine.id} shows why.`
  if (parent !== null && parent.state === 'absent')
    return `Its parent record, ${parent.stream} ${parent.key}, is not in the mirror either.`
  if (history.total > 0) return 'It was mirrored earlier. Past days are deleted after HISTORY_DAYS.'
  return 'Nothing that was read from the API contained it.'
}

function whyGone({ parent, changes, deletingRun }: RecordFacts, { reads }: StreamDef): string {
  if (parent !== null && parent.state === 'deleted')
    return `It was deleted with its parent record: ${parent.stream} ${parent.key} is deleted.`
  const own = changes.find(({ operation, status }) => status === 'done' && /\.(delete|remove)$/.test(operation))
  if (own !== undefined && deletingRun === null) return `Change ${own.id} (${own.operation}) deleted it.`
  return `${deletingRun === null ? 'It' : `During run ${deletingRun.id} it`} ${howGone[reads.kind]}.`
}

const notInDay = 'was no longer in the API response for its day'
const notInCollection = 'was no longer in the complete collection of its parent record'

/** What proves that a record of this kind is gone, to follow "it". */
const howGone: Readonly<Record<StreamDef['reads']['kind'], string>> = {
  list: 'was missing from a complete sweep or from its own endpoint, and that endpoint answered 404 or 410',
  inside: 'was no longer inside its parent record',
  collection: notInCollection,
  slots: notInCollection,
  document: 'was answered with 404 while its parent record exists',
  pricetable: notInDay,
  calendar: notInDay,
  availability: notInDay,
}

function whyAlive({ heldBy: run, lastSweep: sweep, row }: RecordFacts, stream: StreamDef): string {
  if (run !== null)
    return `Run ${run} did not find it in the list and holds its deletion. Review it with: boat-mirror runs show ${run}. Then run: boat-mirror runs release ${run}.`
  if (stream.reads.kind !== 'list') return 'The last API response that covers it contained it.'
  if (sweep === null)
    return 'No complete sweep has found it missing and confirmed that with a 404 or 410 from its own endpoint.'
  if (sweep.seen) return `Run ${sweep.id} found it in the list.`
  const since = row !== null && row.readAt > sweep.startedAt
  return since
    ? `Run ${sweep.id} did not find it in the list, but it was read after that run started.`
    : `Run ${sweep.id} did not find it in the list, but its own endpoint did not answer 404 or 410.`
}
