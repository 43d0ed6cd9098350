// Views over the outbox: outbox.changes (contract: design, section 7) and mirror.rentals_local, which lays pending
// changes over the mirror. Made anew by every migrate, so that new columns of rentals appear by themselves.

import { rentals } from '../../catalog/rentals.ts'
import type { Column } from '../../catalog/types.ts'
import { rentalUpdateBody } from '../../catalog/write-bodies.ts'

const changes = `
create or replace view outbox.changes with (security_barrier = true) as
  select q.id, q.operation, q.target, q.body, q.aggregate, q.reference, q.enqueued_by, q.status, q.attempts,
    case when q.status in ('queued', 'sending') then q.next_attempt_at end as next_attempt_at,
    q.result, q.request, q.response, q.conflict, q.error, q.warning, q.enqueued_at, q.sent_at, q.settled_at
  from outbox.queue q
  where q.enqueued_by = coalesce(nullif(current_setting('role', true), 'none'), session_user)
     or has_table_privilege(coalesce(nullif(current_setting('role', true), 'none'), session_user), 'outbox.queue', 'select');
comment on view outbox.changes is
  'The changes of the calling role; all of them for whoever may read outbox.queue.';
`

const written = new Map<string, string>(rentalUpdateBody.map((field) => [field.name, field.name]))

/** A column with the pending value of its field over it; a value that is still the result of another change shows as before. */
function overlaid(column: Column): string {
  const plain = `r.${column.name}`
  if (column.name === 'user_id')
    return `case when jsonb_typeof(wished.fields->'userId') = 'number' then (wished.fields->>'userId')::bigint else ${plain} end as user_id`
  const field = column.path === null ? undefined : written.get(column.path)
  if (field === undefined) return plain
  const known = `wished.fields ? '${field}' and jsonb_typeof(wished.fields->'${field}') <> 'object'`
  return `case when ${known} then (wished.fields->>'${field}')::${column.type} else ${plain} end as ${column.name}`
}

/** `case` that turns the names of pending body fields into column names. */
const columnOf = [
  "when 'userId' then 'user_id'",
  ...rentals.columns.flatMap((column) =>
    column.path !== null && written.has(column.path) ? [`when '${column.path}' then '${column.name}'`] : [],
  ),
].join(' ')

const rentalsLocal = `
drop view if exists mirror.rentals_local;
create view mirror.rentals_local as
  with waiting as (
    select q.id, q.operation, q.aggregate, q.body from outbox.queue q
    where q.status in ('queued', 'sending', 'blocked', 'conflict', 'unknown') and q.aggregate like 'rental:%'
  ), pending as (
    select w.aggregate, array_agg(w.id order by w.id) as changes, bool_or(w.operation = 'rental.delete') as deletes
    from waiting w group by w.aggregate
  ), wished as (
    select w.aggregate, jsonb_object_agg(f.key, f.value order by w.id) as fields
    from waiting w cross join lateral jsonb_each(w.body) f
    where w.operation in ('rental.update', 'rental_user.assign') group by w.aggregate
  )
  select ${rentals.columns.map(overlaid).join(',\n    ')},
    r._payload, r._source, r._read_at, r._changed_at, r._deleted_at,
    coalesce((select array_agg(distinct case f.key ${columnOf} end) from jsonb_object_keys(wished.fields) f (key)), '{}') as pending_fields,
    coalesce(p.changes, '{}') as pending_changes,
    coalesce(p.deletes, false) as pending_delete
  from mirror.rentals r
    left join pending p on p.aggregate = 'rental:' || r.id
    left join wished on wished.aggregate = p.aggregate;
comment on view mirror.rentals_local is
  'mirror.rentals with changes that are not settled yet laid over. Rentals still to be created have no id and are not shown.';
comment on column mirror.rentals_local.pending_fields is 'Columns whose value here waits to be taken by the API.';
comment on column mirror.rentals_local.pending_changes is 'Changes of the rental that are not settled, also of its options, payments and crew.';
comment on column mirror.rentals_local.pending_delete is 'True while a rental.delete waits.';
`

/** Both views. Needs mirror.rentals and outbox.queue. */
export const outboxViews = `${changes}
create or replace trigger forget_gone_user after update of _deleted_at on mirror.users
  for each row when (new._deleted_at is not null and old._deleted_at is null)
  execute function outbox.forget_gone_user();
${rentalsLocal}`
