// How the commands are called that show what is in the mirror.

import { type Command, InvalidArgumentError, Option } from 'commander'
import { reportNames } from '../../reports/names.ts'
import { action, quiet } from './action.ts'
import { shownRows, wholeNumber, withJson } from './arguments.ts'

/** Registers `report`. */
export function registerReport(program: Command): void {
  withJson(
    program
      .command('report')
      .description('prints a report; without a name: which there are')
      .argument('[name]', reportNames.join(', '))
      .option(
        '--csv',
        'print CSV with a header; texts that a spreadsheet would take for a formula begin with an apostrophe',
        false,
      )
      .option('--raw', 'with --csv: every text as it is', false)
      .option(
        '--limit <n>',
        `rows at most (default: ${shownRows}, with --csv and --json all)`,
        wholeNumber(1, 10_000_000),
      )
      .option('--from <date>', 'calendar only: the first day, YYYY-MM-DD', calendarDate)
      .option('--to <date>', 'calendar only: the last day (default: the first)', calendarDate),
  ).action(action(() => import('../commands/report.ts'), 'runReport', quiet))
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
      .description('all that is known of one record, why it is or is not deleted, and when it is read next')
      .argument('<stream>', 'named by its table, such as rentals')
      .argument('<key...>', 'its key, such as 42; of several columns one after the other: rental_options 42 7')
      .option('--payload', 'print the record as the API answered it, too', false),
  ).action(action(() => import('../commands/explain.ts'), 'runExplain', quiet))
}

/** Registers `feed`. */
export function registerFeed(program: Command): void {
  program
    .command('feed')
    .description('the changes of the mirror in order, one JSON object a line')
    .option(
      '--consumer <name>',
      'go on where this consumer acknowledged; each cursor read from standard input is acknowledged',
    )
    .addOption(
      new Option('--ack <how>', 'printed: acknowledge what was written out, which a reader that dies may lose').choices(
        ['printed'],
      ),
    )
    .option('--streams <a,b>', 'only the changes of these streams', (text) => text.split(','))
    .option('--from <place>', 'start, now or a cursor; a consumer begins there only when it is new', placeName)
    .option('--follow', 'wait for more until Ctrl-C', false)
    .action(action(() => import('../commands/feed.ts'), 'runFeed', quiet))
}

function placeName(text: string): string {
  if (/^(start|now|1(\.-?\d+){3})$/.test(text)) return text
  throw new InvalidArgumentError('It must be start, now, or a cursor as the feed gives it.')
}

/** Registers `drift`. */
export function registerDrift(program: Command): void {
  withJson(
    program
      .command('drift')
      .description(
        'fields seen upstream that no column shows, new or of another shape: since when, how often, with a sample',
      ),
  ).action(action(() => import('../commands/drift.ts'), 'runDrift', quiet))
}
