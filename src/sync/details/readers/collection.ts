// A collection of children: replaced from a complete answer, each element by its own single where there is one.

import { convertValue } from '../../../api/wire/convert.ts'
import type { Json } from '../../../api/wire/json.ts'
import { dateIn } from '../../../clock.ts'
import type { TableWrite } from '../../../mirror/rows.ts'
import { changeSet, type Found, projectedAll } from '../../change-set.ts'
import type { Reading } from '../../context.ts'
import type { Economy } from '../../economy.ts'
import { overlay } from '../../lists/summary.ts'
import { contentKeys, valueAt } from '../../records/project.ts'
import { comparedRead, isSame } from '../comparison.ts'
import { notTaken, type Outcome, readOutcome } from '../single.ts'
import type { TaggedAnswers } from '../tagged-answers.ts'
import { type DetailRead, detailRead, notRead, parentValues, readItems } from './children.ts'

type CollectionRead = { readonly economy: Economy; readonly answers: TaggedAnswers }

/** Reads a collection, and its singles except the skipped ones. */
export async function readCollection(
  reading: Reading<'collection'>,
  parentKey: string,
  { economy, answers }: CollectionRead,
): Promise<DetailRead> {
  const { context, stream, reads } = reading
  const { timeZone } = context.settings
  const { params, request, scope } = parentValues(stream, parentKey)
  const query: Record<string, string> =
    reads.dayParam === undefined ? {} : { [reads.dayParam]: dateIn(timeZone, context.clock.now()) }
  const isSample = answers.hasKept && reads.single !== undefined && !economy.skips(reads.single.endpoint)
  const { outcome, found } = await readItems(reading, {
    ...{ endpoint: reads.list, params, query },
    // Only an element that is received can be compared with its single.
    ...(!isSample && { tagOf: answers.tagOf }),
  })
  if (outcome.kind !== 'there') return notRead(outcome, [found])
  const { items, startedAt, isSame: isAsBefore } = outcome.value
  if (isAsBefore) return sameCollection(reading, startedAt, answers.noteSame(outcome.value), found)
  const singles = await Promise.all(
    items.map((item, index) => withSingle(reading, { item, params, economy, isSample: isSample && index === 0 })),
  )
  const failure = singles.find(({ failed }) => failed !== undefined)?.failed
  const keys = stream.keyed === 'content' ? contentKeys(singles.map(({ record }) => record)) : []
  const all = projectedAll(
    singles.map(({ record, source }, index) => ({
      stream,
      record,
      source,
      request: { ...request, key: keys[index] ?? null, position: String(index) },
      endpoint: reads.list,
      timeZone,
    })),
  )
  answers.noteReceived(outcome.value, all.rows.length)
  const source = reads.single?.endpoint ?? reads.list
  const replace = all.complete ? [scope] : []
  const writes: readonly TableWrite[] = [{ stream, mode: 'record', source, readAt: startedAt, rows: all.rows, replace }]
  const findings = [found, ...singles.map((single) => single.found), all.found, { counts: { read: singles.length } }]
  // The elements' own data is kept, and all of it is read again.
  return failure === undefined ? detailRead(startedAt, writes, findings) : notRead(failure, findings, writes)
}

/** An unchanged collection whose singles are skipped. */
function sameCollection({ reads }: Reading<'collection'>, startedAt: Date, rows: number, found: Found): DetailRead {
  const skipped = reads.single === undefined ? {} : { reads: [{ endpoint: reads.single.endpoint, skipped: rows }] }
  return detailRead(startedAt, [], [found, { counts: { read: rows } }, skipped])
}

type Element = {
  readonly item: Json
  readonly params: Record<string, string>
  readonly economy: Economy
  /** It is read as a sample. */
  readonly isSample: boolean
}

type WithSingle = {
  readonly record: Json
  readonly source?: string
  readonly found: Found
  /** Its single could not be read this time. */
  readonly failed?: Extract<Outcome<never>, { readonly kind: 'failed' }>
}

/**
 * The element's own single, laid over the element; the element itself if it has no single, or if that is skipped or
 * unavailable.
 */
async function withSingle(
  reading: Reading<'collection'>,
  { item, params, economy, isSample }: Element,
): Promise<WithSingle> {
  const { single } = reading.reads
  const found: Found[] = []
  const paths = single === undefined ? [] : ['id', single.fallbackPath].filter((path) => path !== undefined)
  for (const path of paths) {
    const id = convertValue('text', valueAt(item, path), 'UTC')
    if (single === undefined || !id.ok || id.text === null || id.text === '') continue
    const { endpoint } = single
    if (found.length === 0 && !isSample && economy.skips(endpoint))
      return { record: item, source: reading.reads.list, found: { reads: [{ endpoint, skipped: 1 }] } }
    const { outcome, found: own } = await readOutcome(reading, {
      endpoint,
      params: { ...params, [single.param]: id.text },
      mayBeNone: true,
    })
    found.push(own)
    // Laid over the element, because "nothing is dropped" holds for what only the list says as well.
    if (outcome.kind === 'there' && outcome.value.body !== null) {
      const { body } = outcome.value
      const other = otherKeyIn(reading, item, body)
      if (other !== undefined) return { record: item, found: changeSet(found), failed: notTaken(endpoint, other) }
      if (economy.compares(endpoint))
        found.push(comparedRead(endpoint, isSame(reading.stream, item, body), economy.isRedundant(endpoint)))
      return { record: overlay(item, body), found: changeSet(found) }
    }
    if (outcome.kind === 'failed') {
      if (outcome.retry || outcome.isOdd) return { record: item, found: changeSet(found), failed: outcome }
      found.push({ problems: [`${reading.stream.name}: ${outcome.reason}`] })
      break
    }
  }
  return { record: item, found: changeSet(found) }
}

/** How the single of an element says that it is another one; undefined: it has the same key, or none. */
function otherKeyIn({ stream, context }: Reading<'collection'>, item: Json, body: Json): string | undefined {
  for (const { name, path, type } of stream.columns) {
    if (path === null || !stream.key.includes(name)) continue
    const [asked, answered] = [item, body].map((record) => {
      const converted = convertValue(type, valueAt(record, path), context.settings.timeZone)
      return converted.ok ? converted.text : null
    })
    if (asked && answered && asked !== answered) return `${path} is ${answered}, but ${asked} was requested`
  }
  return undefined
}
