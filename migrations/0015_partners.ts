// Partners by their roles instead of the names of these: `partner` is the key by which rows name their owner, and stays when the role
// is renamed. What is here so far names it by the role's name, and so does the key. `migrate` binds it to the role that has this name
// (company_access.notice_roles). Where there is none, the role is gone, unless this is known to be another cluster.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `create table sync.partners (
  partner name primary key,
  name name not null,
  role oid,
  cluster text,
  gone_at timestamptz
);
create unique index partners_role on sync.partners (role, cluster);
create index partners_name on sync.partners (name);
insert into sync.partners (partner, name, gone_at)
  select l.name, l.name, case when r.oid is null and not l.is_token and (i.cluster = h.cluster) is not false then clock_timestamp() end
  from (select u.name, bool_or(u.is_token) as is_token from (
      select distinct enqueued_by as name, false as is_token from outbox.queue
      union all select role, false from sync.consumer_positions
      union all select role, false from sync.requests where role is not null
      union all select role, false from company_access.grants
      union all select role, true from sync.access_tokens) u group by u.name) l
    cross join outbox.installation i cross join sync.history() h left join pg_roles r on r.rolname = l.name;
alter table sync.decisions drop constraint decisions_what_check, add constraint decisions_what_check check (what in
  ('retry', 'cancel', 'local', 'remote', 'took_effect', 'did_not', 'release', 'pause', 'resume', 'former_gone', 'former_lives', 'hand_over'));
-- They have other names or arguments from now on.
drop function if exists mirror.caller();
drop function if exists outbox.caller();
drop function if exists outbox.may_see(name, name);
drop function if exists outbox.is_operator(name);
drop function if exists company_access.of_role(name);`,
    )
    .execute(db)
}
