// Schema mirror_views: each table of the mirror as `boat_mirror_reader` may see it. Documents are left out, of persons
// only what is not personal is shown, and a payload only where the record holds no person.

import { streams } from '../../catalog/catalog.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { holdsPerson } from '../persons.ts'
import { bookkeepingComments, columnComment, tableComment } from './comments.ts'
import { identifier, literal, type RepeatableStep } from './step.ts'

/** Streams that the reader sees at all. */
export const readableStreams = streams.filter((stream) => stream.document !== true)

function view(stream: StreamDef): string {
  const shown = stream.columns.filter((column) => column.personal !== true)
  const bookkeeping = Object.entries(bookkeepingComments).filter(
    ([name]) => name !== '_payload' || !holdsPerson(stream),
  )
  const names = [...shown.map((column) => column.name), ...bookkeeping.map(([name]) => name)]
  const name = `mirror_views.${identifier(stream.name)}`
  return [
    // A view cannot lose columns by being replaced; what stands on it is made anew by the steps after this one.
    `drop view if exists ${name} cascade;`,
    `create view ${name} as select ${names.map(identifier).join(', ')} from mirror.${identifier(stream.name)};`,
    `comment on view ${name} is ${literal(tableComment(stream))};`,
    ...shown.map(
      (column) => `comment on column ${name}.${identifier(column.name)} is ${literal(columnComment(stream, column))};`,
    ),
    ...bookkeeping.map(([column, text]) => `comment on column ${name}.${identifier(column)} is ${literal(text)};`),
  ].join('\n')
}

export const views: RepeatableStep = { name: 'views', sql: readableStreams.map(view).join('\n') }
