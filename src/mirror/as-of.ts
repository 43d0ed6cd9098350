// The rows of a stream as they were at a moment: the present rows, with every change since then undone. A row without one is
// as it was. Of the others the first change shows whether the row was there (an insert: it was not), and of each column the
// first one that names it what it held. So no first entry is read, whose diff may be omitted, and nothing from before the
// moment. Rows of calendars that retention has deleted since are missing.

import { companyStreamOf, embeddedPerson, isOfPerson, streams } from '../catalog/catalog.ts'
import { columnType } from '../catalog/columns.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { RepeatableStep } from '../database/repeatable-step.ts'
import { fillSql, identifier, literal } from '../database/sql.ts'
import asOf from './as-of.sql'
import { columnList, keyObject } from './diff-sql.ts'
import { formerPairs } from './feed.ts'

/** Whether the row `t` has the key of `u`. */
const hasKey = (stream: StreamDef): string =>
  stream.key
    .map((name) => `t.${identifier(name)} = (u.key ->> ${literal(name)})::${columnType(stream, name)}`)
    .join(' and ')

/** What a row held. Where it was of a person who is gone, and is of another one since, what the row says is that person's. */
function held(stream: StreamDef): string {
  const person = embeddedPerson(stream)
  if (person === undefined) return 'u.held'
  const then = `u.held ->> ${literal(person.column)}`
  const texts = Object.fromEntries(person.texts.map(({ column }) => [column, null]))
  return `case when exists (select from mirror.users p where p.id = (${then})::bigint and p._deleted_at is not null)
        or exists (select from sync.erased e where e.stream = 'users' and e.key = ${then})
      then ${literal(JSON.stringify(texts))}::jsonb || u.held else u.held end`
}

type Wanted = {
  /** A condition on the row `t`. */
  readonly only?: string
  /** Columns of the table that the catalog does not have, as they are now. */
  readonly also?: readonly string[]
  /** With the rows that were deleted by then. */
  readonly gone?: boolean
}

/** A from-item without alias: the rows of a stream before some of its entries, which are given as a select. */
export function rowsBefore(stream: StreamDef, entries: string, wanted: Wanted = {}): string {
  const { only = 'true', also = [], gone = false } = wanted
  const table = `mirror.${identifier(stream.name)}`
  const names = [...stream.columns.map(({ name }) => name), ...also]
  return `(with undone as materialized (
      select l.key, (array_agg(case when l.diff ? '_before' and l.operation = 'insert' then 'revival' else l.operation end order by l.seq))[1] as first,
        coalesce(jsonb_object_agg(h.name, h.value order by l.seq desc) filter (where h.name is not null), '{}') as held
      from (${entries}) l left join lateral (${formerPairs('l')}) h on true group by l.key)
    select ${columnList(names, 't')} from ${table} t
    where ${gone ? 'true' : 't._deleted_at is null'} and ${only} and not exists (select from undone u where ${hasKey(stream)})
    union all
    select ${columnList(names, 'r')} from undone u join ${table} t on ${hasKey(stream)}
      cross join lateral jsonb_populate_record(t, ${held(stream)}) r
    where ${gone ? `u.first <> 'insert'` : `u.first not in ('insert', 'revival')`} and ${only})`
}

/** The same as they were at a moment. */
export const rowsAsOf = (stream: StreamDef, at: string, wanted?: Wanted): string =>
  rowsBefore(
    stream,
    `select * from mirror.change_log e where e.stream = ${literal(stream.name)} and e.changed_at > ${at}`,
    wanted,
  )

/** Whether a role that sees only the companies $2 saw the row `r` at $1. */
function isSeen(stream: StreamDef): string {
  if (isOfPerson(stream)) return `(select company_access.refuse(${literal(stream.name)}))`
  const above = companyStreamOf(stream)
  if (above === undefined) return 'true'
  if (above === stream) return `($2 is null or r.${identifier(stream.companyColumn ?? '')} = any($2))`
  const [own = '', key = ''] = [stream.key[0], above.key[0]]
  return `($2 is null or r.${identifier(own)} in (select (p.key ->> ${literal(key)})::${columnType(above, key)}
    from mirror.as_of(${literal(above.name)}, $1) p))`
}

const selectOf = (stream: StreamDef): string =>
  `select ${keyObject(stream.key, 'r')}, to_jsonb(c) from ${rowsAsOf(stream, '$1')} r
    cross join lateral (select ${columnList(
      stream.columns.map(({ name }) => name),
      'r',
    )}) c where ${isSeen(stream)}`

/** `mirror.as_of`. */
export const asOfFunctions: RepeatableStep = {
  name: 'as-of-functions',
  sql: fillSql(asOf, {
    selects: streams.map((each) => `when ${literal(each.name)} then ${literal(selectOf(each))}`).join('\n    '),
  }),
}
