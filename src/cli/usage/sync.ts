// How the commands that keep the mirror up to date, and show its state, are called.

import { type Command, InvalidArgumentError } from 'commander'
import { findStream, streams } from '../../catalog/catalog.ts'
import { meant } from '../../near-names.ts'
import { parseQuota, type Quota, settings } from '../../settings.ts'
import { action, looks, quiet } from './action.ts'
import { recordNumber, recordNumbers, wholeNumber, withExpected, withJson } from './arguments.ts'

/** Registers `worker`. */
export function registerWorker(program: Command): void {
  program
    .command('worker')
    .description(
      'run the schedule, syncs and deliveries until you stop it; on an empty mirror the first full sync starts at once',
    )
    .addHelpText(
      'after',
      '\nSIGTERM, Ctrl-C and closing its terminal end it within seconds: tasks reach their checkpoint or are released.',
    )
    .action(action(() => import('../commands/worker.ts'), 'runWorker', { stoppedCode: 0 }))
}

/** Registers `serve`. */
export function registerServe(program: Command): void {
  program
    .command('serve')
    .description('serve the API itself: reads from the mirror, writes through the outbox; until you stop it')
    .addHelpText(
      'after',
      '\nSERVE_LISTEN sets the address. A worker must also run, here or elsewhere: it reads the API and sends the writes.\nWith SERVE=on, `worker` serves as well.',
    )
    .action(action(() => import('../commands/serve.ts'), 'runServe', { stoppedCode: 0 }))
}

/** Registers `sync`. */
export function registerSync(program: Command): void {
  withJson(
    program
      .command('sync')
      .description('run one full sync now; show progress, then a table of streams')
      .argument(
        '[stream...]',
        'streams, by the names of their tables; the streams that they depend on are read too (default: all)',
      )
      .option('--full', 'read all details again, also of unchanged records', false)
      .option(
        '--check',
        'read and compare everything, change no record, report differences; exit code 1 if there are any',
        false,
      )
      .addHelpText(
        'after',
        '\nExit codes: 0 done, 1 a stream failed or was only partly read, 3 deletions are held or records are in quarantine.\nIt continues where a killed sync stopped, and shares the work with a running worker.',
      ),
  ).action(action(() => import('../commands/sync.ts'), 'runSync'))
}

/** Registers `refresh`. */
export function registerRefresh(program: Command): void {
  withJson(
    program
      .command('refresh')
      .description('read a stream, or one record and its details, now: after queued changes, before scheduled reads')
      .argument('<stream>', 'name of its table, for example rentals; the streams that it depends on are read too')
      .argument(
        '[key...]',
        'key of one record, for example 42; several columns one after the other: rental_options 42 7',
      )
      .option('--wait', 'share the work, and wait until it is done', false)
      .addHelpText(
        'after',
        '\nWithout --wait a running worker does it at once; repeating an open request adds nothing.\nExit codes with --wait: 0 done, 1 failed or only partly read, 3 deletions are held or records are in quarantine.',
      ),
  ).action(action(() => import('../commands/refresh.ts'), 'runRefresh', quiet))
}

/** Registers `status`. */
export function registerStatus(program: Command): void {
  withJson(
    program
      .command('status')
      .description(
        'show streams (rows, age, last and next run), queue, outbox, quarantine, and endpoints (last call and result)',
      )
      .option('--exit-code', 'end with 3 if something needs your attention', false)
      .option('--watch', 'refresh every two seconds until Ctrl-C', false)
      .option('--endpoints', 'list all endpoints, not only those that failed', false),
  ).action(action(() => import('../commands/status.ts'), 'runStatus', { ...looks, stoppedCode: 0 }))
}

