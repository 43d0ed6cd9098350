// The feed: what the change log stores, and how `mirror.changes_since` and the view `mirror.changes` complete it.
//
// An entry holds `{column: [old, new]}`. The first entry of a key would repeat the row beside it, so it is not `whole`: it
// is completed when it is read, with the values at its time. The value of each column comes from, in this order:
//   the entry itself                  the person in a record, by which a deleted one is found; null for redacted values
//   the first later `old` of it       entries of one key have their numbers in the order of its changes (feed-order.ts)
//   the row                           no later entry names the column: it is unchanged
// So no write may change a row's column without logging its old value. Where a diff has no place for it, it is logged under
// `_before`, which readers never see: a revival logs `[null, new]` of a row that still held the tombstone's values, and the
// tombstone of a document drops them. Rows that may be removed before their log entries (calendars, whose past days are
// deleted) are logged whole. A reader's snapshot has a row and its entries from the same commits; that the feed does not
// give the latest of them yet makes no difference. History starts at the beginning of the log (history.ts): it never shows
// a later entry of a key before its first.
//
// Example: harbour 7, {"name": "Brest", "postal_code": "29200"}. What is logged, and what the feed gives in the end:
//   seq 1  insert, not whole  {}                                               insert {"id": [null, 7], "name": [null, "Brest"], "postal_code": [null, "29200"]}
//   seq 2  update             {"name": ["Brest", "Lorient"]}                   the same
//   seq 3  delete             {"_deleted_at": [null, "…"]}                     the same
//   seq 4  insert, whole      {"id": [null, 7], "name": [null, "Groix"],       insert {"id": [null, 7], "name": [null, "Groix"]}
//                              "_before": {"name": "Lorient", "postal_code": "29200"}}
// For seq 1, `name` comes from the old value of seq 2, `postal_code` from before seq 4, `id` from the row.

import { embeddedPerson, parentOf, streams } from '../catalog/catalog.ts'
import { columnType } from '../catalog/columns.ts'
import type { Column, StreamDef } from '../catalog/types.ts'
import type { RepeatableStep } from '../database/repeatable-step.ts'
import { fillSql, identifier, literal } from '../database/sql.ts'
import { formerly, formerValues, insertDiff, keyObject } from './diff-sql.ts'
import feed from './feed.sql'

/** Member of a diff that keeps what a row held and no reader is shown. */
const beforeMember = '_before'

/** What an entry also stores: the values of the row `before` in columns that differ in `after`. */
export const keepingBefore = (columns: readonly string[], before: string, after: string): string =>
  `jsonb_build_object('${beforeMember}', ${formerValues(columns, before, after)})`

/** The same of columns that a row loses; `held` has what they held (`formerly`). */
export const keepingLost = (columns: readonly string[], held: string): string =>
  `jsonb_build_object('${beforeMember}', jsonb_build_object(${columns.map((column) => `'${column}', ${held}.${formerly(column)}`).join(', ')}))`

/**
 * Rows of calendars vanish without a trace once their day is long past, and so do rows below them: their entries must
 * hold everything.
 */
function mayVanish(stream: StreamDef): boolean {
  const parent = parentOf(stream)
  return stream.horizon !== undefined || (parent !== undefined && mayVanish(parent))
}

/** The column that names the person in a record; it is part of the first entry, where redaction searches for it. */
export const personColumn = (stream: StreamDef): string | undefined => embeddedPerson(stream)?.column

/**
 * `key, operation, diff, whole` of the first entry of a key whose row is new. `row` is an alias of all columns that a
 * normal write sets, or, where nothing but the key and `personColumn` is said, of these.
 */
export function firstEntry(stream: StreamDef, own: readonly string[], row: string): string {
  const key = `${keyObject(stream.key, row)}, 'insert'`
  if (mayVanish(stream)) return `${key}, ${insertDiff(own, row)}, true`
  const person = personColumn(stream)
  return `${key}, ${person === undefined ? `'{}'::jsonb` : insertDiff([person], row)}, false`
}

/**
 * An entry without some columns, given as an array of SQL, and whether it holds something of them. What says of one that it was
 * dropped stays.
 */
export function logWithout(columns: string): { readonly diff: string; readonly holds: string } {
  const names = `unnest(${columns}) name`
  const diff = `diff - array(select name from ${names} where diff -> name <> '[null, null]')
    || case when diff ? '${beforeMember}'
      then jsonb_build_object('${beforeMember}', (diff -> '${beforeMember}') - ${columns}) else '{}' end
    || case when whole then '{}'
      else (select jsonb_object_agg(name, '[null, null]'::jsonb) from ${names}) end`
  return { diff, holds: `diff is distinct from (${diff})` }
}

const { diff: redacted, holds } = logWithout('$3::text[]')

/** Whether an entry still holds something of these columns ($3). */
export const holdsColumns = holds

