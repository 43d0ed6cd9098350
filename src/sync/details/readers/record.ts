// The details of a record of a list: its single, and the reads that answer a record of another stream: the rental's user.

import { isObject } from '../../../api/wire/json.ts'
import { streamNamed } from '../../../catalog/catalog.ts'
import { stubSource } from '../../../database/sql.ts'
import { changeSet, type Found, projected } from '../../change-set.ts'
import type { TaskRun } from '../../context.ts'
import { readOutcome, readSingleRecord, singleParams } from '../single.ts'
import { type DetailRead, detailRead, notRead } from './children.ts'

/** Reads the single and the related records; see `readSingleRecord` for the hash. */
export async function readRecord(run: TaskRun<'list'>, key: string, mirroredHash?: string): Promise<DetailRead> {
  const [{ outcome, found }, related] = await Promise.all([
    readSingleRecord(run, key, mirroredHash),
    run.writer.takesStubs ? readRelated(run, key) : {},
  ])
  if (outcome.kind !== 'there') return notRead(outcome, [related, found])
  return detailRead(outcome.value.startedAt, [], [related, found])
}

/**
 * Reads the related records. They are kept as stubs: the record's own list and single decide, so that a rental which still
 * names a deleted user does not bring that user back.
 */
async function readRelated(run: TaskRun<'list'>, key: string): Promise<Found> {
  const { timeZone } = run.context.settings
  const findings: Found[] = []
  for (const { endpoint, stream: name, path } of run.reads.related ?? []) {
    const stream = streamNamed(name)
    const { outcome, found } = await readOutcome(run, { endpoint, params: singleParams(run, key) })
    findings.push(found)
    if (outcome.kind === 'failed') findings.push({ problems: [`${endpoint}: ${outcome.reason}`] })
    if (outcome.kind !== 'there') continue
    // Not counted as read: what becomes of a record of another table is counted by that table's runs.
    const { body: record, startedAt: readAt } = outcome.value
    const own = projected({ stream, record, endpoint, timeZone })
    findings.push(own.found)
    if (own.row !== undefined && isObject(record))
      findings.push({ embedded: [{ stream, key: own.row.key, record, source: stubSource(endpoint, path), readAt }] })
  }
  return changeSet(findings)
}
