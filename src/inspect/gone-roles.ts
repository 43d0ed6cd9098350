// Roles that are gone, or were not found yet after a restore, and what each left that may need another owner.

import type { Queryable } from '../database/sql.ts'
import { inStates, isUnsettled } from '../outbox/states.ts'
import { webhookConsumer } from './webhook.ts'

/** `left`: changes that wait, consumers, and references, which count once another role has the name. */
export type GoneRole = { readonly name: string; readonly since: Date | null; readonly left: readonly string[] }

/** The gone roles that left something, by name. */
export async function goneRoles(db: Queryable): Promise<readonly GoneRole[]> {
  const { rows } = await db.query<GoneRole>(
    `select p.name, coalesce(p.gone_at, w.since) as since, l.left
     from sync.partners p cross join lateral (select count(*) as changes, min(q.enqueued_at) as since from outbox.queue q
         where q.enqueued_by = p.partner and ${isUnsettled('q.status')} and ${inStates('q.status', 'waiting')}) w
       cross join lateral (select array(
         select 'changes on hold: ' || w.changes where w.changes > 0
         union all select 'consumer ' || c.name from sync.consumer_positions c where c.role = p.partner and c.name <> $1
         union all select 'references' where exists (select from pg_roles r where r.rolname = p.name)
           and exists (select from outbox.queue q where q.enqueued_by = p.partner and q.reference is not null)) as left) l
     where not exists (select from pg_roles r where r.oid = p.role) and cardinality(l.left) > 0 order by p.name, p.partner`,
    [webhookConsumer],
  )
  return rows
}
