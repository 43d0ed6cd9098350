// `access`: roles that see only the rows of some companies, and nothing that has no company; and keys of calendars and reports.

import type { Queryable } from '../../database/sql.ts'
import { BoatMirrorError } from '../../errors.ts'
import { instant } from '../../format.ts'
import { meant } from '../../near-names.ts'
import { companyReports } from '../../reports/report-views.ts'
import { unguardedViews } from '../../schema/company-policies.ts'
import {
  type CompanyGrant,
  findRole,
  grantCompanies,
  listCompanyGrants,
  revokeCompanies,
  unknownCompanies,
} from '../../serve/access/company-access.ts'
import { createCalendarKey, createReportKey, revokeCalendarKey, revokeReportKey } from '../../serve/access/secrets.ts'
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

/** What a key in an address opens. */
type Keyed = {
  readonly path: string
  /** The same in words. */
  readonly name: string
  /** What `--json` prints of it. */
  readonly facts: Readonly<Record<string, string>>
  readonly command: string
  /** Returns a new key; throws where there is nothing to open. */
  create(db: Queryable): Promise<string>
  revoke(db: Queryable): Promise<boolean>
}

type KeyFlags = Json & { readonly revoke: boolean }

async function changeKey(context: CommandContext, keyed: Keyed, { revoke, json }: KeyFlags): Promise<void> {
  const { path, name, facts, command } = keyed
  if (revoke) {
    if (!(await changing(context, keyed.revoke)))
      throw new BoatMirrorError('NOT_FOUND', `${name} has no key.`, {
        remedy: `Create one with: boat-mirror ${command}`,
      })
    if (json) return printJson({ ...facts, address: null, key: null })
    return print(`${name} no longer has a key.`)
  }
  const { host, port } = context.config.serveListen
  const shown = host.includes(':') ? `[${host}]` : host
  await changing(context, async (db) => {
    const key = await keyed.create(db)
    const address = `http://${shown}:${port}${path}?key=${key}`
    await writeSecret(json ? jsonText({ ...facts, address, key }) : address)
  })
  if (!json) printNote(`The key is not shown again. Earlier keys no longer open ${name.replace('The', 'the')}.`)
}

export const runCalendar = (context: CommandContext, resource: string, flags: KeyFlags): Promise<void> =>
  changeKey(
    context,
    {
      path: `/calendars/${encodeURIComponent(resource)}.ics`,
      name: `The calendar of resource ${resource}`,
      facts: { resource },
      command: `access calendar ${resource}`,
      create: async (db) =>
        present(
          await createCalendarKey(db, resource),
          `resource ${resource} in the mirror`,
          'report fleet lists the resources.',
        ),
      revoke: (db) => revokeCalendarKey(db, resource),
    },
    flags,
  )

export async function runReport(
  context: CommandContext,
  report: string,
  { company, ...flags }: KeyFlags & { readonly company: string },
): Promise<void> {
  const names = companyReports.map(({ name }) => name)
  if (!names.includes(report))
    throw new BoatMirrorError(
      'USAGE',
      `There is no report "${report}" with rows of companies${meant(report, names)}.`,
      {
        remedy: `Those reports are ${names.join(', ')}.`,
      },
    )
  const keyed: Keyed = {
    path: `/reports/${report}.csv`,
    name: `The report ${report} of company ${company}`,
    facts: { report, company },
    command: `access report ${report} --company ${company}`,
    create: async (db) =>
      present(
        await createReportKey(db, report, company),
        `company ${company} in the mirror`,
        'report fleet names the companies.',
      ),
    revoke: (db) => revokeReportKey(db, report, company),
  }
  await changeKey(context, keyed, flags)
}
