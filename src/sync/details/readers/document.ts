// At most one child of a record: identity, license, the rental's resource.

import { convertValue } from '../../../api/wire/convert.ts'
import type { Json } from '../../../api/wire/json.ts'
import { streams } from '../../../catalog/catalog.ts'
import { columnType } from '../../../catalog/columns.ts'
import type { StreamDef } from '../../../catalog/types.ts'
import type { FilledWrite } from '../../../mirror/rows.ts'
import { projected } from '../../change-set.ts'
import type { Reading } from '../../context.ts'
import { valueAt } from '../../records/project.ts'
import { readOutcome } from '../single.ts'
import type { TaggedAnswers } from '../tagged-answers.ts'
import { type DetailRead, detailRead, notRead, parentValues } from './children.ts'

/**
 * Reads the document. How the API reports that there is none is undocumented: 204, an empty body, null and an empty object
 * mean it where there may be none.
 */
export async function readDocument(
  reading: Reading<'document'>,
  parentKey: string,
  answers: TaggedAnswers,
): Promise<DetailRead> {
  const { context, stream, reads } = reading
  const { endpoint } = reads
  const { params, request, scope } = parentValues(stream, parentKey)
  const call = { endpoint, params, tagOf: answers.tagOf, mayBeNone: reads.optional }
  const { outcome, found } = await readOutcome(reading, call)
  if (outcome.kind === 'there' && !outcome.value.isSame && reads.optional && outcome.value.isNone) {
    const readAt = context.clock.now()
    return detailRead(
      readAt,
      [{ stream, mode: 'record', source: endpoint, readAt, rows: [], replace: [scope] }],
      [found],
    )
  }
  if (outcome.kind !== 'there') return notRead(outcome, [found])
  const { body, startedAt, isSame } = outcome.value
  if (isSame) return detailRead(startedAt, [], [found, { counts: { read: answers.noteSame(outcome.value) } }])
  const own = projected({ stream, record: body, request, endpoint, timeZone: context.settings.timeZone })
  const findings = [found, { counts: { read: 1 } }, own.found]
  if (own.row === undefined) return detailRead(startedAt, [], findings)
  answers.noteReceived(outcome.value, 1)
  const embedding = stream.embeds === undefined ? [] : [{ stream, record: body, endpoint, readAt: startedAt }]
  return detailRead(
    startedAt,
    [{ stream, mode: 'record', source: endpoint, readAt: startedAt, rows: [own.row], replace: [] }],
    [...findings, { embedding, filled: filledBy(stream, parentKey, body, startedAt) }],
  )
}

/** Columns of other streams that this read fills: a rental's resource and company. */
const filledBy = (stream: StreamDef, parentKey: string, body: Json, readAt: Date): readonly FilledWrite[] =>
  streams.flatMap((target) => {
    if (target.filledBy?.stream !== stream.name) return []
    const values = target.filledBy.columns.map(({ column, path }) => {
      const converted = convertValue(columnType(target, column), valueAt(body, path), 'UTC')
      return [column, converted.ok ? converted.text : null] as const
    })
    return { stream: target, readAt, rows: [{ key: [parentKey], values: Object.fromEntries(values) }] }
  })
