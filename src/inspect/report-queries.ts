// Reads the views of schema report: for `report`, and for the conditions in them that need attention.

import type { PoolClient } from 'pg'
import { type Database, withStatementTimeout } from '../database/database.ts'
import { identifier, type Queryable } from '../database/sql.ts'
import { duration } from '../format.ts'
import { isFleet } from '../reports/pieces.ts'
import { takesPlace } from '../reports/rentals.ts'

/** What `report` prints: a view or a function, such as the calendar for other days. */
export type ReportRequest = {
  /** Its name in schema report. */
  readonly view: string
  readonly orderBy: string
  /** Columns in order. */
  readonly columns: readonly string[]
  /** Of a function. */
  readonly values?: readonly (string | null)[]
  /** Rows at most; null: all. */
  readonly limit: number | null
  /** The only company whose rows are read. */
  readonly company?: string
  /** The role that reads; null: that of the connection. */
  readonly role?: string | null
  /** Milliseconds that it may take; otherwise the reader waits, and may stop it. */
  readonly timeoutMs?: number
}

/** Rows are passed on in portions of this size: a calendar of 5,000 boats has half a million rows. */
const portion = 2_000

/**
 * Hands the rows of a report over, portion by portion, all from one snapshot.
 * @param as `text`: an object of texts as Postgres writes them. `json`: `{json: text}`, exact.
 */
export async function readReport(
  database: Database,
  request: ReportRequest,
  as: 'text' | 'json',
  onRows: (rows: readonly Readonly<Record<string, string | null>>[]) => Promise<void>,
): Promise<void> {
  const select = reportSelect(request, as)
  await database.transaction(
    async (client: PoolClient) => {
      if (request.role) await client.query(`set local role ${identifier(request.role)}`)
      const patient = await withStatementTimeout(client, request.timeoutMs ?? 0)
      // JIT takes longer than it saves on these views.
      await client.query('set local jit = off')
      await client.query(`declare report no scroll cursor for ${select.text}`, select.values)
      for (;;) {
        const { rows } = await patient.query<Record<string, string | null>>(`fetch ${portion} from report`)
        if (rows.length > 0) await onRows(rows)
        if (rows.length < portion) return
      }
    },
    { readOnly: true },
  )
}

function reportSelect(request: ReportRequest, as: 'text' | 'json'): { text: string; values: unknown[] } {
  const { view, orderBy, columns, limit, company } = request
  const values = [...(request.values ?? [])]
  const places = values.map((_, index) => `$${index + 1}`)
  const source = `report.${identifier(view)}${values.length === 0 ? '' : `(${places})`}`
  const list =
    as === 'json' ? 'row_to_json(v)::text as json' : columns.map((c) => `v.${identifier(c)}::text`).join(', ')
  const ofCompany = columns
    .filter((name) => name.endsWith('company_id'))
    .map((name) => `${name} = $${values.length + 1}`)
  const where = company === undefined ? '' : ` where ${ofCompany.join(' and ')}`
  const rows = `select * from ${source}${where} order by ${orderBy}${limit === null ? '' : ` limit ${limit}`}`
  return { text: `select ${list} from (${rows}) v`, values: company === undefined ? values : [...values, company] }
}

/** How the API shows the rentals of one company as unavailabilities. */
type BlockForm = {
  readonly companyId: string | null
  readonly company: string | null
  /** In words; null: it shows none. */
  readonly form: string | null
  /** Unavailabilities, and how many of them are the rental's own. */
  readonly blocks: number
  readonly explained: number
}

/** Double bookings that have not ended, and how they were found. */
export type Overlaps = {
  readonly rentals: number
  readonly boats: number
  /** Since when both parts of the first are known; null: there is none. */
  readonly since: Date | null
  /** Rentals without an arrival after their departure, from a month ago on. */
  readonly withoutArrival: readonly string[]
  readonly withoutArrivalSince: Date | null
  /** Resources of several boats, whose rentals may overlap. */
  readonly fleets: readonly { readonly resourceId: string; readonly name: string | null }[]
  readonly forms: readonly BlockForm[]
}

/** Changes whenever the double bookings may have changed, and every minute. It takes a fortieth of the time of counting them. */
const overlapsVersion = `select concat_ws(' ', (select max(_changed_at) from mirror.rentals),
  (select max(_changed_at) from mirror.resource_unavailabilities), (select max(_changed_at) from mirror.resources),
  (select concat(count(*), ' ', max(seen_at)) from sync.fleets), date_trunc('minute', now())) as version`

/** A count that is made again only if the query of its version has another answer. */
function countedAt<Counted>(version: string, count: (db: Queryable) => Promise<Counted>) {
  const known = new WeakMap<Queryable, { readonly version: string; readonly counted: Counted }>()
  return async (db: Queryable): Promise<Counted> => {
    const { rows } = await db.query<{ version: string }>(version)
    const now = rows[0]?.version ?? ''
    const before = known.get(db)
    if (before?.version === now) return before.counted
    const counted = await count(db)
    known.set(db, { version: now, counted })
    return counted
  }
}

/** Since when the times and the boat of a rental are known: by the change log, else by its last change. */
const knownSince = (id: string): string => `coalesce((select max(l.changed_at) from mirror.change_log l
    where l.stream = 'rentals' and l.key = jsonb_build_object('id', ${id}) and (l.operation = 'insert'
      or l.diff ?| array['departure_datetime', 'arrival_datetime', 'resource_id', 'status'])),
  (select k._changed_at from mirror.rentals k where k.id = ${id}))`

