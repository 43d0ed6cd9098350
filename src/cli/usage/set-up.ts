// How the commands that set up and maintain a database are called.

import { Argument } from 'commander'
import { addAccess } from './access.ts'
import { looks, matching, quiet, recordNumber, type Usage, wholeNumber } from './command.ts'
import { addSandbox } from './sandbox.ts'

/** Adds the commands from `init` to `db`. */
export function addSetUp(program: Usage): void {
  program
    .command('init')
    .description(
      'ask for the address and token of the API and for the database, check them, and write .env for every later command',
    )
    .note(
      'API_BASE_URL, API_TOKEN and DATABASE_URL of the environment are used as they are. Without a terminal, lines NAME=value',
      'on standard input set the others. Secrets are never given as flags, and never shown on the screen.',
      'Exit code: 0 .env is written, 1 the check failed and nothing is written, 2 wrong usage or .env is tracked by git,',
      '3 .env is written, and the environment contradicts it.',
    )
    .runs(() => import('../commands/init.ts'), 'runInit', { logLevel: 'error' })
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
    .note(
      'Exit codes with --write: 0 a sync would work with the detected settings, 3 a line of the file or the environment',
      'contradicts them, 1 not found. A search makes at most 40 reads, at most 4 of them refused.',
    )
    .prints(() => import('../commands/check.ts'), 'runCheck', { logLevel: 'error' })
  program
    .command('alert')
    .description('send a message to ALERT_URL, as a worker does when something starts to need your attention')
    .requiredOption('--test', 'send a test message')
    .runs(() => import('../commands/webhook.ts'), 'runAlert', quiet)
  addWebhook(program)
  addAccess(program)
  addPrivacy(program)
  program
    .command('migrate')
    .description("bring the database up to date: schemas, functions, grants, and BullMQ's tables if there is no Redis")
    .option(
      '--status',
      'change nothing; show what is applied and what is missing; exit code 1 if anything is missing',
      false,
    )
    .prints(() => import('../commands/migrate.ts'), 'runMigrate')
  const moved = program.command('moved').description('say that what seems to be another one is the same at a new place')
  moved
    .command('api')
    .description('the API that filled this database has the address in API_BASE_URL now')
    .prints(() => import('../commands/migrate.ts'), 'runApi', quiet)
  moved
    .command('database')
    .description(
      'what became of the database that this one is a copy of: its queued changes are verified, or canceled here',
    )
    .addArgument(new Argument('<state>', 'whether it sends nothing any more, or lives on').choices(['gone', 'lives']))
    .option('--undetected', 'nothing in the database shows that it is a copy: a volume snapshot, a branch', false)
    .prints(() => import('../commands/migrate.ts'), 'runDatabase', quiet)
  addSandbox(program)
  const db = program
    .command('db')
    .description("print the database's postgres:// address, including the password; `db psql` opens it")
    .runs(() => import('../commands/db.ts'), 'runAddress', looks)
  db.command('psql')
    .description(
      'open psql (from the path) on the database, without its pager; the embedded database runs at least until psql ends',
    )
    .runs(() => import('../commands/db.ts'), 'runPsql', quiet)
}

function addWebhook(program: Usage): void {
  const load = () => import('../commands/webhook.ts')
  const webhook = program
    .command('webhook')
    .description('list, test and repeat the calls that send changes of the mirror to WEBHOOK_URL')
  webhook
    .command('test')
    .description('send a signed call without changes to WEBHOOK_URL; exit code 1 if the receiver does not accept it')
    .prints(load, 'runTest', quiet)
  webhook
    .command('deliveries', { isDefault: true })
    .description('list delivery attempts, newest first: the last 1,000 of a week')
    .option('--limit <n>', 'maximum number of attempts', wholeNumber(1, 1_000), 30)
    .prints(load, 'runDeliveries', looks)
  webhook
    .command('replay')
    .description('send earlier changes again, in order, as new calls; later changes follow')
    .requiredOption(
      '--from <place>',
      'a cursor: all changes after it; the id of a delivery: that call and all after it; start: the whole log',
      replayPlace,
    )
    .prints(load, 'runReplay', quiet)
}

const replayPlace = matching(
  /^(start|msg_[0-9a-f]{32}|1\.-?\d{1,19}(\.\d{1,18}){2}(\.[\da-f]{1,16})?)$/,
  'It must be a cursor from the feed, the id of a delivery, or start.',
)

function addPrivacy(program: Usage): void {
  const load = () => import('../commands/privacy.ts')
  const privacy = program
    .command('privacy')
    .description('show what is stored of personal data; export or erase the data of one user')
    .prints(load, 'runPrivacy', looks)
  privacy
    .command('apply')
    .description(
      'erase personal data that was stored under another PERSONAL_DATA, PERSONAL_DATA_KEY or `privacy` of the file; the next sync reads it again. If it was stopped, run it again',
    )
    .option('--dry-run', 'change nothing; show how many rows of which tables would be erased', false)
    .note(
      'Workers with other settings stop, and none starts until it is done. Backups and WAL archives keep the former values:',
      'expire them yourself.',
    )
    .prints(load, 'runApply', quiet)
  privacy
    .command('export')
    .description('print everything stored about a user, as JSON')
    .argument('<user>', 'users.id', recordNumber)
    .runs(load, 'runExport', looks)
  privacy
    .command('erase')
    .description('erase a user: keep only the key, in every table and in future reads')
    .argument('<user>', 'users.id', recordNumber)
    .option('--crew', "also erase the crew members of the user's rentals", false)
    .prints(load, 'runErase', quiet)
  privacy
    .command('unerase')
    .description('mirror an erased user again, starting with the next sync')
    .argument('<user>', 'users.id', recordNumber)
    .prints(load, 'runUnerase', quiet)
}
