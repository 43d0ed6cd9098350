// Whether the records of a list are only summaries of their singles: probed, stored for a day; and how the two are
// combined.

import type { Page } from '../../api/client.ts'
import { isHeldBack } from '../../api/retry.ts'
import { isName, isObject, type Json, parseJson, textOf } from '../../api/wire/json.ts'
import { ApiError } from '../../errors.ts'
import { entries, type Profile, readProfile } from '../../profile/profile.ts'
import type { Reading, TaskRun } from '../context.ts'
import { comparedRead, isSame } from '../details/comparison.ts'
import { noteReads } from '../due/reads.ts'
import { keyOf } from '../records/project.ts'
import { listedPayloads } from '../remembered/payloads.ts'

const probedRecords = 3

/**
 * Whether the records of this list are only summaries of their singles. Probed with the first records, again each
 * day. While it is unknown the list does not wait (`probeFirst`): its records count as summaries until then, which
 * loses no data of singles.
 */
export async function isSummary(run: TaskRun<'list'>, pages: readonly Page[], profile: Profile): Promise<boolean> {
  const { stream, task } = run
  const known = profile.value(entries.summary, stream.name)
  if (known === undefined) return true
  const isProbed = profile.isTrusted(entries.summary, stream.name) && !task.fullRead
  return isProbed ? known.summary : await probe(run, recordsOf(run, pages), profile)
}

/** Probes what is still unknown, with records that the list brought to the mirror. */
export async function probeFirst(run: TaskRun<'list'>): Promise<void> {
  const { context, stream, reads } = run
  const { pool } = context.database
  const profile = await readProfile(pool, context.clock)
  if (profile.value(entries.summary, stream.name) !== undefined) return
  const listed = await listedPayloads(pool, stream, reads.list, 2 * probedRecords)
  const records = listed.map(({ key, payload }): Listed => [key, parseJson(payload).value])
  await probe(run, records, profile)
}

type Listed = readonly [key: string, record: Json]

async function probe(run: TaskRun<'list'>, listed: Iterable<Listed>, profile: Profile): Promise<boolean> {
  const { pool } = run.context.database
  const { name } = run.stream
  const detected = profile.value(entries.summary, name)?.summary
  const { compared, same, missing, failure } = await compareWithSingles(run, listed)
  const { endpoint } = run.reads.single
  if ((await run.writer.economy(run)).compares(endpoint))
    await noteReads(
      pool,
      same.flatMap((each) => comparedRead(endpoint, each).reads ?? []),
    )
  if (compared === 0 && detected === undefined && failure !== undefined) throw failure
  if (compared === 0) return detected ?? false
  const summary = missing.size > 0
  if (detected !== undefined && detected !== summary)
    await profile.contradict(
      entries.summary,
      name,
      `Lists showed ${detected ? 'summaries' : 'complete records'} before.`,
    )
  await profile.found(entries.summary, name, { summary, missing: [...missing].sort().slice(0, 50) })
  return summary
}

type Comparison = {
  readonly compared: number
  /** For each: was it the same as a whole? */
  readonly same: readonly (boolean | null)[]
  readonly missing: ReadonlySet<string>
  readonly failure?: ApiError
}

/** Compares records of a list with their singles, until enough could be read or enough could not. */
async function compareWithSingles(reading: Reading<'list'>, listed: Iterable<Listed>): Promise<Comparison> {
  const missing = new Set<string>()
  const same: (boolean | null)[] = []
  let [compared, unread] = [0, 0]
  let failure: ApiError | undefined
  for (const [key, record] of listed) {
    if (compared === probedRecords || unread === probedRecords) break
    const single = await readSingle(reading, key)
    if (single instanceof ApiError) failure = single
    if (single instanceof ApiError || single === undefined) {
      unread += 1
      continue
    }
    compared += 1
    same.push(isSame(reading.stream, record, single))
    for (const path of missingInList(record, single)) missing.add(path)
  }
  return { compared, same, missing, ...(failure === undefined ? {} : { failure }) }
}

function* recordsOf({ stream, context }: Reading, pages: readonly Page[]): Generator<Listed> {
  for (const { items } of pages)
    for (let index = 0; index < items.length; index++) {
      const record = items.value(index)
      const key = keyOf(stream, record, context.settings.timeZone)?.[0]
      if (key !== undefined) yield [key, record]
    }
}

/** The single of a record; undefined when it is refused or empty, and the error when all attempts failed. */
async function readSingle(
  { context, reads: { single }, signal }: Reading<'list'>,
  key: string,
): Promise<Json | ApiError | undefined> {
  try {
    const answer = await context.api.read({ endpoint: single.endpoint, params: { [single.param]: key }, signal })
    return answer.body
  } catch (error) {
    // A refused single proves nothing about the list; the details will report it.
    if (error instanceof ApiError && error.kind === 'skip') return undefined
    // One unreadable record must not keep all the others from the mirror; when all requests are held back, all wait.
    if (error instanceof ApiError && error.kind === 'retry' && !isHeldBack(error)) return error
    throw error
  }
}

/** Dotted paths of members that the single has and the list record lacks. Members that are null count as absent. */
export function missingInList(listed: Json, single: Json, prefix = ''): readonly string[] {
  if (!isObject(single)) return []
  // An id in place of the record says no more than that.
  if (!isObject(listed)) return isName(listed) && prefix !== '' ? [prefix] : []
  return Object.entries(single).flatMap(([name, value]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`
    const own = Object.hasOwn(listed, name) ? listed[name] : undefined
    if (own === undefined) return value === null ? [] : [path]
    return missingInList(own, value, path)
  })
}

/**
 * Lays a summary over the stored detail: fields of the summary win, missing ones stay, and so does a record of which
 * the summary holds only id or code.
 */
export function overlay(detail: Json | undefined, summary: Json): Json {
  if (isObject(detail) && isName(summary))
    return [detail.id, detail.code].some((name) => textOf(name) === textOf(summary)) ? detail : summary
  if (!isObject(detail) || !isObject(summary)) return summary
  const merged: { [key: string]: Json } = Object.create(null)
  for (const [name, value] of Object.entries(detail)) merged[name] = value
  for (const [name, value] of Object.entries(summary))
    merged[name] = name in merged ? overlay(merged[name], value) : value
  return { ...merged }
}