/** Registers `runs`, `runs show` and `runs release`. */
export function registerRuns(program: Command): void {
  const runs = withJson(
    program
      .command('runs')
      .description('list runs, newest first')
      .argument('[stream]', 'only of this stream')
      .option('--limit <n>', 'maximum number of runs', wholeNumber(1, 10_000), 30),
  ).action(action(() => import('../commands/runs.ts'), 'runList', looks))
  withJson(
    runs
      .command('show')
      .description('show one run: counts, errors, warnings, plan of held deletions')
      .argument('<id>', 'number', recordNumber),
  ).action(action(() => import('../commands/runs.ts'), 'runShow', looks))
  withJson(
    withExpected(
      runs
        .command('release')
        .description(
          'release the held deletions of a run: each record, or its parent, is requested again, and marked as deleted if it is still gone',
        )
        .argument('<id>', 'number of the held run', recordNumber),
      'runs show',
    ),
  ).action(action(() => import('../commands/runs.ts'), 'runRelease', quiet))
}

/** Registers `pause`. */
export function registerPause(program: Command): void {
  decidesStream(
    program
      .command('pause')
      .description('pause reads of a stream and of the streams below it until `resume`; a run in progress ends first'),
  ).action(action(() => import('../commands/pause.ts'), 'runPause', quiet))
}

/** Registers `resume`. */
export function registerResume(program: Command): void {
  decidesStream(program.command('resume').description('end a pause; overdue reads start at once')).action(
    action(() => import('../commands/pause.ts'), 'runResume', quiet),
  )
}

function decidesStream(command: Command): Command {
  const about = command
    .argument('<stream>', 'name of its table')
    .option('--dry-run', 'change nothing; show what would be paused or read again, and the plan', false)
  return withJson(withExpected(about, `${command.name()} --dry-run`))
}

/** Registers `schedule`. */
export function registerSchedule(program: Command): void {
  withJson(
    program
      .command('schedule')
      .description(
        'show the schedule of the worker: configured and effective intervals, next times, share of the rate limit',
      )
      .option('--plan', 'show the requests that a first sync and a day need with these settings', false)
      .option('--rows <stream=n>', 'with --plan: assume this number of rows; may be repeated', collectRows, new Map())
      .option('--quota <quota>', 'with --plan: assume this API_QUOTA, for example 100000/day', quotaGiven),
  ).action(action(() => import('../commands/schedule.ts'), 'runSchedule', looks))
}

/** Registers `quarantine`, `quarantine show` and `quarantine retry`. */
export function registerQuarantine(program: Command): void {
  const quarantine = withJson(
    program
      .command('quarantine')
      .description(
        'list records that cannot be mirrored, with the reason; a valid version from the API clears them automatically',
      )
      .argument('[stream]', 'only of this stream')
      .option('--limit <n>', 'maximum number of entries', wholeNumber(1, 10_000), 50),
  ).action(action(() => import('../commands/quarantine.ts'), 'runList', looks))
  withJson(
    quarantine
      .command('show')
      .description('show one entry with its payload as received')
      .argument('<id>', 'number', recordNumber),
  ).action(action(() => import('../commands/quarantine.ts'), 'runShow', looks))
  withJson(
    quarantine
      .command('retry')
      .description('try to mirror stored payloads again; useful after a change of the program or a setting')
      .argument('[id...]', 'numbers of entries', recordNumbers, [])
      .option('--all', 'all entries', false),
  ).action(action(() => import('../commands/quarantine.ts'), 'runRetry', quiet))
}

/** Reads `--quota`. */
function quotaGiven(text: string): Quota {
  const quota = parseQuota(text)
  if (quota === undefined) throw new InvalidArgumentError(`It must be ${settings.quota.takes}.`)
  return quota
}

/** Collects `--rows STREAM=N`. */
function collectRows(text: string, before: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const [, name = '', number = ''] = /^(\w+)=(\d{1,9})$/.exec(text) ?? []
  if (findStream(name) === undefined)
    throw new InvalidArgumentError(
      name === ''
        ? 'It must be STREAM=N.'
        : `There is no stream "${name}"${meant(
            name,
            streams.map((each) => each.name),
          )}.`,
    )
  return new Map([...before, [name, Number(number)]])
}
