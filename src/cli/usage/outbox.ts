// How the commands of the outbox are called.

import { type Command, InvalidArgumentError } from 'commander'
import { type Status, statuses } from '../../outbox/states.ts'
import { action, looks, quiet } from './action.ts'
import { recordNumber, recordNumbers, wholeNumber, withExpected, withJson } from './arguments.ts'

/** Registers `push`. */
export function registerPush(program: Command): void {
  withJson(
    program
      .command('push')
      .description('send the queued changes, wait until they are settled, print a table')
      .option('--dry-run', 'send nothing; show field by field what would be sent', false)
      .option('--limit <n>', 'maximum number of changes in the table', wholeNumber(1, 100_000), 1_000)
      .addHelpText(
        'after',
        '\nExit codes: 0 all done, 1 a change was refused, has expired or is blocked, or the API refuses the account, 3 a conflict or an unknown outcome needs your decision.\nIt shares the work with a running worker. If you stop it early, the next push or worker continues.',
      ),
  ).action(action(() => import('../commands/push.ts'), 'runPush', quiet))
}

/** Registers `changes` and its subcommands. */
export function registerChanges(program: Command): void {
  const changes = program.command('changes').description('list, queue and decide changes for the API (the outbox)')
  withJson(
    changes
      .command('list', { isDefault: true })
      .description('list changes, oldest first')
      .option('--status <status...>', `only these states: ${statuses.join(', ')}`, statusNames, [])
      .option('--aggregate <name>', 'only changes of this record, for example rental:42', aggregateName)
      .option('--limit <n>', 'only the newest n', wholeNumber(1, 100_000), 50),
  ).action(action(() => import('../commands/changes.ts'), 'runList', looks))
  withJson(
    changes
      .command('show')
      .description('show everything about one change')
      .argument('<id>', 'number of the change', recordNumber),
  ).action(action(() => import('../commands/changes.ts'), 'runShow', looks))
  withJson(
    changes
      .command('enqueue')
      .description('queue a change, like outbox.enqueue(operation, target, body, options)')
      .argument('<operation>', 'for example rental.update')
      .argument('[target]', 'path parameters as JSON, for example \'{"rentalId": 42}\'', jsonText, '{}')
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
      .argument('[id...]', 'numbers of changes', recordNumbers, [])
      .option('--all', 'all failed and expired changes', false),
  ).action(action(() => import('../commands/changes.ts'), 'runRetry', quiet))
  decides(
    changes
      .command('cancel')
      .description('cancel changes that are not being sent; changes that refer to them are blocked')
      .argument('<id...>', 'numbers of changes', recordNumbers, []),
  ).action(action(() => import('../commands/changes.ts'), 'runCancel', quiet))
  decides(
    changes
      .command('resolve')
      .description('decide a conflict (--take), or a change with an unknown outcome (--took-effect, --did-not)')
      .argument('<id>', 'number of the change', recordNumber)
      .option('--take <side>', 'local or remote: whose values to use for the conflicting fields', side)
      .option('--took-effect', 'the change took effect: mark it as done', false)
      .option('--did-not', 'the change did not take effect: send it again', false)
      .option('--id <id>', 'with --took-effect: id of the record that it created'),
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
