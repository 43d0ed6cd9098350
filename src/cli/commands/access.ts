// `access`: roles that see only the rows of some companies, and nothing that has no company; and the key of a boat's calendar.

import type { Queryable } from '../../database/sql.ts'
import { BoatMirrorError } from '../../errors.ts'
import { instant } from '../../format.ts'
import { unguardedViews } from '../../schema/company-policies.ts'
import {
  type CompanyGrant,
  findRole,
  grantCompanies,
  listCompanyGrants,
  revokeCompanies,
  unknownCompanies,
} from '../../serve/access/company-access.ts'
import { createCalendarKey, revokeCalendarKey } from '../../serve/access/secrets.ts'
import { isTokenRole } from '../../serve/access/tokens.ts'
import { handOver } from '../../sync/partners.ts'
import { asOwner, type CommandContext, type Json, present } from '../context.ts'
import { jsonText, print, printJson, printNote, table } from '../terminal/output.ts'
import { writeSecret } from '../terminal/unwritten.ts'

async function assertRestrictable(db: Queryable, role: string): Promise<void> {
  if (await isTokenRole(db, role))
    throw new BoatMirrorError(
      'USAGE',
      `Role ${role} belongs to an access token, which defines what the role can see.`,
      {
        remedy: 'Create another token with: boat-mirror access token create NAME --companies IDS',
      },
    )
  const { exists, bypasses } = await findRole(db, role)
  if (!exists)
    throw new BoatMirrorError('NOT_FOUND', `There is no role ${role}.`, {
      remedy: `Create it with: create role "${role}" login; grant boat_mirror_partner to "${role}"`,
    })
  if (bypasses !== null)
    throw new BoatMirrorError(
      'USAGE',
      `Role ${role} cannot be restricted: ${bypasses}, so row level security does not apply.`,
      {
        remedy: 'Use another role for access to only some companies.',
      },
    )
  await assertViewsGuarded(db)
}

export async function runGrant(
  context: CommandContext,
  role: string,
  { companies, json }: Json & { readonly companies: readonly string[] },
): Promise<void> {
  const unknown = await changing(context, async (db) => {
    await assertRestrictable(db, role)
    await grantCompanies(db, role, companies)
    return unknownCompanies(db, companies)
  })
  if (unknown.length > 0) printNote(`The mirror has no company ${unknown.join(', ')} yet.`)
  if (json) return printJson({ role, companies, unknown })
  print(`${role} and its members now see only companies ${companies.join(', ')}.`)
}

export async function runRevoke(context: CommandContext, role: string, { json }: Json): Promise<void> {
  if (!(await changing(context, (db) => revokeCompanies(db, role))))
    throw new BoatMirrorError('NOT_FOUND', `Role ${role} is not restricted.`, {
      remedy: 'List the restricted roles with: boat-mirror access list',
    })
  if (json) return printJson({ role, companies: null })
  print(`${role} is no longer restricted: it sees everything that it was granted.`)
}

/** Why a restriction does not hold; null: it does. */
function faultOf({ exists, bypasses }: CompanyGrant): string | null {
  if (exists) return bypasses === null ? null : `sees everything: ${bypasses}`
  return 'the role is gone: another role of its name is refused'
}

/** Hands what a role left that is gone to another role. @throws BoatMirrorError NOT_FOUND */
export async function runHandOver(context: CommandContext, gone: string, role: string, { json }: Json): Promise<void> {
  await using opened = await context.openDatabase()
  const decision = await handOver(opened.database.pool, gone, role)
  if (json) printJson({ gone, role, decision })
  else print(`What role ${gone} left belongs to role ${role} now.`)
}

export async function runList(context: CommandContext, { json }: Json): Promise<void> {
  await using opened = await context.openDatabase()
  const grants = await listCompanyGrants(opened.database.pool)
  if (json) return printJson(grants)
  if (grants.length === 0) return print('No role is restricted. Each sees everything that it was granted.')
  print(
    table(
      ['ROLE', 'COMPANIES', 'SINCE (UTC)', 'PROBLEM'],
      grants.map((grant) => [grant.role, grant.companies.join(', '), instant(grant.grantedAt), faultOf(grant)]),
    ),
  )
}

/** Runs in one transaction past a pooler, as the role in DATABASE_URL, which is to own the tables. */
export const changing = <T>(context: CommandContext, change: (db: Queryable) => Promise<T>): Promise<T> =>
  asOwner(context, { name: 'access' }, (database) => database.transaction(change))

/** Checks that views show rows by company. @throws BoatMirrorError DATABASE_PRIVILEGE when one shows all rows to all roles */
export async function assertViewsGuarded(db: Queryable): Promise<void> {
  const [view] = await unguardedViews(db)
  if (view === undefined) return
  throw new BoatMirrorError(
    'DATABASE_PRIVILEGE',
    `The view ${view} does not belong to role boat_mirror_views, so it would show all companies.`,
    {
      remedy:
        'As a role that may create roles, run: create role boat_mirror_views nologin; grant boat_mirror_views to the owner of the tables. Then run as the owner: boat-mirror migrate',
    },
  )
}

export async function runCalendar(
  context: CommandContext,
  resource: string,
  { revoke, json }: Json & { readonly revoke: boolean },
): Promise<void> {
  if (revoke) return await revokeKey(context, resource, json)
  const { host, port } = context.config.serveListen
  const shown = host.includes(':') ? `[${host}]` : host
  await changing(context, async (db) => {
    const created = await createCalendarKey(db, resource)
    const key = present(created, `resource ${resource} in the mirror`, 'report fleet lists the resources.')
    const address = `http://${shown}:${port}/calendars/${encodeURIComponent(resource)}.ics?key=${key}`
    await writeSecret(json ? jsonText({ resource, address, key }) : address)
  })
  if (!json) printNote('The key is not shown again. Earlier keys no longer open this calendar.')
}

async function revokeKey(context: CommandContext, resource: string, json: boolean): Promise<void> {
  if (!(await changing(context, (db) => revokeCalendarKey(db, resource))))
    throw new BoatMirrorError('NOT_FOUND', `The calendar of resource ${resource} has no key.`, {
      remedy: `Create one with: boat-mirror access calendar ${resource}`,
    })
  if (json) return printJson({ resource, address: null, key: null })
  print(`The calendar of resource ${resource} no longer has a key.`)
}
