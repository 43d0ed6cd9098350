// Comments on every table and column of `mirror` and `sync`, so that a client such as psql explains the database itself.

import { readsOf, streams } from '../../catalog/catalog.ts'
import type { Column, StreamDef } from '../../catalog/types.ts'
import { identifier, literal, type RepeatableStep } from './step.ts'
import { syncComments } from './sync-comments.ts'

/** Meaning of the five columns that every mirror table has. */
export const bookkeepingComments: Readonly<Record<string, string>> = {
  _payload: 'The last authoritative read, whole: the single read where lists are summaries, else whichever came last.',
  _source: 'The endpoint that answered; with # and a place: known only from inside that record (a stub).',
  _read_at: 'Database clock when that request started. A write never replaces a row read later than itself.',
  _changed_at: 'When this row was last written.',
  _deleted_at: 'When the record was found gone upstream; null: alive.',
}

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
  const personal = column.personal === true ? ' Personal: dropped when the person is gone.' : ''
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

const otherComments = (): readonly string[] =>
  Object.entries(syncComments).map(([subject, text]) => `comment on ${subject} is ${literal(text)};`)

export const comments: RepeatableStep = {
  name: 'comments',
  sql: [...streams.flatMap(mirrorComments), ...otherComments()].join('\n'),
}
