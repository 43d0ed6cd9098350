// The merge: how rows that were read get into a table of the mirror. Pure: the statements are built once per stream.
//
// `writer.ts` stages a batch by COPY or sends it with the statement (`staging.ts`). One statement per stream takes its rows
// through these steps:
//   staged    the rows in the types of their columns            newest    one row per key: a record before a stub, then
//   incoming  without children of a tombstone                             the latest read
//   absent    no row has the key: they are inserted             locked    they differ from a row that they may replace
//   updated   rewritten; a tombstone among them is alive again  logged    one row in the change log for each change
// Rows with unchanged content (`content.ts`) are neither written nor locked. A key that another transaction inserted
// meanwhile is `missed`, and the statement runs again. New keys may skip all this (`direct-insert.ts`). Rows missing from a
// complete answer become tombstones afterwards (`change-statements.ts`); `feed-order.ts` ends the transaction.
//
// Example: `GET /v3/harbours`, sent at 10:05, answers 901 to 905. The rows in the table, and what the merge does:
//   901 "Brest", read at 10:00, is now "Lorient"      update, {"name": ["Brest", "Lorient"]}
//   902 a stub from 10:00 with the same content       update, {"_source": ["GET /v3/rentals#departureHarbour", "GET /v3/harbours"]}
//   903 a tombstone, its absence read at 10:00        alive again: insert, {"id": [null, 903], "name": [null, "Houat"]}
//   904 read at 10:10 by another worker               nothing: the answer is the older one
//   905 no row                                        insert, {"id": [null, 905], "name": [null, "Groix"]}
// It returns inserted 1, revived 1, updated 3, missed 0: of the 5 rows, the run counts 2 inserted, 2 updated, 1 unchanged.

import { streamNamed } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import { identifier, isStub, knownRead, storableReadTime } from '../database/sql.ts'
import { once } from '../memo.ts'
import { saysOther } from './content.ts'
import { columnList, former, formerly, insertDiff, keyObject, rowOf, sameKey, updateDiff } from './diff-sql.ts'
import { firstEntry, keepingBefore } from './feed.ts'
import { ownColumns, type RowSource, rowsFrom, stagedColumn } from './staging.ts'

/** Statements are long and always the same for a stream. */
function cached(build: (stream: StreamDef, source: RowSource) => string): typeof build {
  const of = once((source: RowSource) => once((stream: StreamDef) => build(stream, source)))
  return (stream, source) => of(source)(stream)
}

/** The rows of the batch ($1) in their own types, one per key: a record before a stub, then the latest. */
function incomingSql(stream: StreamDef, source: RowSource): string {
  const typed = stream.columns
    .map((column, index) => ({ column, staged: stagedColumn(index) }))
    .filter(({ column }) => ownColumns(stream).includes(column.name))
    .map(({ column, staged }) => {
      const value = column.type === 'text' ? `g.${staged}` : `g.${staged}::${column.type}`
      return `${value} as ${identifier(column.name)}`
    })
  const key = columnList(stream.key)
  const { from, where } = rowsFrom(source, stream, 'g')
  // Neither has statistics. An equality is taken for a single row: so the few that are sent are looked up by index, however
  // small the table was when the statement was prepared. Staged thousands would lead to nested loops; of a case Postgres
  // assumes that it holds for half of the rows.
  const mine = source === 'sent' ? where : `case when ${where} then true end`
  return `staged as (
      select ${typed.join(', ')}, g.payload::jsonb as _payload, g.source as _source, ${storableReadTime('g.read_at')} as _read_at, g.stub as _stub
      from ${from} where ${mine}
    ), newest as (
      select distinct on (${key}) * from staged order by ${key}, _stub, _read_at desc, _payload desc
    ), incoming as materialized (
      select n.* from newest n${underTombstone(stream)}
    )`
}

/** Excludes children of a tombstone: they would be alive without it. The tombstone's own read restores both. */
function underTombstone(stream: StreamDef): string {
  if (stream.parent === undefined) return ''
  const parent = streamNamed(stream.parent)
  const same = parent.key.map((column, index) => {
    const own = stream.parentKey?.[index] ?? column
    return `p.${identifier(column)} = n.${identifier(own)}`
  })
  return ` where not exists (select from mirror.${parent.name} p
        where ${same.join(' and ')} and p._deleted_at is not null)`
}

/** Which of two reads of one record stands: the later, of two at the same instant the one whose content sorts last. */
const isNewer = `(s._read_at > ${knownRead('t')} or (s._read_at = t._read_at and s._payload >= t._payload))`

/**
 * Whether the staged row `s` may replace the row `t`. A record replaces any stub; a stub replaces only an older
 * living stub; a record read after a tombstone revives it.
 */
const mayReplace = `case
      when s._stub then ${isStub('t')} and t._deleted_at is null and ${isNewer}
      when t._deleted_at is not null then s._read_at > ${knownRead('t')}
      when ${isStub('t')} then true
      else ${isNewer} end`

/**
 * Merges staged rows: inserts what is new, updates what differs and may be replaced, writes one change-log row for each
 * change; rows that equal what is there are neither written nor locked. Parameter: that of the batch.
 * Locks the rows it updates, in key order.
 * Returns inserted, revived, updated, and missed: rows that another transaction inserted meanwhile (run it again).
 */
