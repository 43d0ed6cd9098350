// Partners: roles, whatever their names. `partners.sql` has the rules.

import type { RepeatableStep } from '../database/repeatable-step.ts'
import { fillSql, type Queryable } from '../database/sql.ts'
import functions from './partners.sql'
import { decided } from './refused-decision.ts'

/** SQL: the present name of the role of a partner, named by its key; of a role that is gone, its last. */
export const nameOfPartner = (partner: string): string =>
  `coalesce((select coalesce(r.rolname, p.name) from sync.partners p
    left join pg_catalog.pg_roles r on r.oid = p.role and p.cluster = (select company_access.cluster())
    where p.partner = ${partner}), ${partner})`

/** Who calls, what is a role's own, and what becomes of it. */
export const partnerFunctions: RepeatableStep = {
  name: 'partners',
  sql: fillSql(functions, { name: nameOfPartner('name_of.partner') }),
}

/**
 * Hands what a role left that is gone to another role.
 * @returns the id of the decision. @throws BoatMirrorError NOT_FOUND, DATABASE_PRIVILEGE
 */
export const handOver = (db: Queryable, gone: string, heir: string): Promise<string> =>
  decided(db, 'sync.decide_hand_over', [gone, heir, null, 'command'])
