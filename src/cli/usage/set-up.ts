// How the commands that set up and maintain a database are called.

import { Argument, type Command, InvalidArgumentError } from 'commander'
import { action, looks, quiet } from './action.ts'
import { recordNumber, wholeNumber, withJson } from './arguments.ts'

/** Registers `init`. */
export function registerInit(program: Command): void {
  program
    .command('init')
    .description(
      'ask for the address and token of the API and for the database, check them, and write .env for every later command',
    )
    .addHelpText(
      'after',
      '\nAPI_BASE_URL, API_TOKEN and DATABASE_URL of the environment are used as they are. Without a terminal, lines NAME=value' +
        '\non standard input set the others. Secrets are never given as flags, and never shown on the screen.' +
        '\nExit code: 0 .env is written, 1 the check failed and nothing is written, 2 wrong usage or .env is tracked by git,' +
        '\n3 .env is written, and the environment contradicts it.',
    )
    .action(action(() => import('../commands/init.ts'), 'runInit', { logLevel: 'error' }))
}

/** Registers `check`. */
export function registerCheck(program: Command): void {
  withJson(
    program
      .command('check')
      .description(
        'test configuration, database, queue, API address and credentials, show how paging and envelopes are read, and detect the settings that are not set; exit code 1 if anything fails',
      )
      .option(
        '--write [file]',
        'add the detected settings and the addresses of API and database to a file (default: .env), without secrets',
      )
      .option('--with-secrets', 'with --write: also API_TOKEN, and the passwords in addresses', false)
      .option('--try-query', 'also try the secret as a query parameter, which logs may keep', false)
      .addHelpText(
        'after',
        '\nExit codes with --write: 0 a sync would work with the detected settings, 3 a line of the file or the environment' +
          '\ncontradicts them, 1 not found. A search makes at most 40 reads, at most 4 of them refused.',
      ),
  ).action(action(() => import('../commands/check.ts'), 'runCheck', { logLevel: 'error' }))
}

/** Registers `alert`. */
export function registerAlert(program: Command): void {
  program
    .command('alert')
    .description('send a message to ALERT_URL, as a worker does when something starts to need your attention')
    .requiredOption('--test', 'send a test message')
    .action(action(() => import('../commands/alert.ts'), 'runAlert', quiet))
}

/** Registers `webhook test`, `webhook deliveries` and `webhook replay`. */
export function registerWebhook(program: Command): void {
  const webhook = program
    .command('webhook')
    .description('list, test and repeat the calls that send changes of the mirror to WEBHOOK_URL')
  withJson(
    webhook
      .command('test')
      .description('send a signed call without changes to WEBHOOK_URL; exit code 1 if the receiver does not accept it'),
  ).action(action(() => import('../commands/webhook.ts'), 'runTest', quiet))
  withJson(
    webhook
      .command('deliveries', { isDefault: true })
      .description('list delivery attempts, newest first: the last 1,000 of a week')
      .option('--limit <n>', 'maximum number of attempts', wholeNumber(1, 1_000), 30),
  ).action(action(() => import('../commands/webhook.ts'), 'runDeliveries', looks))
  withJson(
    webhook
      .command('replay')
      .description('send earlier changes again, in order, as new calls; later changes follow')
      .requiredOption(
        '--from <place>',
        'a cursor: all changes after it; the id of a delivery: that call and all after it; start: the whole log',
        replayPlace,
      ),
  ).action(action(() => import('../commands/webhook.ts'), 'runReplay', quiet))
}

/** Parses where a replay begins. @throws InvalidArgumentError, which commander reports. */
function replayPlace(text: string): string {
  if (/^(start|msg_[0-9a-f]{32}|1\.-?\d{1,19}(\.\d{1,18}){2}(\.[\da-f]{1,16})?)$/.test(text)) return text
  throw new InvalidArgumentError('It must be a cursor from the feed, the id of a delivery, or start.')
}

/** Registers `privacy`, and `privacy apply`, `privacy export`, `privacy erase` and `privacy unerase`. */
export function registerPrivacy(program: Command): void {
  const load = () => import('../commands/privacy.ts')
  const privacy = withJson(
    program
      .command('privacy')
      .description('show what is stored of personal data; export or erase the data of one user'),
  ).action(action(load, 'runPrivacy', looks))
  withJson(
    privacy
      .command('apply')
      .description(
        'convert stored data to the current PERSONAL_DATA, PERSONAL_DATA_KEY and `privacy` of the file; if it was stopped, run it again to continue',
      )
      .option('--dry-run', 'change nothing; show how many rows of which tables would change', false)
      .addHelpText(
        'after',
        '\nWorkers with other settings stop, and none starts until it is done. Backups and WAL archives keep the former values:' +
          '\nexpire them yourself.',
      ),
  ).action(action(load, 'runApply', quiet))
  privacy
    .command('export')
    .description('print everything stored about a user, as JSON')
    .argument('<user>', 'users.id', recordNumber)
    .action(action(load, 'runExport', looks))
  withJson(
    privacy
      .command('erase')
      .description('erase a user: keep only the key, in every table and in future reads')
      .argument('<user>', 'users.id', recordNumber)
      .option('--crew', "also erase the crew members of the user's rentals", false),
  ).action(action(load, 'runErase', quiet))
  withJson(
    privacy
      .command('unerase')
      .description('mirror an erased user again, starting with the next sync')
      .argument('<user>', 'users.id', recordNumber),
  ).action(action(load, 'runUnerase', quiet))
}

/** Registers `migrate`. */
export function registerMigrate(program: Command): void {
  withJson(
    program
      .command('migrate')
      .description(
        "bring the database up to date: schemas, functions, grants, and BullMQ's tables if there is no Redis",
      )
      .option(
        '--status',
        'change nothing; show what is applied and what is missing; exit code 1 if anything is missing',
        false,
      ),
  ).action(action(() => import('../commands/migrate.ts'), 'runMigrate'))
}

/** Registers `moved api` and `moved database`. */
export function registerMoved(program: Command): void {
  const moved = program.command('moved').description('say that what seems to be another one is the same at a new place')
  withJson(
    moved.command('api').description('the API that filled this database has the address in API_BASE_URL now'),
  ).action(action(() => import('../commands/moved.ts'), 'runApi', quiet))
  withJson(
    moved
      .command('database')
      .description(
        'what became of the database that this one is a copy of: its queued changes are verified, or canceled here',
      )
      .addArgument(new Argument('<state>', 'whether it sends nothing any more, or lives on').choices(['gone', 'lives']))
      .option('--undetected', 'nothing in the database shows that it is a copy: a volume snapshot, a branch', false),
  ).action(action(() => import('../commands/moved.ts'), 'runDatabase', quiet))
}

/** Registers `db` and `db psql`. */
export function registerDb(program: Command): void {
  const db = program
    .command('db')
    .description("print the database's postgres:// address, including the password; `db psql` opens it")
    .action(action(() => import('../commands/db.ts'), 'runAddress', looks))
  db.command('psql')
    .description(
      'open psql (from the path) on the database, without its pager; the embedded database runs at least until psql ends',
    )
    .action(action(() => import('../commands/db.ts'), 'runPsql', quiet))
}
