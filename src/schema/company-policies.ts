// Access by company: what restricted roles (`serve/access/company-access.ts`) may read of each table, as policies, and the owner of
// the views, to which the policies apply.

import { companyStreamOf, isOfPerson, streamNamed, streams } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { RepeatableStep, ViewDef } from '../database/repeatable-step.ts'
import { fillSql, identifier, literal, type Queryable } from '../database/sql.ts'
import { feedView } from '../mirror/feed.ts'
import { rentalsLocal } from '../outbox/sql/views.ts'
import { freshness, freshnessHistory } from '../reports/freshness.ts'
import { reports } from '../reports/report-views.ts'
import policies from './company-policies.sql'
import { openState } from './roles.ts'
import { liveViews, readerViews } from './table-views.ts'

const unrestricted = '(select company_access.unrestricted_role()) is not null'

/** Of which rentals the payment lines were read: the views of money ask. */
const linesRead = `${unrestricted} or stream = 'rental_payments'
  and exists (select from company_access.visible_rentals v where v.key::text = records.key)`

/**
 * A row that names its company. One look-up serves both: `= any (null)` is null, for an unrestricted role. A row without a company
 * takes an id that no company has, so that it is not null for the others. Asked as `is not null`, as `unrestricted_role` is.
 */
const ofCompany = (column: string): string =>
  `nullif(coalesce(coalesce(${identifier(column)}, ${literal('-9223372036854775808')}) = any ((select company_access.visible())::bigint[]), true), false) is not null`

/**
 * SQL: whether the caller may see a row; null: rows of this stream belong to no company. Rows below a record are
 * looked up by key for a few rows and by a hash of all keys for many, as the planner decides.
 */
function condition(stream: StreamDef): string | null {
  const told = companyStreamOf(stream)
  if (told === undefined) return null
  if (told === stream) return ofCompany(stream.companyColumn ?? '')
  const below = `exists (select from company_access.visible_${told.name} v where v.key = ${identifier(stream.key[0] ?? '')})`
  return `${unrestricted} or ${below}`
}

/** Schema, table and condition of a table that is not refused. */
const rules: readonly (readonly [string, string, string])[] = [
  ...streams
    .filter((stream) => !isOfPerson(stream))
    .map((stream): readonly [string, string, string] => ['mirror', stream.name, condition(stream) ?? 'true']),
  ...openState.map((name): readonly [string, string, string] => ['sync', name, 'true']),
  // Restricted roles read it through mirror.changes.
  ['mirror', 'change_log', unrestricted],
  ['sync', 'records', linesRead],
  // A close of all companies shows each role the rentals of its own.
  ['sync', 'closes', `company_id is null or ${ofCompany('company_id')}`],
  ['sync', 'closed_rentals', ofCompany('company_id')],
  ['sync', 'pace_days', ofCompany('company_id')],
  ['sync', 'fleets', condition(streamNamed('resource_slots')) ?? 'true'],
]

/** Views that show rows by company, and those that depend on them. */
const companyViews: readonly ViewDef[] = [
  ...(readerViews.views ?? []),
  ...(liveViews.views ?? []),
  ...(reports.views ?? []).filter(({ name }) => name !== freshness.name && name !== freshnessHistory.name),
  rentalsLocal,
  ...(feedView.views ?? []),
]

const addressOf = ({ schema, name }: ViewDef): string => `${identifier(schema)}.${identifier(name)}`

/** Policies on the tables, and the owner of the views. Comes when all of them exist. */
export const companyPolicies: RepeatableStep = {
  name: 'company-policies',
  sql: fillSql(policies, {
    rules: rules.map((rule) => `(${rule.map(literal).join(', ')})`).join(',\n      '),
    tables: [...streams.map(({ name }) => name), 'change_log'].map((name) => `mirror.${identifier(name)}`).join(', '),
    views: `array[${companyViews.map((view) => literal(addressOf(view))).join(', ')}]`,
  }),
}

/** Views whose owner passes by the policies. */
export async function unguardedViews(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ view: string }>(
    `select c.oid::regclass::text as view from pg_class c join pg_namespace n on n.oid = c.relnamespace
     join unnest($1::text[], $2::text[]) v (schema, name) on v.schema = n.nspname and v.name = c.relname
     where pg_get_userbyid(c.relowner) <> 'boat_mirror_views' order by 1`,
    [companyViews.map(({ schema }) => schema), companyViews.map(({ name }) => name)],
  )
  return rows.map(({ view }) => view)
}
