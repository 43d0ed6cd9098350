// Views over the outbox: outbox.changes and mirror.rentals_local, which lays pending changes over the mirror.
// Replaced by every migrate, so that new columns of rentals appear automatically.

import { rentals } from '../../catalog/rentals.ts'
import type { Column } from '../../catalog/types.ts'
import { writeNamed } from '../../catalog/writes.ts'
import type { RepeatableStep, ViewDef } from '../../database/repeatable-step.ts'
import { planSql } from '../../sync/decisions.ts'
import { nameOfPartner } from '../../sync/partners.ts'
import { inStates, isUnsettled, roleMissing } from '../states.ts'

const asTheyStand = (alias: string, names: readonly string[]): ViewDef['columns'] =>
  Object.fromEntries(names.map((name) => [name, [`${alias}.${name}`]]))

/** SQL of the hash of what a decision about a change `q` would do; `before`: as it was before the decision of this id. */
export const changePlan = (before?: string): string =>
  planSql(
    `'change:' || q.id`,
    ['status', 'operation', 'target', 'body', 'base', 'on_conflict', 'conflict', 'kept_remote', 'left_out'].map(
      (name) => `q.${name}`,
    ),
    before,
  )

const changes: ViewDef = {
  schema: 'outbox',
  name: 'changes',
  comment:
    'The changes of the calling role. Roles that may read outbox.queue and members of boat_mirror_operator see all changes. A role with access by company sees those of the rentals of its companies, and of what it created.',
  securityBarrier: true,
  columns: {
    ...asTheyStand('q', ['id', 'operation', 'target', 'body', 'aggregate', 'reference']),
    enqueued_by: [
      nameOfPartner('q.enqueued_by'),
      'The role that queued it, by its present name; of a role that is gone, its last.',
    ],
    ...asTheyStand('q', ['status']),
    attempts: ['q.attempts'],
    next_attempt_at: [`case when ${inStates('q.status', 'claimable')} then q.next_attempt_at end`],
    ...asTheyStand('q', ['result', 'request', 'response', 'conflict']),
    // The name of a role brings a collation, by which the column would be another one.
    error: [`coalesce(case when q.status = 'queued' then ${roleMissing('q')} end collate "default", q.error)`],
    warning: ['q.warning'],
    ...asTheyStand('q', ['enqueued_at', 'sent_at', 'settled_at']),
    plan: [
      changePlan(),
      'Hash of what a decision would do, for the argument expected of outbox.retry, cancel and resolve. Each decision changes it.',
    ],
  },
  source: `from outbox.queue q
  where (q.enqueued_by = (select company_access.partner()) or (select has_table_privilege(c, 'outbox.queue', 'select')
      or has_function_privilege(c, 'outbox.resolve(bigint, text, bigint, text)', 'execute') from company_access.caller() c))
    and ((select company_access.unrestricted_role()) is not null or outbox.is_of_caller(q.aggregate))`,
}

const written = new Set(writeNamed('rental.update').body.map((field) => field.name))

/** A column with the pending value of its field over it; a value that is still the result of another change shows as before. */
function overlaid(column: Column): string {
  const plain = `r.${column.name}`
  if (column.name === 'user_id')
    return `case when jsonb_typeof(wished.fields->'userId') = 'number' then (wished.fields->>'userId')::bigint else ${plain} end`
  const field = column.path
  if (field === null || !written.has(field)) return plain
  const known = `wished.fields ? '${field}' and jsonb_typeof(wished.fields->'${field}') <> 'object'`
  return `case when ${known} then (wished.fields->>'${field}')::${column.type} else ${plain} end`
}

/** `case` that turns the names of pending body fields into column names. */
const columnOf = [
  "when 'userId' then 'user_id'",
  ...rentals.columns.flatMap((column) =>
    column.path !== null && written.has(column.path) ? [`when '${column.path}' then '${column.name}'`] : [],
  ),
].join(' ')

export const rentalsLocal: ViewDef = {
  schema: 'mirror',
  name: 'rentals_local',
  comment: 'mirror.rentals with unsettled changes applied. Rentals that do not exist yet have no id and are not shown.',
  with: `with waiting as (
    select q.id, q.operation, q.aggregate, q.body from outbox.queue q
    where ${isUnsettled('q.status')} and q.aggregate like 'rental:%'
  ), pending as (
    select w.aggregate, array_agg(w.id order by w.id) as changes, bool_or(w.operation = 'rental.delete') as deletes
    from waiting w group by w.aggregate
  ), wished as (
    select w.aggregate, jsonb_object_agg(f.key, f.value order by w.id) as fields
    from waiting w cross join lateral jsonb_each(w.body) f
    where w.operation in ('rental.update', 'rental_user.assign') group by w.aggregate
  )`,
  columns: {
    ...Object.fromEntries(rentals.columns.map((column) => [column.name, [overlaid(column)]])),
    ...asTheyStand('r', ['_payload', '_source', '_read_at', '_changed_at', '_deleted_at']),
    pending_fields: [
      `coalesce((select array_agg(distinct case f.key ${columnOf} end) from jsonb_object_keys(wished.fields) f (key)), '{}')`,
      'Columns whose value the API has not accepted yet.',
    ],
    pending_changes: [
      `coalesce(p.changes, '{}')`,
      'Unsettled changes of the rental, including those of its options, payments and crew.',
    ],
    pending_delete: ['coalesce(p.deletes, false)', 'True while a rental.delete waits.'],
  },
  source: `from mirror.rentals r
    left join pending p on p.aggregate = 'rental:' || r.id
    left join wished on wished.aggregate = p.aggregate`,
}

export const outboxViews: RepeatableStep = {
  name: 'outbox-views',
  views: [changes, rentalsLocal],
  sql: `create or replace trigger forget_gone_user after update of _deleted_at on mirror.users
  for each row when (new._deleted_at is not null and old._deleted_at is null)
  execute function outbox.forget_gone_user();
create or replace trigger erased_changed after insert or update or delete on sync.erased
  for each statement execute function outbox.erased_changed()`,
}
