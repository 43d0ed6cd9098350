// How the commands that keep the mirror up to date, send changes, and show the state of both are called.

import { InvalidArgumentError } from 'commander'
import { findStream, streams } from '../../catalog/catalog.ts'
import { meant } from '../../near-names.ts'
import { type Status, statuses } from '../../outbox/states.ts'
import { parseQuota, type Quota, settings } from '../../settings.ts'
import { looks, matching, quiet, recordNumber, recordNumbers, type Usage, wholeNumber } from './command.ts'

/** Adds the commands from `worker` to `quarantine`. */
export function addWork(program: Usage): void {
  program
    .command('worker')
    .description(
      'run the schedule, syncs and deliveries until you stop it; on an empty mirror the first full sync starts at once',
    )
    .note(
      'SIGTERM, Ctrl-C and closing its terminal end it within seconds: tasks reach their checkpoint or are released.',
    )
    .runs(() => import('../commands/worker.ts'), 'runWorker', { stoppedCode: 0 })
  program
    .command('serve')
    .description('serve the API itself: reads from the mirror, writes through the outbox; until you stop it')
    .note(
      'SERVE_LISTEN sets the address. A worker must also run, here or elsewhere: it reads the API and sends the writes.',
      'With SERVE=on, `worker` serves as well.',
    )
    .runs(() => import('../commands/serve.ts'), 'runServe', { stoppedCode: 0 })
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
    .note(
      'Exit codes: 0 done, 1 a stream failed or was only partly read, 3 deletions are held or records are in quarantine.',
      'It continues where a killed sync stopped, and shares the work with a running worker.',
    )
    .prints(() => import('../commands/sync.ts'), 'runSync')
  program
    .command('refresh')
    .description('read a stream, or one record and its details, now: after queued changes, before scheduled reads')
    .argument('<stream>', 'name of its table, for example rentals; the streams that it depends on are read too')
    .argument('[key...]', 'key of one record, for example 42; several columns one after the other: rental_options 42 7')
    .option('--wait', 'share the work, and wait until it is done', false)
    .note(
      'Without --wait a running worker does it at once; repeating an open request adds nothing.',
      'Exit codes with --wait: 0 done, 1 failed or only partly read, 3 deletions are held or records are in quarantine.',
    )
    .prints(() => import('../commands/refresh.ts'), 'runRefresh', quiet)
  program
    .command('push')
    .description('send the queued changes, wait until they are settled, print a table')
    .option('--dry-run', 'send nothing; show field by field what would be sent', false)
    .option('--limit <n>', 'maximum number of changes in the table', wholeNumber(1, 100_000), 1_000)
    .note(
      'Exit codes: 0 all done, 1 a change was refused, has expired or is blocked, or the API refuses the account, 3 a conflict or an unknown outcome needs your decision.',
      'It shares the work with a running worker. If you stop it early, the next push or worker continues.',
    )
    .prints(() => import('../commands/push.ts'), 'runPush', quiet)
  addChanges(program)
  program
    .command('status')
    .description(
      'show streams (rows, age, last and next run), queue, outbox, quarantine, and endpoints (last call and result)',
    )
    .option('--exit-code', 'end with 3 if something needs your attention', false)
    .option('--watch', 'refresh every two seconds until Ctrl-C', false)
    .option('--endpoints', 'list all endpoints, not only those that failed', false)
    .prints(() => import('../commands/status.ts'), 'runStatus', { ...looks, stoppedCode: 0 })
  addRuns(program)
  const pauses = (name: string, run: 'runPause' | 'runResume', description: string): Usage =>
    program
      .command(name)
      .description(description)
      .argument('<stream>', 'name of its table')
      .option('--dry-run', 'change nothing; show what would be paused or read again, and the plan', false)
      .expected(`${name} --dry-run`)
      .prints(() => import('../commands/pause.ts'), run, quiet)
  const paused = 'pause reads of a stream and of the streams below it until `resume`; a run in progress ends first'
  pauses('pause', 'runPause', paused)
  pauses('resume', 'runResume', 'end a pause; overdue reads start at once')
  program
    .command('schedule')
    .description(
      'show the schedule of the worker: configured and effective intervals, next times, share of the rate limit',
    )
    .option('--plan', 'show the requests that a first sync and a day need with these settings', false)
    .option('--rows <stream=n>', 'with --plan: assume this number of rows; may be repeated', collectRows, new Map())
    .option('--quota <quota>', 'with --plan: assume this API_QUOTA, for example 100000/day', quotaGiven)
    .prints(() => import('../commands/schedule.ts'), 'runSchedule', looks)
  addQuarantine(program)
}

