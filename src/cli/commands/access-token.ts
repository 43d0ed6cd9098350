// `access token`: the tokens of `serve`.

import { isUniqueViolation } from '../../database/sql-states.ts'
import { BoatMirrorError } from '../../errors.ts'
import { instant } from '../../format.ts'
import { unknownCompanies } from '../../serve/access/company-access.ts'
import { createToken, listTokens, missingRole, type RoleTask, revokeToken } from '../../serve/access/tokens.ts'
import type { CommandContext, ExitCode, Json } from '../context.ts'
import { jsonText, print, printJson, printNote, printText, table } from '../terminal/output.ts'
import { writeSecret } from '../terminal/unwritten.ts'
import { assertViewsGuarded, changing } from './access.ts'

type CreateFlags = Json & {
  readonly companies?: readonly string[]
  readonly personal: boolean
  readonly write: boolean
  readonly expires?: number
  readonly server?: string
}

/** Prints a task left for an administrator; 3 if there is one. */
function noteTask(task: RoleTask | null, what: string): ExitCode {
  if (task === null) return 0
  printNote(`${what} (${task.reason}). Run these statements as a database role that may do so:`)
  for (const statement of task.sql) printNote(`  ${statement};`)
  return 3
}

export async function runCreate(context: CommandContext, name: string, flags: CreateFlags): Promise<ExitCode> {
  const { companies = null, personal, write, expires = null, server = null, json } = flags
  const { unknown, id, role, task } = await changing(context, async (db) => {
    if (companies !== null) await assertViewsGuarded(db)
    const created = await createToken(db, { name, companies, personal, write, validMs: expires, server })
    const unknown = companies === null ? [] : await unknownCompanies(db, companies)
    const { id, token, role, task } = created
    const facts = { id, name, token, role, companies, personal, write, sql: task?.sql ?? [] }
    await writeSecret(json ? jsonText(facts) : token)
    return { ...created, unknown }
  }).catch((error: unknown) => {
    throw isUniqueViolation(error) ? nameTaken(name) : error
  })
  if (unknown.length > 0) printNote(`The mirror has no company ${unknown.join(', ')} yet.`)
  if (!json) printNote(`This is token ${id}, ${name}. It is not shown again.`)
  const groups = task?.sql.some((statement) => statement.includes('role "boat_mirror_serve"')) ?? false
  const left = `The token works once its database role ${role} exists. It could not be created`
  const code = noteTask(task, left)
  if (groups) printNote('Then run: boat-mirror migrate')
  return code
}

const nameTaken = (name: string): BoatMirrorError =>
  new BoatMirrorError('USAGE', `A token named ${name} already exists.`, {
    remedy: `Choose another name, or revoke that token first with: boat-mirror access token revoke ${name}`,
  })

export async function runRevoke(context: CommandContext, which: string, { json }: Json): Promise<ExitCode> {
  const revoked = await changing(context, (db) => revokeToken(db, which))
  if (revoked === null)
    throw new BoatMirrorError('NOT_FOUND', `There is no valid token ${which} to revoke.`, {
      remedy: 'List the tokens with: boat-mirror access token list',
    })
  const { id, name, canceled, task } = revoked
  if (json) printJson({ id, name, canceled, sql: task?.sql ?? [] })
  else print(`Token ${id}, ${name}, is revoked.`)
  if (canceled > 0 && !json)
    printText(`${canceled} of its unsent changes are canceled: boat-mirror changes list --status canceled`)
  return noteTask(task, 'Its database role could not be dropped')
}

export async function runList(context: CommandContext, { json }: Json): Promise<void> {
  await using opened = await context.openDatabase()
  const { pool } = opened.database
  const tokens = await listTokens(pool)
  if (json) return printJson(tokens)
  if (tokens.length === 0)
    return printText('There are no tokens. Create one with: boat-mirror access token create NAME')
  print(
    table(
      ['ID', 'NAME', 'STATE', 'COMPANIES', 'PERSONAL', 'WRITE', 'CREATED (UTC)', 'EXPIRES (UTC)'],
      tokens.map((token) => [
        ...[token.id, token.name, token.state, token.companies?.join(', ') ?? 'all'],
        ...[token.personal ? 'yes' : 'no', token.write ? 'yes' : 'no'],
        ...[instant(token.createdAt), instant(token.expiresAt)],
      ]),
    ),
  )
  for (const token of tokens.filter(({ state }) => state === 'no role'))
    noteTask({ reason: token.role, sql: await missingRole(pool, token) }, `${token.name} works once its role exists`)
}