const overlapsQuery = `select o.*, n.*,
    (select coalesce(jsonb_agg(jsonb_build_object('resourceId', b.id, 'name', b.name) order by b.id), '[]')
      from mirror.resources b where b._deleted_at is null and ${isFleet('b')}) as fleets
  from (select count(distinct rental_id)::int as rentals, count(distinct coalesce(boat_id::text, 'resource ' || resource_id))::int as boats,
      min(greatest(${knownSince('rental_id')}, ${knownSince('other_rental_id')}, (select u._changed_at from mirror.resource_unavailabilities u
        where u.resource_id = other_resource_id and u.key = other_key))) as since
    from report.overlaps where overlap_to > now()) o,
  (select coalesce(array_agg(r.id::text order by r.id), '{}') as "withoutArrival", min(r._changed_at) as "withoutArrivalSince"
    from mirror.rentals r where r._deleted_at is null and ${takesPlace} and r.departure_datetime > now() - interval '30 days'
      and (r.arrival_datetime >= r.departure_datetime) is not true) n`

type Rule = { readonly turn: number | null; readonly shift: number }
type FoundForm = Omit<BlockForm, 'form'> & {
  readonly joined: boolean | null
  readonly rules: readonly [Rule, Rule] | null
}

const formsQuery = `select c.id::text as "companyId", c.company_brand_name as company, count(*)::int as blocks,
    count(*) filter (where b.is_own)::int as explained, b.joined, b.rules
  from report.blocks() b left join mirror.companies c on c.id = b.company
  group by c.id, b.joined, b.rules order by c.id`

const day = 86_400

/** How far an end of a block is from that of its rental, or from the midnight before the start or after the end. */
function endWords({ turn, shift }: Rule, edge: 'start' | 'end'): string {
  const away = turn === null ? shift : edge === 'start' ? shift + day : turn < 1 ? shift : shift - day
  const from = away === 0 ? '' : `${duration(Math.abs(away))} ${away < 0 ? 'before' : 'after'} `
  if (turn === null || turn < 1) return `${from}${turn === null ? `the ${edge}` : 'midnight'}`
  const clock = new Date(turn * 1_000).toISOString().slice(11, 16)
  return `${from}midnight, ${edge === 'start' ? `a day earlier before ${clock}` : `a day later after ${clock}`}`
}

const formWords = ({ rules, joined }: FoundForm): string | null =>
  rules &&
  `from ${endWords(rules[0], 'start')} to ${endWords(rules[1], 'end')}${joined ? ', joined where they touch' : ''}`

/** Counts the double bookings that have not ended. */
export const overlapsToCome = countedAt(overlapsVersion, async (db): Promise<Overlaps> => {
  const [found] = (await db.query<Omit<Overlaps, 'forms'>>(overlapsQuery)).rows
  const forms = (await db.query<FoundForm>(formsQuery)).rows
  return {
    ...(found as Omit<Overlaps, 'forms'>),
    forms: forms.map(({ joined, rules, ...form }) => ({ ...form, form: formWords({ joined, rules, ...form }) })),
  }
})

/** The newest rentals of which the reports are not sure. Amounts are texts with all their digits. */
export type RentalDoubts = {
  /** How many were checked. */
  readonly among: number
  /** By company, rentals whose payments, deposit and options have different currencies. */
  readonly currencies: readonly {
    readonly companyId: string | null
    readonly companyName: string | null
    readonly rentals: number
  }[]
  /** By status, rentals whose status is unknown (null: missing), which count as taking place; and their amounts by currency. */
  readonly statuses: readonly {
    readonly status: string | null
    readonly rentals: number
    readonly amounts: readonly { readonly currencies: readonly string[]; readonly totalToPay: string | null }[]
  }[]
}

/** `status` checks them again after each change. */
export const newestRentals = 20_000

const doubtsVersion = `select concat_ws(' ', (select max(seq) from mirror.change_log), (select not_taking_place from sync.settings)) as version`

export const rentalDoubts = countedAt(doubtsVersion, async (db): Promise<RentalDoubts> => {
  const { rows } = await db.query<RentalDoubts>(
    `with newest as materialized (select * from report.rentals order by rental_id desc limit ${newestRentals}),
       mixed as (select company_id::text, company_name, count(*) as rentals from newest where cardinality(currencies) > 1 group by 1, 2),
       unknown as (select nullif(report.status_word(status), '') as status, currencies, count(*) as rentals, sum(total_to_pay)::text as total
         from newest where not status_known group by 1, 2),
       statuses as (select status, sum(rentals) as rentals, jsonb_agg(jsonb_build_object('currencies', currencies, 'totalToPay', total)
         order by currencies) as amounts from unknown group by 1)
     select (select count(*)::int from newest) as among,
       (select coalesce(jsonb_agg(jsonb_build_object('companyId', company_id, 'companyName', company_name, 'rentals', rentals)
         order by company_name, company_id), '[]') from mixed) as currencies,
       (select coalesce(jsonb_agg(jsonb_build_object('status', status, 'rentals', rentals, 'amounts', amounts) order by status), '[]')
         from statuses) as statuses`,
  )
  return rows[0] ?? { among: 0, currencies: [], statuses: [] }
})
