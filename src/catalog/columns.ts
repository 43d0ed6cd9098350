// Column builders: the name follows from the path, so that a table reads like the API's own list of fields.

import type { Column, ColumnType, StreamDef } from './types.ts'

type Extra = { readonly name?: string; readonly personal?: true; readonly lenient?: true; readonly reference?: true }

/** `departureHarbour.id` → `departure_harbour_id`; digits are not split off (`addressStreet1` → `address_street1`). */
function snakeCase(path: string): string {
  return path
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('.', '_')
    .toLowerCase()
}

const column =
  (type: ColumnType) =>
  (path: string, comment: string, extra: Extra = {}): Column => ({
    name: snakeCase(path),
    type,
    path,
    comment,
    ...extra,
  })

export const text = column('text')
export const bigint = column('bigint')
export const numeric = column('numeric')
export const boolean = column('boolean')
export const date = column('date')
export const timestamp = column('timestamptz')
export const json = column('jsonb')

/** The clock of the place at a date-time, as it is written: its offset is in the column of the instant. */
export const wallClock = column('timestamp')

/** A reference to a record of another table, by the id at `path`. */
export const reference = (path: string, comment: string, extra: Extra = {}): Column => ({
  ...bigint(path, comment, extra),
  reference: true,
})

/** A currency, which the API gives as a text or as an object. */
export const currency = (path: string, comment: string): Column => ({ ...json(path, comment), currency: true })

/** A key column that comes from the request, not from the record. */
export const fromRequest = (name: string, type: ColumnType, comment: string): Column => ({
  name,
  type,
  path: null,
  comment,
})

/** `id`, `key` and `name` where present: all that is likely of a record whose shape is not published (docs/sources.md, 2.7). */
export const unknownShape = (id: Column): readonly Column[] => [
  id,
  text('key', 'Code, if the API returns one.', { lenient: true }),
  text('name', 'Name, if the API returns one.', { lenient: true }),
]

/** Columns of records of a collection whose shape is not published, after the keys of what they belong to. */
export const keyedByContent: readonly Column[] = [
  fromRequest('key', 'text', "The record's own id, or else a hash of its content."),
  text('id', "The record's own id, if it has one.", { lenient: true }),
  text('name', 'Name, if the API returns one.', { lenient: true }),
]

/** The type of a stream's column by its name; text where it has none of that name. */
export const columnType = (stream: StreamDef, column: string): ColumnType =>
  stream.columns.find(({ name }) => name === column)?.type ?? 'text'

/** Meaning of the five columns that every mirror table has. */
export const bookkeepingComments: Readonly<Record<string, string>> = {
  _payload:
    'The whole record as last received: by its own endpoint if lists are summaries, otherwise by whichever read came last. With the member _erased, its personal values were erased by `privacy apply`, and it is read again.',
  _source:
    'The endpoint that returned it. With # and a place, the record is known only from inside another one (a stub).',
  _read_at:
    'When that request started, by the clock of the database. A write never replaces a row that was read later.',
  _changed_at: 'When this row was last written.',
  _deleted_at: 'When the record was found to be deleted in the API; null: it exists.',
}
