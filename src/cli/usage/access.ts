// How the commands for access are called: roles, tokens, keys of calendars.

import { InvalidArgumentError } from 'commander'
import { parseDuration } from '../../settings.ts'
import { companyId, looks, matching, quiet, type Usage } from './command.ts'

export function addAccess(program: Usage): void {
  const access = program
    .command('access')
    .description('restrict database roles to the rows of some companies; manage the tokens and keys of `serve`')
  access
    .command('grant')
    .description('restrict a role and its members to these companies; replaces an earlier restriction')
    .argument('<role>', 'database role; it may be a member of boat_mirror_partner or another role of Boat Mirror')
    .requiredOption('--companies <ids>', 'companies.id, separated by commas', companyIds)
    .prints(() => import('../commands/access.ts'), 'runGrant', quiet)
  access
    .command('revoke')
    .description('lift the restriction: the role sees everything that it was granted')
    .argument('<role>', 'role as `access list` shows it')
    .prints(() => import('../commands/access.ts'), 'runRevoke', quiet)
  access
    .command('hand-over')
    .description('give what a role left that was dropped (changes, references, consumers of the feed) to another role')
    .argument('<gone>', 'role that is gone, as `status` names it')
    .argument('<role>', 'role that has it from now on; it may have the same name')
    .prints(() => import('../commands/access.ts'), 'runHandOver', quiet)
  access
    .command('list')
    .description('list the restricted roles and their companies')
    .prints(() => import('../commands/access.ts'), 'runList', looks)
  addTokens(access)
  access
    .command('calendar')
    .description("print the address of a boat's calendar with a new key, and revoke the previous key")
    .argument('<resource>', 'resources.id')
    .option('--revoke', 'revoke the key without creating one; then nobody can read the calendar', false)
    .prints(() => import('../commands/access.ts'), 'runCalendar', quiet)
  access
    .command('report')
    .description('print the address of a report of one company as CSV with a new key, and revoke the previous key')
    .argument('<name>', 'a report, such as rentals')
    .requiredOption('--company <id>', 'companies.id', companyId)
    .option('--revoke', 'revoke the key without creating one', false)
    .prints(() => import('../commands/access.ts'), 'runReport', quiet)
}

function addTokens(access: Usage): void {
  const load = () => import('../commands/access-token.ts')
  const token = access.command('token').description('access tokens of `serve`')
  token
    .command('create')
    .description('create a token and its database role, and print the token once')
    .argument('<name>', 'name of the token', tokenName)
    .option('--companies <ids>', 'companies.id that it sees, separated by commas; default: all', companyIds)
    .option('--personal', 'it may also read personal members, users and documents', false)
    .option('--write', 'it may also write', false)
    .option('--expires <duration>', 'how long it is valid, such as 90d; default: until it is revoked', validity)
    .option('--server <role>', 'the database role of `serve`, if DATABASE_URL of this command names another role')
    .prints(load, 'runCreate', quiet)
  token.command('list').description('list the tokens and what each may do, newest first').prints(load, 'runList', looks)
  token
    .command('revoke')
    .description('revoke a token immediately, and drop its database role')
    .argument('<token>', 'name or number, as `access token list` shows it')
    .prints(load, 'runRevoke', quiet)
}

/** A number must not be the name of a token. */
const tokenName = matching(
  /^[A-Za-z][\w.-]{0,62}$/,
  'It must be a letter, then at most 62 letters, digits, dots, hyphens and underscores.',
)

/** Parses how long a token is valid, into milliseconds. @throws InvalidArgumentError, which commander reports. */
function validity(text: string): number {
  const ms = parseDuration(text)
  if (ms !== undefined && ms > 0) return ms
  throw new InvalidArgumentError('It must be a duration such as 90d, 24h or 15m.')
}

/** Parses ids of companies. @throws InvalidArgumentError, which commander reports. */
function companyIds(text: string): readonly string[] {
  return [...new Set(text.split(',').map((part) => companyId(part.trim())))]
}
