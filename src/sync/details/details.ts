// Batches of details: fetched with overlap, compared by hash, committed together.

import { createHash } from 'node:crypto'
import { repeatsWithin } from '../../catalog/catalog.ts'
import { dateIn } from '../../clock.ts'
import { BoatMirrorError } from '../../errors.ts'
import type { TableWrite } from '../../mirror/rows.ts'
import { batches, mapConcurrently } from '../batches.ts'
import { changeSet, type Found } from '../change-set.ts'
import { listReading, type SyncContext, type TaskRun } from '../context.ts'
import { lastRank } from '../due/due.ts'
import { probeFirst } from '../lists/summary.ts'
import { batchSizeOf, detailPriority, keyBatches } from '../plan.ts'
import { projectionVersion } from '../records/project.ts'
import type { DetailState } from '../remembered/detail-states.ts'
import type { NewTask, Task } from '../runs/tasks.ts'
import { judgeGone } from './gone.ts'
import type { DetailRead } from './readers/children.ts'
import { prepareReader, type Reader } from './readers.ts'
import { TaggedAnswers } from './tagged-answers.ts'

/**
 * Plans the details of a run: batches of due details become tasks of one reason each, the more useful ones before the others
 * of all streams. Samples of records that do not depart soon come last.
 */
export async function runPlan(run: TaskRun): Promise<void> {
  const { stream, writer, task } = run
  const isList = stream.reads.kind === 'list'
  if (isList) await probeFirst(listReading(run, stream))
  else await writer.begin(run)
  const { due, sampled = [], isFirst = false, reads = [], links = [] } = await writer.plan(run)
  const all = [...due, ...sampled.map((each) => ({ ...each, rank: each.rank === 0 ? 0 : lastRank }))]
  const tasks = [...new Set(all.map(({ rank }) => rank))].flatMap((rank) => {
    const ofRank = all.filter((each) => each.rank === rank)
    return [...new Set(ofRank.map(({ reason }) => reason))].flatMap((reason) => {
      const keys = ofRank.flatMap((each) => (each.reason === reason ? each.key : []))
      const of = isFirst && reason !== 'sample' ? due.length : undefined
      return detailTasks(
        keyBatches(keys, batchSizeOf(ofRank.length)),
        { reason, priority: detailPriority(task, rank) },
        of,
      )
    })
  })
  const linking = keyBatches(links).map(
    (keys) => ({ kind: 'links', reason: 'new', priority: detailPriority(task, 1), payload: { asked: keys } }) as const,
  )
  await writer.end(run, { tasks: [...linking, ...tasks], reads, ...(!isList && { swept: due.length }) })
}

/** After this many failures in a row a batch gives up: the API is down, not the record bad. */
const patience = 20

/** Fewer records are not worth separate tasks. */
const fewestShared = 40

/** Details are committed together once in this time, in milliseconds: a kill repeats no more than that. */
const commitEveryMs = 2_000

/** Details fall due from three quarters of their age on (`dueKeys`). */
const repairAgeMs = ({ settings }: SyncContext): number => settings.detailMaxAgeMs * 0.75

/**
 * Fetches the details of a task's records. When something more urgent waits for a place, or other workers are idle,
 * the rest becomes separate tasks.
 */
export async function runDetails(run: TaskRun): Promise<void> {
  const { task, writer } = run
  const { keys, of } = task.payload as DetailTask
  const rest = await readDetails(run, keys, { isShared: true, of })
  await writer.end(run, rest.length === 0 ? undefined : { tasks: detailTasks(keyBatches(rest), task, of) })
}

type DetailTask = Pick<Wishes, 'of'> & { readonly keys: readonly string[] }

const detailTasks = (
  batches: readonly (readonly string[])[],
  { reason, priority }: Pick<Task, 'reason' | 'priority'>,
  of?: number,
): readonly NewTask[] => batches.map((keys) => ({ kind: 'details', reason, priority, payload: { keys, of } }))

type Wishes = {
  /** A first sample is made of the details of this many records: of these, their part. */
  readonly of?: number | undefined
  /** Stops, too, when no task waits: another worker may have nothing to do, and a good part is left to be shared. */
  readonly isShared?: boolean
}

/**
 * Fetches the details of records, except those that a killed worker had finished.
 * @returns the records that were not started: they are shared, or something more urgent waits for a place
 */
export async function readDetails(
  run: TaskRun,
  keys: readonly string[],
  { of, isShared = false }: Wishes = {},
): Promise<readonly string[]> {
  const { context, stream, task, writer } = run
  const known = await writer.knownDetails(run, keys)
  const economy = await writer.economy(run, of === undefined ? 0 : keys.length / of)
  const isWhole = repeatsWithin(stream).every(({ endpoint }) => economy.isRedundant(endpoint))
  const open = keys.filter((key) => {
    const { readAt = null, partly = false } = known.get(key) ?? {}
    return readAt === null || readAt < task.runStartedAt || (partly && !isWhole)
  })
  const read = await prepareReader(run, open, task.reason === 'sample' ? { ...economy, skips: () => false } : economy)
  // Details read again by a full sync or because of their age are compared with the rows, which repairs rows edited
  // by hand.
  const trustedSince = task.fullRead ? Number.POSITIVE_INFINITY : context.clock.now().getTime() - repairAgeMs(context)
  const left = open.values()
  let makesWay = false
  let begun = 0
  const fetched = mapConcurrently(
    whileNot(left, () => makesWay),
    context.settings.api.concurrency,
    async (key) => {
      begun += 1
      const state = known.get(key)
      const isTrusted = (state?.readAt?.getTime() ?? 0) >= trustedSince
      return await fetchDetail(run, read, { key, state, knownHash: isTrusted ? (state?.hash ?? null) : null })
    },
  )
  let failuresInARow = 0
  for await (const batch of batches(fetched, { limit: 500, lingerMs: commitEveryMs })) {
    for (const { failed } of batch) failuresInARow = failed ? failuresInARow + 1 : 0
    const changes = changeSet(batch.flatMap(({ found }) => found))
    await writer.commit(run, changes)
    if (failuresInARow >= patience)
      throw new BoatMirrorError(
        'API_UNREACHABLE',
        changes.problems.at(-1) ?? `${stream.name}: the API does not answer.`,
      )
    const unread = open.length - begun
    if (makesWay || unread === 0) continue
    const waiting = await writer.waiting(run)
    makesWay = waiting.urgent || (isShared && !waiting.any && unread >= fewestShared)
  }
  return [...left]
}

