// How the commands that show what is in the mirror are called.

import { type Command, InvalidArgumentError, Option } from 'commander'
import { reportNames } from '../../reports/names.ts'
import { action, looks, quiet } from './action.ts'
import { shownRows, wholeNumber, withJson } from './arguments.ts'

/** Registers `report`. */
export function registerReport(program: Command): void {
  withJson(
    program
      .command('report')
      .description('print a report; without a name: list the reports')
      .argument('[name]', reportNames.join(', '))
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
      .option('--to <date>', 'calendar only: the last day (default: the first)', calendarDate),
  ).action(action(() => import('../commands/report.ts'), 'runReport', looks))
}

/** Parses a day. @throws InvalidArgumentError, which commander reports. */
function calendarDate(text: string): string {
  const instant = new Date(`${text}T00:00:00Z`)
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || Number.isNaN(instant.getTime()) || !instant.toISOString().startsWith(text))
    throw new InvalidArgumentError('It must be a day as YYYY-MM-DD.')
  return text
}

/** Registers `explain`. */
export function registerExplain(program: Command): void {
  withJson(
    program
      .command('explain')
      .description('show everything about one record: its state, why it is or is not deleted, when it is read next')
      .argument('<stream>', 'name of its table, for example rentals')
      .argument(
        '<key...>',
        'key of the record, for example 42; several columns one after the other: rental_options 42 7',
      )
      .option('--payload', 'also print the record as the API returned it', false),
  ).action(action(() => import('../commands/explain.ts'), 'runExplain', looks))
}

/** Registers `feed`. */
export function registerFeed(program: Command): void {
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
    .action(action(() => import('../commands/feed.ts'), 'runFeed', looks))
}

function placeName(text: string): string {
  if (/^(start|now|1(\.-?\d+){3}(\.[\da-f]+)?)$/.test(text)) return text
  throw new InvalidArgumentError('It must be start, now, or a cursor from the feed.')
}

/** Registers `drift`. */
export function registerDrift(program: Command): void {
  const drift = withJson(
    program
      .command('drift')
      .description(
        'list upstream fields that no column shows, because they are new or have a different shape: since when, how often, a sample',
      ),
  ).action(action(() => import('../commands/drift.ts'), 'runDrift', looks))
  withJson(
    drift
      .command('acknowledge')
      .description('take note of the new fields of a stream: they no longer need attention')
      .argument('<stream>', 'name of its table'),
  ).action(action(() => import('../commands/drift.ts'), 'runAcknowledge', quiet))
}
