// How the commands are called that keep the mirror, and show how far they are.

import { type Command, InvalidArgumentError } from 'commander'
import { findStream, streams } from '../../catalog/catalog.ts'
import { meant } from '../../near-names.ts'
import { parseQuota, type Quota, settings } from '../../settings.ts'
import { action, quiet } from './action.ts'
import { recordNumber, recordNumbers, wholeNumber, withExpected, withJson } from './arguments.ts'

/** Registers `worker`. */
export function registerWorker(program: Command): void {
  program
    .command('worker')
    .description(
      'run schedules and workers until told to stop; the first complete sync starts at once on an empty mirror',
    )
    .addHelpText(
      'after',
      '\nSIGTERM, Ctrl-C and closing its terminal end it within seconds: tasks reach their checkpoint or are given back.',
    )
    .action(action(() => import('../commands/worker.ts'), 'runWorker', { stoppedCode: 0 }))
}

/** Registers `serve`. */
export function registerServe(program: Command): void {
  program
    .command('serve')
    .description("answer the API's own reads from the mirror, and its writes through the outbox, until told to stop")
    .addHelpText(
      'after',
      '\nSERVE_LISTEN says where. A worker must run, here or elsewhere: it reads the API and sends the writes.\nWith SERVE=on, `worker` serves as well.',
    )
    .action(action(() => import('../commands/serve.ts'), 'runServe', { stoppedCode: 0 }))
}

/** Registers `sync`. */
export function registerSync(program: Command): void {
  withJson(
    program
      .command('sync')
      .description('one complete sync now, with progress, then a table per stream')
      .argument('[stream...]', 'streams, named by their tables; what they hang below is read too (default: all)')
      .option('--full', 'read every detail again, also of records that did not change', false)
      .option('--check', 'read and compare everything, change no record, report differences; exit code 1 if any', false)
      .addHelpText(
        'after',
        '\nExit codes: 0 done, 1 a stream failed or is partly read, 3 deletions are held or records are in quarantine.\nIt carries on what a killed sync left, and shares the work with a running worker.',
      ),
  ).action(action(() => import('../commands/sync.ts'), 'runSync'))
}

/** Registers `refresh`. */
export function registerRefresh(program: Command): void {
  withJson(
    program
      .command('refresh')
      .description(
        'read a stream, or one record and its details, now: after queued changes, before everything scheduled',
      )
      .argument('<stream>', 'named by its table, such as rentals; what it hangs below is read with it')
      .argument('[key...]', 'one record, such as 42; of several columns one after the other: rental_options 42 7')
      .option('--wait', 'work on it here as well, and wait until it is over', false)
      .addHelpText(
        'after',
        '\nWithout --wait a running worker carries it out at once; the same while it is open is asked for once.\nExit codes with --wait: 0 done, 1 failed or partly read, 3 deletions are held or records are in quarantine.',
      ),
  ).action(action(() => import('../commands/refresh.ts'), 'runRefresh', quiet))
}

/** Registers `status`. */
export function registerStatus(program: Command): void {
  withJson(
    program
      .command('status')
      .description(
        'per stream: rows, age, last and next run; queue, outbox, quarantine; per endpoint: last call and result',
      )
      .option('--exit-code', 'end with 3 when something needs a person', false)
      .option('--watch', 'show it again every two seconds until Ctrl-C', false)
      .option('--endpoints', 'list every endpoint, not only those that failed', false),
  ).action(action(() => import('../commands/status.ts'), 'runStatus', { ...quiet, stoppedCode: 0 }))
}

/** Registers `runs`, `runs show` and `runs release`. */
export function registerRuns(program: Command): void {
  const runs = withJson(
    program
      .command('runs')
      .description('history of runs, newest first')
      .argument('[stream]', 'only of this stream')
      .option('--limit <n>', 'runs at most', wholeNumber(1, 10_000), 30),
  ).action(action(() => import('../commands/runs.ts'), 'runList', quiet))
  withJson(
    runs
      .command('show')
      .description('one run: counts, errors, warnings, plan of held deletions')
      .argument('<id>', 'number', recordNumber),
  ).action(action(() => import('../commands/runs.ts'), 'runShow', quiet))
  withJson(
    withExpected(
      runs
        .command('release')
        .description(
          'let the held deletions of a run happen: each record, or the one above it, is asked for again, and what is still gone gets a tombstone',
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
      .description('read nothing of a stream, and of what hangs below it, until `resume`; a run under way ends first'),
  ).action(action(() => import('../commands/pause.ts'), 'runPause', quiet))
}

/** Registers `resume`. */
export function registerResume(program: Command): void {
  decidesStream(program.command('resume').description('end a pause: what is overdue is read at once')).action(
    action(() => import('../commands/pause.ts'), 'runResume', quiet),
  )
}

function decidesStream(command: Command): Command {
  const about = command
    .argument('<stream>', 'named by its table')
    .option('--dry-run', 'decide nothing; show what would be paused or read again, and the plan', false)
  return withJson(withExpected(about, `${command.name()} --dry-run`))
}

/** Registers `schedule`. */
export function registerSchedule(program: Command): void {
  withJson(
    program
      .command('schedule')
      .description(
        'the plan of the worker: wanted and effective intervals, next times, and the share of the rate limit',
      )
      .option('--plan', 'the requests that a first sync and a day need with these settings', false)
      .option('--rows <stream=n>', 'with --plan: as if there were so many; may be repeated', collectRows, new Map())
      .option('--quota <quota>', 'with --plan: as if API_QUOTA were this, such as 100000/day', quotaGiven),
  ).action(action(() => import('../commands/schedule.ts'), 'runSchedule', quiet))
}

/** Registers `quarantine`, `quarantine show` and `quarantine retry`. */
export function registerQuarantine(program: Command): void {
  const quarantine = withJson(
    program
      .command('quarantine')
      .description(
        'records that cannot be mirrored, with the reason; a good version from the API clears them by itself',
      )
      .argument('[stream]', 'only of this stream')
      .option('--limit <n>', 'entries at most', wholeNumber(1, 10_000), 50),
  ).action(action(() => import('../commands/quarantine.ts'), 'runList', quiet))
  withJson(
    quarantine
      .command('show')
      .description('one entry with its payload as received')
      .argument('<id>', 'number', recordNumber),
  ).action(action(() => import('../commands/quarantine.ts'), 'runShow', quiet))
  withJson(
    quarantine
      .command('retry')
      .description('project stored payloads again and mirror them; helps when the program or a setting has changed')
      .argument('[id...]', 'numbers of entries', recordNumbers, [])
      .option('--all', 'every entry', false),
  ).action(action(() => import('../commands/quarantine.ts'), 'runRetry', quiet))
}

/** Reads `--quota`. */
function quotaGiven(text: string): Quota {
  const quota = parseQuota(text)
  if (quota === undefined) throw new InvalidArgumentError(`It takes ${settings.quota.takes}.`)
  return quota
}

/** Collects `--rows STREAM=N`. */
function collectRows(text: string, before: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const [, name = '', number = ''] = /^(\w+)=(\d{1,9})$/.exec(text) ?? []
  if (findStream(name) === undefined)
    throw new InvalidArgumentError(
      name === ''
        ? 'It takes STREAM=N.'
        : `There is no stream "${name}"${meant(
            name,
            streams.map((each) => each.name),
          )}.`,
    )
  return new Map([...before, [name, Number(number)]])
}
