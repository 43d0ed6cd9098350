-- Which changes a claim may take. The planner is held to the index in the order of the ids, whatever is known of the table:
-- one that was never analysed it takes for so small that it would sort all of the queue for each claim.

create or replace function outbox.due_changes(most int) returns setof bigint
language plpgsql stable rows 16
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
as $$
declare
  found int;
begin
  return query select q.id from outbox.queue q where {{urgent}} and {{due}} order by q.id limit most;
  get diagnostics found = row_count;
  return query select q.id from outbox.queue q
    where {{any}} and not {{urgent}} and {{due}} order by q.id limit most - found;
end $$;
comment on function outbox.due_changes(int) is
  'Changes whose turn it is, in this order: those whose fate is unknown and those of pending rentals, then the oldest. Stable: it sees what the claim sees.';
