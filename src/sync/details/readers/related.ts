// Reads below a record that answer a record of another stream: the rental's user.

import { isObject } from '../../../api/wire/json.ts'
import { streamNamed } from '../../../catalog/catalog.ts'
import type { StreamDef } from '../../../catalog/types.ts'
import { stubSource } from '../../../database/sql.ts'
import type { SyncContext } from '../../context.ts'
import { projectInto, type Work } from '../../work.ts'
import { readOutcome, singleParams } from '../single.ts'

/**
 * Reads the related records. They are kept as stubs: the record's own list and single decide, so that a rental which still
 * names a deleted user does not bring that user back.
 */
export async function readRelated(
  context: SyncContext,
  stream: StreamDef,
  key: string,
  work: Work,
  signal: AbortSignal,
): Promise<void> {
  if (stream.reads.kind !== 'list') return
  for (const { endpoint, stream: name, path } of stream.reads.related ?? []) {
    const target = streamNamed(name)
    const outcome = await readOutcome(context, work, { endpoint, params: singleParams(stream, key), signal })
    if (outcome.kind === 'failed') work.problems.push(`${endpoint}: ${outcome.reason}`)
    if (outcome.kind !== 'there') continue
    // Not counted as read: what becomes of a record of another table is counted by that table's runs.
    const { body, startedAt } = outcome.value
    const projected = projectInto(work, target, body, {}, endpoint, context.settings.timeZone)
    if (projected.ok && isObject(body))
      work.embedded.push({
        stream: target,
        key: projected.row.key,
        record: body,
        source: stubSource(endpoint, path),
        readAt: startedAt,
      })
  }
}
