// How the commands that show what is in the mirror are called.

import { InvalidArgumentError, Option } from 'commander'
import { companyId, looks, matching, quiet, shownRows, type Usage, wholeNumber } from './command.ts'

/** Adds the commands from `report` to `drift`. */
export function addReading(program: Usage): void {
  program
    .command('report')
    .description('print a report; without a name: list the reports')
    .argument('[name]', 'a report, such as rentals')
    .option(
      '--csv',
      'print CSV with a header; an apostrophe is put before texts that a spreadsheet would read as a formula',
      false,
    )
    .option('--raw', 'with --csv: leave every text as it is', false)
    .option(
      '--limit <n>',
      `maximum number of rows (default: ${shownRows}; all with --csv and --json)`,
      wholeNumber(1, 10_000_000),
    )
    .option('--from <date>', 'calendar only: the first day, YYYY-MM-DD', calendarDate)
    .option('--to <date>', 'calendar only: the last day (default: the first)', calendarDate)
    .prints(() => import('../commands/report.ts'), 'runReport', looks)
  program
    .command('explain')
    .description('show everything about one record: its state, why it is or is not deleted, when it is read next')
    .argument('<stream>', 'name of its table, for example rentals')
    .argument('<key...>', 'key of the record, for example 42; several columns one after the other: rental_options 42 7')
    .option('--payload', 'also print the record as the API returned it', false)
    .prints(() => import('../commands/explain.ts'), 'runExplain', looks)
  program
    .command('feed')
    .description('print the changes of the mirror in order, one JSON object per line')
    .option(
      '--consumer <name>',
      'continue after the last acknowledgement of this consumer; acknowledge each cursor read from standard input',
    )
    .addOption(
      new Option(
        '--ack <how>',
        'printed: acknowledge what was printed; if the reader dies, it may lose changes',
      ).choices(['printed']),
    )
    .option('--streams <a,b>', 'only the changes of these streams', (text) => text.split(','))
    .option('--from <place>', 'start, now or a cursor; a consumer starts there only when it is new', placeName)
    .option('--follow', 'wait for more changes until Ctrl-C', false)
    .runs(() => import('../commands/feed.ts'), 'runFeed', looks)
  addCloses(program)
  const drift = program
    .command('drift')
    .description(
      'list upstream fields that no column shows, because they are new or have a different shape: since when, how often, a sample',
    )
    .prints(() => import('../commands/drift.ts'), 'runDrift', looks)
  drift
    .command('acknowledge')
    .description('take note of the new fields of a stream: they no longer need attention')
    .argument('<stream>', 'name of its table')
    .prints(() => import('../commands/drift.ts'), 'runAcknowledge', quiet)
}

function addCloses(program: Usage): void {
  const load = () => import('../commands/close.ts')
  const close = program
    .command('close')
    .description('keep the rentals as they are at the end of a month, add them up, and show what has changed since')
  const named = (name: string, description: string): Usage =>
    close.command(name).description(description).argument('<name>', 'name of the close, such as 2026-03', closeName)
  named('create', 'keep all rentals under a name; a close that is there stays as it is')
    .option('--company <id>', 'only those of this company', companyId)
    .prints(load, 'runCreate', quiet)
  close.command('list').description('list the closes').prints(load, 'runList', looks)
  named('show', 'print the totals of a close, and what has changed since')
    .option('--until <name>', 'changes until this close (default: until now)', closeName)
    .prints(load, 'runShow', looks)
  named('remove', 'remove a close and what it keeps').prints(load, 'runRemove', quiet)
}

const closeName = matching(/\S/, 'It must be a name.')

/** Parses a day. @throws InvalidArgumentError, which commander reports. */
function calendarDate(text: string): string {
  const instant = new Date(`${text}T00:00:00Z`)
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || Number.isNaN(instant.getTime()) || !instant.toISOString().startsWith(text))
    throw new InvalidArgumentError('It must be a day as YYYY-MM-DD.')
  return text
}

const placeName = matching(
  /^(start|now|1(\.-?\d+){3}(\.[\da-f]+)?)$/,
  'It must be start, now, or a cursor from the feed.',
)
