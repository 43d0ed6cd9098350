// How the commands are called that set up and look after a database.

import { type Command, InvalidArgumentError } from 'commander'
import { action, quiet } from './action.ts'
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
      '\nAPI_BASE_URL, API_TOKEN and DATABASE_URL of the environment are taken as they are. Without a terminal, lines NAME=value' +
        '\non standard input set the others. A secret is never a flag, and never on the screen.' +
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
        'try configuration, database, queue, API address and credentials, say how paging and envelopes are read, and find the settings that are not set; exit code 1 if anything fails',
      )
      .option(
        '--write [file]',
        'add the settings that were found, and where API and database are, to a file (default: .env); no secret',
      )
      .option('--with-secrets', 'with --write: also API_TOKEN, and addresses with their passwords', false)
      .option('--try-query', 'also try the secret in the address, where logs may keep it', false)
      .addHelpText(
        'after',
        '\nExit code with --write: 0 a sync would work with what was found, 3 a line that is there or the environment' +
          '\ncontradicts, 1 not found. A search makes at most 40 reads, at most 4 of them refused.',
      ),
  ).action(action(() => import('../commands/check.ts'), 'runCheck', { logLevel: 'error' }))
}

/** Registers `alert`. */
export function registerAlert(program: Command): void {
  program
    .command('alert')
    .description('send a message to ALERT_URL, as a worker does when something begins to need a person')
    .requiredOption('--test', 'send one that says it is a test')
    .action(action(() => import('../commands/alert.ts'), 'runAlert', quiet))
}

/** Registers `webhook test`, `webhook deliveries` and `webhook replay`. */
export function registerWebhook(program: Command): void {
  const webhook = program.command('webhook').description('the calls that tell WEBHOOK_URL what changed in the mirror')
  withJson(
    webhook
      .command('test')
      .description('send a signed call without changes to WEBHOOK_URL; exit code 1 if the receiver does not accept it'),
  ).action(action(() => import('../commands/webhook.ts'), 'runTest', quiet))
  withJson(
    webhook
      .command('deliveries', { isDefault: true })
      .description('attempts to deliver a call, newest first: the last 1,000 of a week')
      .option('--limit <n>', 'attempts at most', wholeNumber(1, 1_000), 30),
  ).action(action(() => import('../commands/webhook.ts'), 'runDeliveries', quiet))
  withJson(
    webhook
      .command('replay')
      .description('send again what was sent, in order, as new calls; changes since then follow')
      .requiredOption(
        '--from <place>',
        'a cursor: all changes after it; the id of a delivery: that call and all after it; start: all that the log has',
        replayPlace,
      ),
  ).action(action(() => import('../commands/webhook.ts'), 'runReplay', quiet))
}

/** Parses where a replay begins. @throws InvalidArgumentError, which commander reports. */
function replayPlace(text: string): string {
  if (/^(start|msg_[0-9a-f]{32}|1\.-?\d{1,19}(\.\d{1,18}){2})$/.test(text)) return text
  throw new InvalidArgumentError('It takes a cursor as the feed gives it, the id of a delivery, or start.')
}

/** Registers `privacy`, and `privacy apply`, `privacy export`, `privacy erase` and `privacy unerase`. */
export function registerPrivacy(program: Command): void {
  const load = () => import('../commands/privacy.ts')
  const privacy = withJson(
    program.command('privacy').description('what is stored of personal data; export and erase of one person'),
  ).action(action(load, 'runPrivacy', quiet))
  withJson(
    privacy
      .command('apply')
      .description(
        'bring what is stored under PERSONAL_DATA, PERSONAL_DATA_KEY and `privacy` of the file as they are now; run again, it continues where it was stopped',
      )
      .option('--dry-run', 'only say how many rows of which tables would change', false)
      .addHelpText(
        'after',
        '\nWorkers with other settings stop, and none starts until it is done. Backups and WAL archives keep the former values:' +
          '\nexpire them yourself.',
      ),
  ).action(action(load, 'runApply', quiet))
  privacy
    .command('export')
    .description('all that is held about a user, as JSON')
    .argument('<user>', 'users.id', recordNumber)
    .action(action(load, 'runExport', quiet))
  withJson(
    privacy
      .command('erase')
      .description('keep of a user nothing but the key, in every table and from now on')
      .argument('<user>', 'users.id', recordNumber)
      .option('--crew', "also the crew members of the user's rentals", false),
  ).action(action(load, 'runErase', quiet))
  withJson(
    privacy
      .command('unerase')
      .description('mirror an erased user again, from the next sync on')
      .argument('<user>', 'users.id', recordNumber),
  ).action(action(load, 'runUnerase', quiet))
}

/** Registers `migrate`. */
export function registerMigrate(program: Command): void {
  withJson(
    program
      .command('migrate')
      .description(
        "bring the database up to date: schemas, functions, grants, and BullMQ's tables where it has no Redis",
      )
      .option('--status', 'only say what is applied and what is missing; exit code 1 if anything is missing', false),
  ).action(action(() => import('../commands/migrate.ts'), 'runMigrate'))
}

/** Registers `db` and `db psql`. */
export function registerDb(program: Command): void {
  const db = program
    .command('db')
    .description("print the database's postgres:// address, password included; `db psql` opens it")
    .action(action(() => import('../commands/db.ts'), 'runAddress', quiet))
  db.command('psql')
    .description(
      'open psql (from the path) on the database, without its pager; without a worker it runs as long as psql does',
    )
    .action(action(() => import('../commands/db.ts'), 'runPsql', quiet))
}
