// How the commands for access are called: roles, tokens, keys of calendars.

import { type Command, InvalidArgumentError } from 'commander'
import { parseDuration } from '../../settings.ts'
import { action, looks, quiet } from './action.ts'
import { withJson } from './arguments.ts'

/** Registers `access grant`, `access revoke`, `access hand-over`, `access list`, `access token` and `access calendar`. */
export function registerAccess(program: Command): void {
  const access = program
    .command('access')
    .description('restrict database roles to the rows of some companies; manage the tokens and calendars of `serve`')
  withJson(
    access
      .command('grant')
      .description('restrict a role and its members to these companies; replaces an earlier restriction')
      .argument('<role>', 'database role; it may be a member of boat_mirror_partner or another role of Boat Mirror')
      .requiredOption('--companies <ids>', 'companies.id, separated by commas', companyIds),
  ).action(action(() => import('../commands/access.ts'), 'runGrant', quiet))
  withJson(
    access
      .command('revoke')
      .description('lift the restriction: the role sees everything that it was granted')
      .argument('<role>', 'role as `access list` shows it'),
  ).action(action(() => import('../commands/access.ts'), 'runRevoke', quiet))
  withJson(
    access
      .command('hand-over')
      .description(
        'give what a role left that was dropped (changes, references, consumers of the feed) to another role',
      )
      .argument('<gone>', 'role that is gone, as `status` names it')
      .argument('<role>', 'role that has it from now on; it may have the same name'),
  ).action(action(() => import('../commands/access.ts'), 'runHandOver', quiet))
  withJson(access.command('list').description('list the restricted roles and their companies')).action(
    action(() => import('../commands/access.ts'), 'runList', looks),
  )
  registerTokens(access)
  withJson(
    access
      .command('calendar')
      .description("print the address of a boat's calendar with a new key, and revoke the previous key")
      .argument('<resource>', 'resources.id')
      .option('--revoke', 'revoke the key without creating one; then nobody can read the calendar', false),
  ).action(action(() => import('../commands/access-calendar.ts'), 'runCalendar', quiet))
}

/** Registers `access token create`, `access token list` and `access token revoke`. */
function registerTokens(access: Command): void {
  const load = () => import('../commands/access-token.ts')
  const token = access.command('token').description('access tokens of `serve`')
  withJson(
    token
      .command('create')
      .description('create a token and its database role, and print the token once')
      .argument('<name>', 'name of the token', tokenName)
      .option('--companies <ids>', 'companies.id that it sees, separated by commas; default: all', companyIds)
      .option('--personal', 'it may also read personal members, users and documents', false)
      .option('--write', 'it may also write', false)
      .option('--expires <duration>', 'how long it is valid, such as 90d; default: until it is revoked', validity)
      .option('--server <role>', 'the database role of `serve`, if DATABASE_URL of this command names another role'),
  ).action(action(load, 'runCreate', quiet))
  withJson(token.command('list').description('list the tokens and what each may do, newest first')).action(
    action(load, 'runList', looks),
  )
  withJson(
    token
      .command('revoke')
      .description('revoke a token immediately, and drop its database role')
      .argument('<token>', 'name or number, as `access token list` shows it'),
  ).action(action(load, 'runRevoke', quiet))
}

/** Parses the name of a token, which a number must not be. @throws InvalidArgumentError, which commander reports. */
function tokenName(text: string): string {
  if (/^[A-Za-z][\w.-]{0,62}$/.test(text)) return text
  throw new InvalidArgumentError('It must be a letter, then at most 62 letters, digits, dots, hyphens and underscores.')
}

/** Parses how long a token is valid, into milliseconds. @throws InvalidArgumentError, which commander reports. */
function validity(text: string): number {
  const ms = parseDuration(text)
  if (ms !== undefined && ms > 0) return ms
  throw new InvalidArgumentError('It must be a duration such as 90d, 24h or 15m.')
}

const largestId = 9_223_372_036_854_775_807n

/** Parses ids of companies. @throws InvalidArgumentError, which commander reports. */
function companyIds(text: string): readonly string[] {
  const ids = text.split(',').map((part) => part.trim())
  const wrong = ids.find((id) => !/^\d{1,19}$/.test(id) || BigInt(id) > largestId)
  if (wrong !== undefined)
    throw new InvalidArgumentError(`"${wrong}" is not the id of a company. It must be numbers, for example 1,2.`)
  return [...new Set(ids.map((id) => BigInt(id).toString()))]
}