export const mergeStatement = cached((stream, source) => {
  const { key, name } = stream
  const own = ownColumns(stream)
  const all = stream.columns.map((column) => column.name)
  const table = `mirror.${identifier(name)}`
  const rest = [...own.filter((column) => !key.includes(column)), '_payload', '_source', '_read_at']
  const before = [...all, '_payload', '_source', '_deleted_at']
  const assignments = rest.map((column) => `${identifier(column)} = l.${identifier(column)}`)
  // A revived row still has what another stream's read filled: who follows the log has dropped it.
  const kept = all.filter((column) => !own.includes(column))
  const values = [insertDiff(own, 's'), ...(kept.length > 0 ? [insertDiff(kept, 'l')] : [])]
  const revived = [...values, keepingBefore(own, 'l', 's')].join(' || ')
  const diff = `case when l._deleted_at is not null then ${revived}
        when ${rowOf(own, 'l')} is distinct from ${rowOf(own, 's')} then ${updateDiff(own, 'l', 's')}
        when l._payload is distinct from s._payload
          then jsonb_build_object('_payload', jsonb_build_array(l._payload, s._payload))
        else jsonb_build_object('_source', jsonb_build_array(l._source, s._source)) end`
  const formerOf = before.map((column) => `t.${identifier(column)} as ${formerly(column)}`).join(', ')
  const replaced = `${mayReplace}
        and (t._deleted_at is not null or (${isStub('t')} and not s._stub) or ${saysOther(stream, own, 't', 's')})`
  const same = sameKey(key, 't', 's')
  // The rows of a small batch are looked up one by one, in the order of their keys: its plan may be older than most of
  // the table. Thousands are joined.
  const withoutRow =
    source === 'sent'
      ? `left join lateral (select true as there from ${table} t where ${same} offset 0) t on true where t.there is null`
      : `where not exists (select from ${table} t where ${same})`
  const locking =
    source === 'sent'
      ? `select s.*, t.* from (select * from incoming order by ${columnList(key)}) s cross join lateral
        (select ${formerOf} from ${table} t where ${same} and ${replaced} for no key update) t`
      : `select s.*, ${formerOf} from ${table} t join incoming s on ${same}
      where ${replaced}
      order by ${columnList(key, 't')} for no key update of t`
  // Each step hands on all that the next ones need, and is joined with none: of keys of several columns Postgres expects
  // next to no rows, and would compare each of thousands with each.
  return `with ${incomingSql(stream, source)}, absent as materialized (
      select s.* from incoming s ${withoutRow}
    ), locked as materialized (
      ${locking}
    ), updated as (
      update ${table} t set ${assignments.join(', ')}, _changed_at = clock_timestamp(), _deleted_at = null
      from locked l where ${sameKey(key, 't', 'l')}
      returning ${columnList([...own, '_payload', '_source'], 't')}, ${before.map((column) => `l.${formerly(column)}`).join(', ')}
    ), inserted as (
      insert into ${table} (${columnList(own)}, _payload, _source, _read_at)
      select ${columnList(own)}, _payload, _source, _read_at from absent order by ${columnList(key)}
      on conflict (${columnList(key)}) do nothing returning ${columnList(own)}
    ), logged as (
      insert into mirror.change_log (epoch, stream, key, operation, diff, whole)
      select (select mirror.feed_epoch()), '${name}', ${keyObject(key, 's')},
        case when l._deleted_at is null then 'update' else 'insert' end, ${diff}, true
      from updated s, ${former(before, 's')}
      union all
      select (select mirror.feed_epoch()), '${name}', ${firstEntry(stream, own, 's')}
      from inserted s
    )
    select (select count(*) from inserted)::int as inserted,
      (select count(*) from updated)::int as updated, (select count(*) from locked where ${formerly('_deleted_at')} is not null)::int as revived,
      ((select count(*) from absent) - (select count(*) from inserted))::int as missed`
})

/**
 * Compares staged records with the table, changes nothing. Parameters: that of the batch, most rows to return.
 * Returns key (text[]), kind (missing or different), diff ({column: [mirror, api]}) and on each row the total.
 */
export const compareStatement = cached((stream, source) => {
  const { key } = stream
  const own = ownColumns(stream)
  const table = `mirror.${identifier(stream.name)}`
  const gone = `(t.${identifier(key[0] ?? '')} is null or t._deleted_at is not null)`
  return `with ${incomingSql(stream, source)}
    select array[${key.map((column) => `s.${identifier(column)}::text`).join(', ')}] as key,
      case when ${gone} then 'missing' else 'different' end as kind,
      case when ${gone} then ${insertDiff(own, 's')}
        when ${rowOf(own, 't')} is distinct from ${rowOf(own, 's')} then ${updateDiff(own, 't', 's')}
        else jsonb_build_object('_payload', jsonb_build_array(t._payload, s._payload)) end as diff,
      (count(*) filter (where ${gone}) over ())::int as missing, (count(*) over ())::int as total
    from incoming s left join ${table} t on ${sameKey(key, 't', 's')}
    where not s._stub and (${gone} or ${saysOther(stream, own, 't', 's')})
    order by ${columnList(key, 's')} limit $2`
})
