// How `sandbox` is called: every choice of the sandbox is a flag.

import { InvalidArgumentError, Option } from 'commander'
import { type FaultRule, parseFaultRule } from '../../../sandbox/http/faults.ts'
import { beforeFirstAnswers, defaultOptions, envelopes, pagingStyles } from '../../../sandbox/options.ts'
import { messageOf } from '../../errors.ts'
import { type Usage, wholeNumber } from './command.ts'

export function addSandbox(program: Usage): void {
  const d = defaultOptions
  program
    .command('sandbox')
    .description('serve an imitation of the whole API, with made-up data, until you stop it')
    .option('--port <number>', 'port; 0: any free one', wholeNumber(0, 65_535), 8080)
    .option('--host <address>', 'address to listen on', d.host)
    .option(
      '--size <rentals>',
      'number of rentals; everything else is in proportion',
      wholeNumber(0, 10_000_000),
      d.size,
    )
    .option(
      '--held-at-most <rentals>',
      'with more rentals than this, create each one on request, in constant memory',
      wholeNumber(0, 10_000_000),
      d.heldAtMost,
    )
    .option('--seed <number>', 'the same seed, size and day give the same data', wholeNumber(0, maxWhole), d.seed)
    .option('--now <date-time>', 'stop the clock at this instant (default: the clock of the host)', parseInstant)
    .option('--auth <kind>', 'none, bearer, basic, header:NAME or query:NAME', d.auth)
    .option('--token <text>', 'token to expect; user:password for basic', d.token)
    .addOption(new Option('--paging <style>', 'paging style of lists').choices(pagingStyles).default(d.paging))
    .addOption(new Option('--page-base <number>', 'number of the first page').choices(['0', '1']).default('1'))
    .option('--page-param <name>', 'query parameter for the page, offset or cursor', d.pageParam)
    .option('--size-param <name>', 'query parameter for the page size', d.sizeParam)
    .option(
      '--default-page-size <records>',
      'page size if a request names none',
      wholeNumber(1, 10_000),
      d.defaultPageSize,
    )
    .option(
      '--max-page-size <records>',
      'largest page size; larger ones are reduced to it',
      wholeNumber(1, 10_000),
      d.maxPageSize,
    )
    .addOption(
      new Option('--before-first <answer>', 'answer to page 0 if the first page is 1')
        .choices(beforeFirstAnswers)
        .default(d.beforeFirst),
    )
    .addOption(new Option('--envelope <name>', 'envelope around lists').choices(envelopes).default(d.envelope))
    .option('--envelope-everywhere', 'also wrap the lists below a record', false)
    .option('--no-totals', 'envelopes without a total')
    .option('--total-header <name>', 'also send the total in this header, for example X-Total-Count')
    .option('--page-references', 'also page the reference lists', false)
    .option('--summary', 'lists show only a summary of each record', false)
    .option('--no-touch', 'a change below a record does not move its lastModificationDatetime')
    .option('--only-status-changes', 'updating a rental changes only its status', false)
    .option('--no-unique-emails', 'let two users have the same e-mail address (default: 409)')
    .option('--latency <ms>', 'milliseconds before each answer', wholeNumber(0, 600_000), d.latencyMs)
    .option('--jitter <ms>', 'up to this many more milliseconds, random by seed', wholeNumber(0, 600_000), d.jitterMs)
    .option(
      '--rate-limit <requests>',
      'requests per second before 429; 0: no limit',
      wholeNumber(0, 1_000_000),
      d.rateLimit,
    )
    .option('--entity-tags', 'send entity tags; answer 304 to a request with the current tag', d.entityTags)
    .addOption(
      new Option('--retry-after <form>', 'form of Retry-After').choices(['seconds', 'date']).default(d.retryAfter),
    )
    .option(
      '--fault <json>',
      'fault rule, may be repeated: {"op":"GET /v3/rentals","after":1,"times":2,"respond":{"status":503}}',
      collectFault,
      [],
    )
    .note(
      'While it runs, under /_sandbox/ are faults, clock, mutate, raw and singles (POST),',
      'and requests, stats and truth (GET).',
    )
    .prints(() => import('../commands/sandbox.ts'), 'runSandbox', { stoppedCode: 0 })
}

const maxWhole = Number.MAX_SAFE_INTEGER

function parseInstant(text: string): Date {
  const instant = new Date(text)
  if (Number.isNaN(instant.getTime()))
    throw new InvalidArgumentError('It must be a date-time, for example 2026-07-14T08:00:00Z.')
  return instant
}

function collectFault(text: string, before: readonly FaultRule[]): readonly FaultRule[] {
  try {
    return [...before, parseFaultRule(JSON.parse(text))]
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error))
  }
}
