// The views over the tables of the mirror, made from the catalog: `mirror_views` has each table as `boat_mirror_reader` may
// see it, `live` each table as a question wants it: without what is gone, and with currencies as codes.

import { holdsPerson, streams } from '../catalog/catalog.ts'
import { bookkeepingComments } from '../catalog/columns.ts'
import type { Column, StreamDef } from '../catalog/types.ts'
import type { RepeatableStep, ViewDef } from '../database/repeatable-step.ts'
import { identifier } from '../database/sql.ts'
import { columnComment, tableComment } from './comments.ts'

type Columns = ViewDef['columns']

const bookkeeping = (except: readonly string[]): Columns =>
  Object.fromEntries(
    Object.entries(bookkeepingComments)
      .filter(([name]) => !except.includes(name))
      .map(([name, text]) => [name, [name, text]]),
  )

/** The columns of a table for roles that may not see persons; none of a document. */
function readerColumns(stream: StreamDef): Columns {
  if (stream.document === true) return {}
  const shown = stream.columns.filter((column) => column.personal !== true)
  return {
    ...Object.fromEntries(shown.map((column) => [column.name, [identifier(column.name), columnComment(column)]])),
    ...bookkeeping(holdsPerson(stream) ? ['_payload'] : []),
  }
}

export const readerViews: RepeatableStep = {
  name: 'views',
  views: streams
    .filter((stream) => stream.document !== true)
    .map((stream) => ({
      schema: 'mirror_views',
      name: stream.name,
      comment: tableComment(stream),
      columns: readerColumns(stream),
      source: `from mirror.${identifier(stream.name)}`,
    })),
  sql: '',
}

function liveColumn(column: Column): readonly [sql: string, comment: string] {
  const name = identifier(column.name)
  if (column.currency !== true) return [name, columnComment(column)]
  return [`report.currency_code(${name})`, `${columnComment(column)} Here its code; null: none is named.`]
}

const liveView = (stream: StreamDef): ViewDef => ({
  schema: 'live',
  name: stream.name,
  comment: `Without deleted records: ${tableComment(stream)}`,
  columns: {
    ...Object.fromEntries(stream.columns.map((column) => [column.name, liveColumn(column)])),
    ...bookkeeping(['_deleted_at']),
  },
  source: `from mirror.${identifier(stream.name)} where _deleted_at is null`,
})

/** The views of live; they depend on a function of the reports. */
export const liveViews: RepeatableStep = { name: 'live', views: streams.map(liveView), sql: '' }

/** Grants the columns of `live` that hold no person to a role: `select *` is for who may see all of a table. */
export const liveGrants = (role: string): readonly string[] =>
  streams.flatMap((stream) => {
    const columns = Object.keys(readerColumns(stream)).filter((name) => name !== '_deleted_at')
    if (columns.length === 0) return []
    return [`grant select (${columns.map(identifier).join(', ')}) on live.${identifier(stream.name)} to ${role}`]
  })
