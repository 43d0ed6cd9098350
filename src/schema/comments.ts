// Comments on every table and column of `mirror` and `sync`, so that a client such as psql explains the database itself.

import { readEndpoints, readsOf, streams } from '../catalog/catalog.ts'
import { bookkeepingComments } from '../catalog/columns.ts'
import type { Column, StreamDef } from '../catalog/types.ts'
import type { RepeatableStep } from '../database/repeatable-step.ts'
import { fillSql, identifier, literal } from '../database/sql.ts'
import texts from './state-comments.sql'

/** Where a table's rows come from, as a sentence. */
export function describeReads(stream: StreamDef): string {
  const { reads } = stream
  if (reads.kind === 'inside') return `Read inside ${stream.parent ?? 'its parent'} (${reads.path}).`
  return `Read by ${readsOf(stream).join(', ')}.`
}

/** Addresses of the public pages among a stream's sources: what a user of the database can open. */
const publicPages = ({ source }: StreamDef): readonly string[] =>
  [...source.matchAll(/(?:resources|reference|guides)\/[\w/-]+/g)].map(
    ([page]) => `https://docs.digital-nautic.com/digitalnautic-api/${page}`,
  )

/** The comment of a table: meaning, endpoints, public pages. */
export const tableComment = (stream: StreamDef): string =>
  [stream.comment, describeReads(stream), ...publicPages(stream)].join(' ')

/** The comment of a column: meaning, place in the record, whether it is personal. */
export function columnComment(column: Column): string {
  const place = column.path === null ? '' : ` Field ${column.path}.`
  const personal = column.personal === true ? ' Personal: removed when the person is erased.' : ''
  return `${column.comment}${place}${personal}`
}

function mirrorComments(stream: StreamDef): readonly string[] {
  const table = `mirror.${identifier(stream.name)}`
  const bookkeeping = Object.entries(bookkeepingComments)
  return [
    `comment on table ${table} is ${literal(tableComment(stream))};`,
    ...stream.columns.map(
      (column) => `comment on column ${table}.${identifier(column.name)} is ${literal(columnComment(column))};`,
    ),
    ...bookkeeping.map(([name, text]) => `comment on column ${table}.${identifier(name)} is ${literal(text)};`),
  ]
}

/** Those of all that the catalog does not describe. */
export const stateComments = fillSql(texts, { read_endpoints: String(readEndpoints.length) })

/** The comments of every table and column, as a repeatable step. */
export const comments: RepeatableStep = {
  name: 'comments',
  sql: [...streams.flatMap(mirrorComments), stateComments].join('\n'),
}
