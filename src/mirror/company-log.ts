// The change log by company, for roles that see only some. Whose a record was when an entry was written follows from the log
// itself, backwards from the present row, as the values of a first entry do (feed.ts): of the records that name a company the
// first later entry that names it says which it was before, else the row. Nothing is stored for it, and entries from before
// this was here are shown as well as new ones. A record whose company is not known is hidden.
//
// Example: boat 7 of company 1 is sold to company 2, with an option below it, which nobody wrote an entry for.
//   what is logged                                       company 1 gets               company 2 gets
//   resources 7, update {"company_id": [1, 2]}           delete {"_deleted_at": …}    insert {"id": [null, 7], …}
//                                                        the same of the option       the same of the option
//   resource_options 7/1, update {"name": ["a", "b"]}    nothing                      the same
// Rentals have a company of their own, which follows that of the boat in an entry each.

import { companyStreamOf, descendantsOf, isOfPerson, parentOf, streams } from '../catalog/catalog.ts'
import { columnType } from '../catalog/columns.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { RepeatableStep } from '../database/repeatable-step.ts'
import { fillSql, identifier, literal } from '../database/sql.ts'
import { rowsBefore } from './as-of.ts'
import companyLog from './company-log.sql'
import { columnList, keyObject } from './diff-sql.ts'
import { shownDiff } from './feed.ts'

/** Streams whose rows name their company. */
const tops = streams.filter(({ companyColumn }) => companyColumn !== undefined)

const firstKey = ({ key: [name = ''] }: StreamDef): string => literal(name)

/** Of the entry `c`: the stream whose record names its company; null: it belongs to none. */
const above = `case ${tops
  .map((top) => {
    const names = streams.filter((stream) => companyStreamOf(stream) === top).map(({ name }) => literal(name))
    return `when c.stream in (${names.join(', ')}) then ${literal(top.name)}`
  })
  .join(' ')} end`

/** The key of that record, by `->` or `->>`: a stream below it names it in a column of its own. */
const idBy = (operator: string): string =>
  `coalesce(${[...new Set([...tops.flatMap(({ name }) => descendantsOf(name)), ...tops].map(firstKey))]
    .map((name) => `c.key ${operator} ${name}`)
    .join(', ')})`

/** What an entry says that the company of its record was before; the index `change_log_former_company` is of the same text. */
const former = (entry: string): string =>
  `coalesce(${entry}.diff #> '{_before,company_id}', ${entry}.diff #> '{company_id,0}')`

/** Of what a record was before its first entry, nothing is known. */
const saysFormer = (entry: string): string =>
  `case ${entry}.operation when 'insert' then not ${entry}.diff ? '_before' or ${entry}.diff -> '_before' ? 'company_id'
    when 'update' then ${entry}.diff ? 'company_id' else false end`

const asNumber = (json: string): string => `(${json} #>> '{}')::bigint`

const ownsItself = ({ key, companyColumn }: StreamDef): boolean => key[0] === companyColumn

/** The company of the row of `owners.key`. */
const present = tops
  .map((top) => {
    const id = `(owners.key ->> ${firstKey(top)})::${columnType(top, top.key[0] ?? '')}`
    return `when ${literal(top.name)} then ${ownsItself(top) ? id : `company_access.of_${top.name}(${id})`}`
  })
  .join(' ')

/** Whether the record above belongs to one of the companies, or once did. */
function everOwned(top: StreamDef): string {
  const id = `${idBy('->>')}::${columnType(top, top.key[0] ?? '')}`
  if (ownsItself(top)) return `${id} = any(companies)`
  return `exists (select from mirror.${identifier(top.name)} r
            where r.${identifier(top.key[0] ?? '')} = ${id} and r.${identifier(top.companyColumn ?? '')} = any(companies))
          or ${idBy('->>')} in (select l.key ->> ${firstKey(top)} from mirror.change_log l
            where l.stream in ('rentals', 'resources') and l.stream = ${literal(top.name)} and ${former('l')} <> 'null'
              and ${former('l')} = any(array(select to_jsonb(company) from unnest(companies) company)))`
}

const persons = streams.filter(isOfPerson).map(({ name }) => literal(name))

/** Whether the entry `c` may concern one of the companies. */
const concerns = `case ${above} ${tops
  .map((top) => `when ${literal(top.name)} then ${everOwned(top)}`)
  .join('\n          ')} else c.stream not in (${persons.join(', ')}) end`

/** Whether the feed gives the entry `l` after a place. */
const isGivenAfter = (at: string): string =>
  `case ${at}.place when '0' then l.seq > ${at}.seq else l.epoch = ${at}.epoch and (l.xid, l.seq) > (${at}.place, ${at}.seq) end`

/** The rows of a stream below a record, at the place that `rows_below` was given. */
function rowsOf(stream: StreamDef): string {
  const [first = ''] = stream.key
  const ofRecord = `t.${identifier(first)} = (rows_below.above_key ->> 'id')::${columnType(stream, first)}`
  const later = `select l.* from (select ${keyObject(stream.key, 't')} as key from mirror.${identifier(stream.name)} t where ${ofRecord}) t
      cross join lateral (select * from mirror.change_log l where l.key = t.key offset 0) l
      where l.stream = ${literal(stream.name)} and case
        when ${isGivenAfter('rows_below')} and (l.epoch = rows_below.epoch and l.xid = rows_below.xid) is not true then true
        when l.epoch = rows_below.epoch and l.seq > rows_below.seq then (select o[2] = any(companies) or l.operation = 'delete' and o[1] = any(companies)
          from mirror_log.owners(above, above_key, l.epoch, l.xid, l.xid, l.seq) o) is not true end`
  const names = stream.columns.map(({ name }) => name)
  return `select ${literal(stream.name)}, ${keyObject(stream.key, 'r')}, to_jsonb(c) from ${rowsBefore(stream, later, { only: ofRecord })} r
      cross join lateral (select ${columnList(names, 'r')}) c`
}

const below = tops
  .filter(({ name }) => streams.some((stream) => parentOf(stream)?.name === name))
  .map(
    ({ name }) =>
      `if above = ${literal(name)} then return query ${descendantsOf(name).map(rowsOf).join('\n    union all ')};\n  end if;`,
  )
  .join('\n  ')

/** What restricted roles read of the log, and `mirror_log.changes_of`. */
export const companyLogFunctions: RepeatableStep = {
  name: 'company-log-functions',
  sql: fillSql(companyLog, {
    ...{ above, present, below, diff: shownDiff, concerns, is_after_owners: isGivenAfter('owners') },
    above_key: `jsonb_build_object('id', ${idBy('->')})`,
    former: asNumber(former('l')),
    says_former: saysFormer('l'),
    former_of_entry: asNumber(former('c')),
    says_former_of_entry: saysFormer('c'),
  }),
}
