// The versions of a record: its content, and from when to when. The change log has its insert and each change since.
// Where retention has deleted the beginning, the oldest version is what the oldest remaining entries and the row
// imply for the time before them; it counts from the beginning of the log. An erased person is null in the log, and
// so in every version.

import { embeddedPerson, isOfPerson, streams } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { RepeatableStep } from '../database/repeatable-step.ts'
import { fillSql, literal } from '../database/sql.ts'
import { laterValues, presentRow } from './feed.ts'
import versions from './versions.sql'

/** A `when` of a `case` for each stream. */
const byStream = (result: (stream: StreamDef) => string): string =>
  streams.map((stream) => `when ${literal(stream.name)} then ${result(stream)}`).join('\n    ')

/** The key columns, and a record of which nothing is known. */
const shape = ({ key, columns }: StreamDef): string =>
  `${literal(JSON.stringify({ key, blank: Object.fromEntries(columns.map(({ name }) => [name, null])) }))}::jsonb`

const personInside = (stream: StreamDef): string =>
  `array[${(embeddedPerson(stream)?.texts ?? []).map(({ column }) => literal(column)).join(', ')}]::text[]`

/** The column that says who it is. */
const personId = (stream: StreamDef): string => literal(embeddedPerson(stream)?.column ?? '')

/** `mirror.history` and `mirror.record_at`. */
export const versionFunctions: RepeatableStep = {
  name: 'version-functions',
  sql: fillSql(versions, {
    present: presentRow((diff) => `jsonb_build_object('diff', ${diff}, 'live', t._deleted_at is null)`),
    later: laterValues,
    person: `case record_before_log.stream ${byStream(personId)} end`,
    embedded: `case record_before_log.stream ${byStream(personInside)} end`,
    shapes: byStream(shape),
    persons: streams
      .filter(isOfPerson)
      .map(({ name }) => literal(name))
      .join(', '),
  }),
}
