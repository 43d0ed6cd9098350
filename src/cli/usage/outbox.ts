// How the commands of the outbox are called.

import { type Command, InvalidArgumentError } from 'commander'
import { type Status, statuses } from '../../outbox/states.ts'
import { action, quiet } from './action.ts'
import { recordNumber, recordNumbers, wholeNumber, withExpected, withJson } from './arguments.ts'

/** Registers `push`. */
export function registerPush(program: Command): void {
  withJson(
    program
      .command('push')
      .description('send what is queued in the outbox, wait until it is settled, print a table')
      .option('--dry-run', 'send nothing; show what would be sent, field by field', false)
      .option('--limit <n>', 'changes at most in the table', wholeNumber(1, 100_000), 1_000)
      .addHelpText(
        'after',
        '\nExit codes: 0 all done, 1 a change was refused, expired or is blocked, or the API refuses the account, 3 a conflict or an unknown outcome needs a person.\nIt shares the work with a running worker; ended early, the next push or worker carries on.',
      ),
  ).action(action(() => import('../commands/push.ts'), 'runPush', quiet))
}

/** Registers `changes` and its subcommands. */
export function registerChanges(program: Command): void {
  const changes = program.command('changes').description('the outbox: changes queued for the API')
  withJson(
    changes
      .command('list', { isDefault: true })
      .description('changes, oldest first')
      .option('--status <status...>', `only these: ${statuses.join(', ')}`, statusNames, [])
      .option('--aggregate <name>', 'only of this record, such as rental:42', aggregateName)
      .option('--limit <n>', 'the newest n', wholeNumber(1, 100_000), 50),
  ).action(action(() => import('../commands/changes.ts'), 'runList', quiet))
  withJson(
    changes.command('show').description('all that is known of one change').argument('<id>', 'number', recordNumber),
  ).action(action(() => import('../commands/changes.ts'), 'runShow', quiet))
  withJson(
    changes
      .command('enqueue')
      .description('queue a change, as outbox.enqueue(operation, target, body, options) does')
      .argument('<operation>', 'such as rental.update')
      .argument('[target]', 'path parameters as JSON, such as \'{"rentalId": 42}\'', jsonText, '{}')
      .argument('[body]', 'fields as JSON', jsonText, '{}')
      .argument('[options]', 'reference, expires_at, on_conflict, base as JSON', jsonText, '{}')
      .option('--target <json>', 'instead of the argument', jsonText)
      .option('--body <json>', 'instead of the argument', jsonText)
      .option('--options <json>', 'instead of the argument', jsonText),
  ).action(action(() => import('../commands/changes.ts'), 'runEnqueue', quiet))
  decides(
    changes
      .command('retry')
      .description('queue failed, expired, canceled or conflicting changes again')
      .argument('[id...]', 'numbers', recordNumbers, [])
      .option('--all', 'every failed and expired one', false),
  ).action(action(() => import('../commands/changes.ts'), 'runRetry', quiet))
  decides(
    changes
      .command('cancel')
      .description('cancel changes that are not on their way; what refers to them is blocked')
      .argument('<id...>', 'numbers', recordNumbers, []),
  ).action(action(() => import('../commands/changes.ts'), 'runCancel', quiet))
  decides(
    changes
      .command('resolve')
      .description('decide a conflict (--take) or a change whose effect is not known (--took-effect, --did-not)')
      .argument('<id>', 'number', recordNumber)
      .option('--take <side>', 'local or remote: whose values the conflicting fields get', side)
      .option('--took-effect', 'it did: the change is done', false)
      .option('--did-not', 'it did not: the change is sent again', false)
      .option('--id <id>', 'with --took-effect: id of the record it made'),
  ).action(action(() => import('../commands/changes.ts'), 'runResolve', quiet))
}

const decides = (command: Command): Command => withJson(withExpected(command, 'changes show'))

function statusNames(text: string, before: readonly Status[]): readonly Status[] {
  const found = statuses.find((status) => status === text)
  if (found === undefined) throw new InvalidArgumentError(`It must be one of ${statuses.join(', ')}.`)
  return [...before, found]
}

function side(text: string): 'local' | 'remote' {
  if (text !== 'local' && text !== 'remote') throw new InvalidArgumentError('It must be local or remote.')
  return text
}

function aggregateName(text: string): string {
  if (/^(rental|user|change):-?\d{1,18}$/.test(text)) return text
  throw new InvalidArgumentError('It must be rental:ID, user:ID, or change:ID of the change that creates the record.')
}

function jsonText(text: string): string {
  try {
    JSON.parse(text)
  } catch {
    throw new InvalidArgumentError('It must be JSON.')
  }
  return text
}
