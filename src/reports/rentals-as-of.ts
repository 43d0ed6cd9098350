// report.rentals_as_of: the columns of report.rentals over rows as they were (mirror/as-of.ts). What the view looks up for
// each rental is joined here, because rows of a moment have no index.

import { streamNamed } from '../catalog/catalog.ts'
import { selectOf } from '../database/repeatable-step.ts'
import { fillSql } from '../database/sql.ts'
import { rowsAsOf } from '../mirror/as-of.ts'
import { deposit, paidInLines, type ReportView } from './pieces.ts'
import { rentals } from './rentals.ts'
import sql from './rentals-as-of.sql'

const then = (name: string, also: readonly string[] = []): string => rowsAsOf(streamNamed(name), 'at', { also })
/** With what was deleted by then: the view has its names, too. */
const named = (name: string): string => rowsAsOf(streamNamed(name), 'at', { gone: true })

const isSeen = (company: string): string => `(companies is null or ${company} = any(companies))`

/** Payment lines, and currencies that options name: their payload is the present one, which is shown to who may see it now. */
const lines = `select l.rental_id, true as line, l.price, report.currency_code(l.currency) collate "C" as currency
    from ${then('rental_payments')} l
    union all
    select o.rental_id, null, null, report.currency_code(c.named) collate "C"
    from ${then('rental_options', ['_payload'])} o cross join lateral jsonb_path_query(o._payload, '$.**.currency') c (named)
    where companies is null or o.rental_id in (select v.id from mirror.rentals v where v.company_id = any(companies))`

const paidThen = `case when coalesce(n.lines, 0) = coalesce(n.priced, 0) and cardinality(m.currencies) < 2 and exists (select from sync.records d
      where d.stream = 'rental_payments' and d.key = r.id::text and d.detail_read_at is not null) then coalesce(n.paid, 0) end`

const columns: ReportView['columns'] = Object.fromEntries(
  Object.entries(rentals.columns).map(([name, [value, text]]) => [
    name,
    [value.replaceAll(paidInLines, paidThen), text],
  ]),
)

const source = `from ${then('rentals')} r
  left join (select p.rental_id, array_agg(distinct p.currency) as named, count(p.line) as lines, count(p.price) as priced, sum(p.price) as paid
    from (${lines}) p group by p.rental_id) n on n.rental_id = r.id
  cross join lateral (select array(select distinct x from unnest(n.named || ${deposit}) x where x is not null order by 1) as currencies) m
  left join ${named('resources')} b on b.id = r.resource_id and ${isSeen('b.company_id')}
  left join ${named('companies')} c on c.id = r.company_id and ${isSeen('c.id')}
  left join harbours dh on dh.id = r.departure_harbour_id
  left join harbours ah on ah.id = r.arrival_harbour_id
where ${isSeen('r.company_id')}`

/** The function, as it is created: a new column goes last, as it does in the view. */
export const rentalsAsOfFunction = fillSql(sql, {
  harbours: named('harbours'),
  rentals: selectOf({ columns, source }),
})
