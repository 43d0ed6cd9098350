// Schema mirror_views: each table of the mirror as `boat_mirror_reader` may see it. Documents are left out, of persons
// only what is not personal is shown, and a payload only where the record holds no person.

import { holdsPerson, streams } from '../catalog/catalog.ts'
import { bookkeepingComments } from '../catalog/columns.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { RepeatableStep, ViewDef } from '../database/repeatable-step.ts'
import { identifier } from '../database/sql.ts'
import { columnComment, tableComment } from './comments.ts'

/** Streams that the reader sees at all. */
export const readableStreams = streams.filter((stream) => stream.document !== true)

function view(stream: StreamDef): ViewDef {
  const shown = stream.columns.filter((column) => column.personal !== true)
  const bookkeeping = Object.entries(bookkeepingComments).filter(
    ([name]) => name !== '_payload' || !holdsPerson(stream),
  )
  return {
    schema: 'mirror_views',
    name: stream.name,
    comment: tableComment(stream),
    columns: Object.fromEntries([
      ...shown.map((column) => [column.name, [identifier(column.name), columnComment(column)]]),
      ...bookkeeping.map(([name, text]) => [name, [name, text]]),
    ]),
    source: `from mirror.${identifier(stream.name)}`,
  }
}

export const views: RepeatableStep = { name: 'views', views: readableStreams.map(view), sql: '' }