/** Takes from `items` until `stops`; what was not taken stays in it. */
function* whileNot<T>(items: Iterator<T>, stops: () => boolean): Generator<T> {
  while (!stops()) {
    const { done, value } = items.next()
    if (done) return
    yield value
  }
}

type Fetched = { readonly found: readonly Found[]; readonly failed: boolean }

/** The details of one record as they are known. */
type Before = {
  readonly key: string
  readonly state: DetailState | undefined
  /** What equals it is not written; null: whatever is answered is compared with the rows. */
  readonly knownHash: string | null
}

/** Fetches one record's details and decides what to write. */
async function fetchDetail(run: TaskRun, read: Reader, before: Before): Promise<Fetched> {
  const { context, stream } = run
  const { key, state, knownHash } = before
  const startedAt = context.clock.now()
  // What has its tag still is what `knownHash` stands for.
  const isKept = knownHash !== null && state?.projection === projectionVersion
  const answers = new TaggedAnswers((isKept && state.answers) || {})
  const detail = await read(key, answers)
  const { outcome, writes, found } = detail
  switch (outcome.kind) {
    case 'failed':
      return {
        found: [found, { problems: [`${stream.name} ${key}: ${outcome.reason}`], tables: writes }],
        failed: outcome.retry,
      }
    case 'gone':
      return { found: [found, { tables: writes }, await judgeGone(run, key, startedAt)], failed: false }
    case 'there':
      return { found: detailsFound(run, before, { ...detail, answers, startedAt }), failed: false }
    default:
      return outcome satisfies never
  }
}

/** What details lead to that were read. */
function detailsFound(
  run: TaskRun,
  { key, state: before, knownHash }: Before,
  { writes, found, answers, startedAt }: DetailRead & { readonly answers: TaggedAnswers; readonly startedAt: Date },
): readonly Found[] {
  const { stream } = run
  const partly = (found.reads ?? []).some(({ skipped = 0 }) => skipped > 0)
  if (stream.reads.kind === 'list') {
    const isKnown = (found.records ?? []).length > 0
    const records = [{ stream: stream.name, key, partly, ...(!isKnown && { detailReadAt: startedAt }) }]
    return [found, { tables: writes, records }]
  }
  const isGood = (found.bad ?? []).length === 0
  const isSame = answers.told === 'same'
  // Of what is partly as it was there is no hash: it is received whole the next time.
  const detailHash = isSame ? knownHash : answers.told === 'mixed' ? '' : hashOfWrites(writes)
  const unchanged = isSame || (writes.length > 0 && knownHash === detailHash && isGood)
  const rows = writes.reduce((sum, write) => sum + write.rows.length, answers.sameRows)
  const state = {
    stream: stream.name,
    key,
    detailHash,
    detailReadAt: startedAt,
    projection: projectionVersion,
    partly,
    unchanged,
  }
  const isTagged = detailHash && isGood && answers.told === 'whole' && answers.hasReceived
  return [
    found,
    unchanged ? { counts: { unchanged: rows } } : { tables: writes },
    { records: [state], tagged: isTagged ? [{ stream: stream.name, key, detailHash, answers: answers.received }] : [] },
    { counts: { unexpected: isUnexpected(run, before, state) ? 1 : 0 } },
  ]
}

/** Did details change within a day although nothing had made them due? Overnight their horizon moves. */
function isUnexpected(
  { context: { settings }, stream, task }: TaskRun,
  before: DetailState | undefined,
  { detailHash, detailReadAt }: { readonly detailHash: string | null; readonly detailReadAt: Date },
): boolean {
  if (stream.dueBy === undefined || !task.isScheduled || task.hot) return false
  if (!before?.hash || before.readAt === null || before.expected || before.hash === detailHash) return false
  if (before.projection !== projectionVersion) return false // the hash is of other columns
  return dateIn(settings.timeZone, before.readAt) === dateIn(settings.timeZone, detailReadAt)
}

/** A hash of what a collection's answer leads to, and of the range it covers. */
function hashOfWrites(writes: readonly TableWrite[]): string {
  const hash = createHash('md5').update(String(projectionVersion))
  for (const write of writes) {
    hash.update(JSON.stringify(write.replace ?? []))
    for (const row of write.rows)
      hash.update(JSON.stringify(row.key)).update(JSON.stringify(row.values)).update(row.payload)
  }
  return hash.digest('base64url')
}