/**
 * Drops columns from the entries of some records: no reader sees the values again, and a first entry does not take
 * them from elsewhere. Parameters: stream, keys (jsonb[]), columns.
 */
export const redactLog = `update mirror.change_log set diff = ${redacted}
  where stream = $1 and key = any($2::jsonb[]) and ${holdsColumns}`

/** A value as JSON text, times in UTC as they are logged, whatever the time zone of who reads. */
const utcText = ({ type }: Column, value: string): string =>
  type === 'timestamptz'
    ? `rtrim(to_json(${value} at time zone 'UTC')::text, '"') || '+00:00"'`
    : `to_json(${value})::text`

/** Each stream with SQL of what `result` makes of the diff that an insert of the row beside the entry `c` would have. */
function rowsBeside(result: (diff: string) => string): readonly (readonly [stream: string, sql: string])[] {
  return streams.map((stream) => {
    const same = stream.key.map(
      (column) => `t.${identifier(column)} = (c.key ->> ${literal(column)})::${columnType(stream, column)}`,
    )
    const texts = new Map(stream.columns.map((column) => [column.name, column]))
    const diff = insertDiff([...texts.keys()], 't', (name, value) => {
      const column = texts.get(name)
      return column === undefined ? value : utcText(column, value)
    })
    const row = `mirror.${identifier(stream.name)} t where ${same.join(' and ')}`
    return [literal(stream.name), `(select ${result(diff)} from ${row})`]
  })
}

/** The same of whichever stream the entry is; null where there is no row. */
export const presentRow = (result: (diff: string) => string): string =>
  `case c.stream ${rowsBeside(result)
    .map(([stream, row]) => `when ${stream} then ${row}`)
    .join('\n    ')} end`

/** What an entry says that the row held before it: `name` and `value`. */
export function formerPairs(entry: string): string {
  return `select d.name, d.pair -> 0 as value from jsonb_each(${entry}.diff) d (name, pair)
      where ${entry}.operation = 'update' and left(d.name, 1) <> '_'
      union all
      select b.name, b.value from jsonb_each(${entry}.diff -> '${beforeMember}') b (name, value)`
}

/**
 * The values of the row of entry `c` according to later entries: of a member that occurs twice the last one counts,
 * and therefore of these entries the first. `offset 0` keeps the search for the key separate; otherwise a Postgres
 * without statistics reads everything logged later.
 */
export const laterValues = `(select jsonb_object_agg(held.name, jsonb_build_array(null, held.value) order by l.seq desc)
    from (select * from mirror.change_log k where k.key = c.key offset 0) l cross join lateral (${formerPairs('l')}) held
    where l.stream = c.stream and l.seq > c.seq)`

/** The key of the entry `c` as the diff of an insert, where its row is not there. */
const givenKey = `(select jsonb_object_agg(name, jsonb_build_array(null, value)) from jsonb_each(c.key) k (name, value))`

const itself = (diff: string): string => diff

/** The diff of the entry `c` as readers get it; `first` is that of a first entry. */
const told = (first: string): string => `case when c.whole then c.diff - '${beforeMember}' else ${first} end`

/** The diff of the entry `c`, one by one; many at once cost less where their query completes them. */
export const shownDiff = told('mirror_log.first_diff(c.stream, c.key, c.seq, c.diff)')

/** The feed, and what the view calls. */
export const feedFunctions: RepeatableStep = {
  name: 'feed-functions',
  sql: fillSql(feed, {
    diff: told(`mirror.whole_diff(coalesce(${presentRow(itself)}, ${givenKey}), ${laterValues}, c.diff)`),
    branches: rowsBeside(itself)
      .map(([stream, row]) => `when ${stream} then present := ${row};`)
      .join('\n    '),
    later: laterValues,
    given: givenKey,
  }),
}

/** The change log for who reads it as a table. */
export const feedView: RepeatableStep = {
  name: 'feed-view',
  views: [
    {
      schema: 'mirror',
      name: 'changes',
      comment:
        'mirror.change_log with complete diffs, as mirror.changes_since returns them. seq is the order of writing, not of commit: follow changes with mirror.changes_since.',
      columns: {
        seq: ['c.seq', 'Sequence number, in order of writing, not of commit.'],
        stream: ['c.stream', 'The table, without its schema.'],
        key: ['c.key', 'The key columns, as an object.'],
        operation: ['c.operation', 'insert (also when a deleted record returns), update or delete.'],
        changed_at: ['c.changed_at', 'When the entry was written, by the clock of the database.'],
        diff: [
          shownDiff,
          '{column: [old, new]}; _payload only if no column changed. Values of erased persons are removed.',
        ],
      },
      // Without a condition, so that Postgres plans it as the table: a policy hides that from restricted roles.
      source: `from mirror.change_log c union all
        select l.seq, l.stream, l.key, l.operation, l.changed_at, l.diff from mirror_log.company_changes() l`,
    },
  ],
  sql: '',
}