function addChanges(program: Usage): void {
  const load = () => import('../commands/changes.ts')
  const changes = program.command('changes').description('list, queue and decide changes for the API (the outbox)')
  changes
    .command('list', { isDefault: true })
    .description('list changes, oldest first')
    .option('--status <status...>', `only these states: ${statuses.join(', ')}`, statusNames, [])
    .option('--aggregate <name>', 'only changes of this record, for example rental:42', aggregateName)
    .option('--limit <n>', 'only the newest n', wholeNumber(1, 100_000), 50)
    .prints(load, 'runList', looks)
  changes
    .command('show')
    .description('show everything about one change')
    .argument('<id>', 'number of the change', recordNumber)
    .prints(load, 'runShow', looks)
  changes
    .command('enqueue')
    .description('queue a change, like outbox.enqueue(operation, target, body, options)')
    .argument('<operation>', 'for example rental.update')
    .argument('[target]', 'path parameters as JSON, for example \'{"rentalId": 42}\'', jsonText, '{}')
    .argument('[body]', 'fields as JSON', jsonText, '{}')
    .argument('[options]', 'reference, expires_at, on_conflict, base as JSON', jsonText, '{}')
    .option('--target <json>', 'instead of the argument', jsonText)
    .option('--body <json>', 'instead of the argument', jsonText)
    .option('--options <json>', 'instead of the argument', jsonText)
    .prints(load, 'runEnqueue', quiet)
  changes
    .command('retry')
    .description('queue failed, expired, canceled or conflicting changes again')
    .argument('[id...]', 'numbers of changes', recordNumbers, [])
    .option('--all', 'all failed and expired changes', false)
    .expected('changes show')
    .prints(load, 'runRetry', quiet)
  changes
    .command('cancel')
    .description('cancel changes that are not being sent; changes that refer to them are blocked')
    .argument('<id...>', 'numbers of changes', recordNumbers, [])
    .expected('changes show')
    .prints(load, 'runCancel', quiet)
  changes
    .command('resolve')
    .description('decide a conflict (--take), or a change with an unknown outcome (--took-effect, --did-not)')
    .argument('<id>', 'number of the change', recordNumber)
    .option('--take <side>', 'local or remote: whose values to use for the conflicting fields', side)
    .option('--took-effect', 'the change took effect: mark it as done', false)
    .option('--did-not', 'the change did not take effect: send it again', false)
    .option('--id <id>', 'with --took-effect: id of the record that it created')
    .expected('changes show')
    .prints(load, 'runResolve', quiet)
}

function addRuns(program: Usage): void {
  const load = () => import('../commands/runs.ts')
  const runs = program
    .command('runs')
    .description('list runs, newest first')
    .argument('[stream]', 'only of this stream')
    .option('--limit <n>', 'maximum number of runs', wholeNumber(1, 10_000), 30)
    .prints(load, 'runList', looks)
  runs
    .command('show')
    .description('show one run: counts, errors, warnings, plan of held deletions')
    .argument('<id>', 'number', recordNumber)
    .prints(load, 'runShow', looks)
  runs
    .command('release')
    .description(
      'release the held deletions of a run: each record, or its parent, is requested again, and marked as deleted if it is still gone',
    )
    .argument('<id>', 'number of the held run', recordNumber)
    .expected('runs show')
    .prints(load, 'runRelease', quiet)
}

function addQuarantine(program: Usage): void {
  const load = () => import('../commands/quarantine.ts')
  const quarantine = program
    .command('quarantine')
    .description(
      'list records that cannot be mirrored, with the reason; a valid version from the API clears them automatically',
    )
    .argument('[stream]', 'only of this stream')
    .option('--limit <n>', 'maximum number of entries', wholeNumber(1, 10_000), 50)
    .prints(load, 'runList', looks)
  quarantine
    .command('show')
    .description('show one entry with its payload as received')
    .argument('<id>', 'number', recordNumber)
    .prints(load, 'runShow', looks)
  quarantine
    .command('retry')
    .description('try to mirror stored payloads again; useful after a change of the program or a setting')
    .argument('[id...]', 'numbers of entries', recordNumbers, [])
    .option('--all', 'all entries', false)
    .prints(load, 'runRetry', quiet)
}

function statusNames(text: string, before: readonly Status[]): readonly Status[] {
  const found = statuses.find((status) => status === text)
  if (found === undefined) throw new InvalidArgumentError(`It must be one of ${statuses.join(', ')}.`)
  return [...before, found]
}

const side = matching(/^(local|remote)$/, 'It must be local or remote.')

const aggregateName = matching(
  /^(rental|user|change):-?\d{1,18}$/,
  'It must be rental:ID, user:ID, or change:ID of the change that creates the record.',
)

function jsonText(text: string): string {
  try {
    JSON.parse(text)
  } catch {
    throw new InvalidArgumentError('It must be JSON.')
  }
  return text
}

function quotaGiven(text: string): Quota {
  const quota = parseQuota(text)
  if (quota === undefined) throw new InvalidArgumentError(`It must be ${settings.quota.takes}.`)
  return quota
}

function collectRows(text: string, before: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const [, name = '', number = ''] = /^(\w+)=(\d{1,9})$/.exec(text) ?? []
  if (findStream(name) !== undefined) return new Map([...before, [name, Number(number)]])
  const names = streams.map((each) => each.name)
  throw new InvalidArgumentError(
    name === '' ? 'It must be STREAM=N.' : `There is no stream "${name}"${meant(name, names)}.`,
  )
}
