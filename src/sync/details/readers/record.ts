// The details of a record of a list: its single, and the reads that answer a record of another stream: the rental's user.

import { isObject, type Json } from '../../../api/wire/json.ts'
import { streamNamed } from '../../../catalog/catalog.ts'
import type { StreamDef } from '../../../catalog/types.ts'
import { stubSource } from '../../../database/sql.ts'
import { changeSet, type Found, projected } from '../../change-set.ts'
import type { TaskRun } from '../../context.ts'
import { valueAt } from '../../records/project.ts'
import { comparedRead, isSame } from '../comparison.ts'
import { type Known, readOutcome, readSingleRecord, singleParams } from '../single.ts'
import { type DetailRead, detailRead, notRead } from './children.ts'

/** Reads the single, and the related records except the skipped ones. */
export async function readRecord(run: TaskRun<'list'>, key: string, known: Known): Promise<DetailRead> {
  const [{ outcome, found }, related] = await Promise.all([
    readSingleRecord(run, key, known),
    run.writer.takesStubs ? readRelated(run, key, known) : [],
  ])
  const findings = [...related.map((each) => each.found), found]
  if (outcome.kind !== 'there') return notRead(outcome, findings)
  const { body, startedAt } = outcome.value
  const compared = related.flatMap(({ endpoint, path, stream, record }) => {
    if (record === undefined || !known.economy.compares(endpoint)) return []
    const embedded = valueAt(body, path) ?? null
    // A deleted user may still be inside the record, which proves nothing.
    const isUnknown = record === null && embedded !== null
    return [comparedRead(endpoint, isUnknown ? null : isSame(stream, embedded, record))]
  })
  return detailRead(startedAt, [], [...findings, ...compared])
}

type Related = {
  readonly endpoint: string
  readonly stream: StreamDef
  readonly path: string
  /** What was answered; null: nothing. */
  readonly record?: Json
  readonly found: Found
}

/**
 * Reads the related records. They are kept as stubs: the record's own list and single decide, so that a rental which still
 * names a deleted user does not bring that user back.
 */
async function readRelated(run: TaskRun<'list'>, key: string, { economy }: Known): Promise<readonly Related[]> {
  const { timeZone } = run.context.settings
  const related: Related[] = []
  for (const { endpoint, stream: name, path } of run.reads.related ?? []) {
    const stream = streamNamed(name)
    if (economy.skips(endpoint)) {
      related.push({ endpoint, stream, path, found: { reads: [{ endpoint, skipped: 1 }] } })
      continue
    }
    const { outcome, found } = await readOutcome(run, { endpoint, params: singleParams(run, key), mayBeNone: true })
    const findings: Found[] = [found]
    if (outcome.kind === 'failed') findings.push({ problems: [`${endpoint}: ${outcome.reason}`] })
    if (outcome.kind === 'there' && outcome.value.body !== null) {
      // Not counted as read: a record of another table is counted by that table's runs.
      const { body: record, startedAt: readAt } = outcome.value
      const own = projected({ stream, record, endpoint, timeZone })
      findings.push(own.found)
      if (own.row !== undefined && isObject(record))
        findings.push({ embedded: [{ stream, key: own.row.key, record, source: stubSource(endpoint, path), readAt }] })
    }
    const record = outcome.kind === 'there' ? outcome.value.body : null
    const answered = outcome.kind === 'failed' ? {} : { record }
    related.push({ endpoint, stream, path, ...answered, found: changeSet(findings) })
  }
  return related
}
