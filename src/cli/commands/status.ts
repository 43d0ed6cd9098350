// `status`: how old each stream is, what runs, what waits, what needs a person.

import type { Command } from 'commander'
import { sleep } from '../../clock.ts'
import { bytes, count, counted, duration, freshAsOf, relative } from '../../format.ts'
import { describeConsumer } from '../../inspect/consumers.ts'
import { type Estimate, firstSyncText, timeLeft } from '../../inspect/estimate.ts'
import { describeHolder } from '../../inspect/feed-holders.ts'
import type { Backlog, StreamStatus } from '../../inspect/queries.ts'
import { readStatus } from '../../inspect/read-status.ts'
import { readsSummary } from '../../inspect/reads.ts'
import { isFailing, type StatusFacts, wasAnswered } from '../../inspect/status.ts'
import { action, type CommandContext, type OpenedDatabase, quiet, withJson } from '../context.ts'
import { knownSandbox } from '../sandbox/file.ts'
import { oneLine, print, printText, table } from '../terminal/output.ts'

/** Registers `status`. */
export function registerStatus(program: Command): void {
  withJson(
    program
      .command('status')
      .description(
        'per stream: rows, age, last and next run; queue, outbox, quarantine; per endpoint: last call and result',
      )
      .option('--watch', 'show it again every two seconds until Ctrl-C', false)
      .option('--endpoints', 'list every endpoint, not only those that failed', false),
  ).action(action(runStatus, { ...quiet, stoppedCode: 0 }))
}

type StatusOptions = { readonly json: boolean; readonly watch: boolean; readonly endpoints: boolean }

const watchMs = 2_000
const clearScreen = '\u001b[H\u001b[2J\u001b[3J'

async function runStatus(context: CommandContext, options: StatusOptions): Promise<void> {
  await using opened = await context.openDatabase()
  for (;;) {
    const text = await statusText(context, opened, options)
    if (options.watch && process.stdout.isTTY) process.stdout.write(clearScreen)
    if (options.json) print(text)
    else printText(text)
    if (!options.watch) return
    await sleep(watchMs, context.signal)
  }
}

async function statusText(context: CommandContext, opened: OpenedDatabase, options: StatusOptions): Promise<string> {
  const sandbox = context.config.api.baseUrl === null ? await knownSandbox(context.config.dataDir) : null
  const facts = await readStatus(context.config, opened, sandbox?.url ?? null)
  if (options.json) return JSON.stringify(facts, null, options.watch ? 0 : 2)
  return describe(facts, { now: new Date(), allEndpoints: options.endpoints })
}

/** The whole status as text, from what `--json` prints and nothing else. Pure. */
export function describe(facts: StatusFacts, options: { readonly now: Date; readonly allEndpoints: boolean }): string {
  const parts = [
    placesText(facts, options.now),
    streamsTable(facts, options.now),
    ...facts.unexpected.map(unexpectedText),
    ...(facts.backlog === null ? [] : [workText(facts.backlog, facts)]),
    endpointsText(facts, options),
    readsText(facts, options.now),
    ...attention(facts),
  ]
  return parts.join('\n\n')
}

const unexpectedText = ({ stream, share }: StatusFacts['unexpected'][number]): string =>
  `${stream}: ${count(share * 100)} % of what was read within a week had changed although no rental of its boat had; it is read as often as if rentals told nothing.`

function placesText({ api, database, queue }: StatusFacts, now: Date): string {
  const state =
    api.breaker === 'open'
      ? `down; next try ${nextTry(api.nextProbeAt, now)}`
      : api.pausedUntil === null
        ? ''
        : `asked us to wait; goes on ${relative(api.pausedUntil, now)}`
  const address =
    api.url === ''
      ? 'the built-in sandbox, not started yet'
      : `${api.url}${api.sandbox ? ' (the built-in sandbox)' : ''}`
  return [
    `API       ${address}${state === '' ? '' : ` – ${state}`}`,
    `Database  ${database.url}   Postgres ${database.version}, ${bytes(database.size)}${database.embedded ? ', embedded' : ''}`,
    `Queue     ${queue.url === null ? 'Postgres, beside the mirror' : `Redis ${queue.url}`}`,
  ].join('\n')
}

/** An API that nobody called since is tried by whoever comes next. */
const nextTry = (at: Date | null, now: Date): string =>
  at === null || at <= now ? 'with the next request' : `${relative(at, now)}`

function streamsTable({ streams, quarantine }: StatusFacts, now: Date): string {
  return table(
    ['STREAM', 'ROWS', 'AS OF', 'LAST RUN', 'NEXT', 'INTERVAL', 'STATE', 'BAD'],
    streams.map((stream) => {
      const bad = quarantine.byStream[stream.stream] ?? 0
      return [
        stream.stream,
        stream.rowsSoFar ?? stream.rows,
        freshAsOf(stream, now),
        stream.lastRunStatus,
        stream.nextDueAt !== null && stream.nextDueAt <= now ? 'due' : relative(stream.nextDueAt, now),
        stream.intervalS === null ? null : duration(stream.intervalS),
        freshnessText(stream, now),
        bad === 0 ? null : bad,
      ]
    }),
  )
}

/** How fresh a stream is, and by how much a late one is older than its target. */
function freshnessText({ state, asOf, countsAsOf, targetS }: StreamStatus, now: Date): string {
  if (state === 'unknown') return asOf === null ? 'never read' : 'no target'
  if (state !== 'late' || countsAsOf === null || targetS === null) return state
  return `late by ${duration((now.getTime() - countsAsOf.getTime()) / 1_000 - targetS)}`
}

/** How far the present runs are, what is left of them, and what a first sync has brought so far. */
function workText({ runs, done, all, elapsedS }: Backlog, { streams, estimate }: StatusFacts): string {
  const running = `Running: ${counted(runs, 'stream')}, ${count(done)} of ${count(all)} tasks done since ${duration(elapsedS)}`
  const first = firstSyncText(streams, estimate)
  return [`${running}${leftText(estimate)}.`, ...(first === null ? [] : [`First sync: ${first}.`])].join('\n')
}

function leftText(estimate: Estimate): string {
  const { requestsLeft, perSecond } = estimate
  if (requestsLeft === null || perSecond === null) return ''
  return [`; ${counted(requestsLeft, 'request')} left at ${count(perSecond)} a second`, timeLeft(estimate)]
    .filter((part) => part !== null)
    .join(', ')
}

function endpointsText(
  { endpoints }: StatusFacts,
  options: { readonly now: Date; readonly allEndpoints: boolean },
): string {
  const answered = endpoints.filter(wasAnswered)
  const summary = `${answered.length} of ${endpoints.length} read endpoints called with success.`
  const shown = options.allEndpoints ? endpoints : endpoints.filter(isFailing)
  if (shown.length === 0) return summary
  const rows = shown.map((each) => [
    each.endpoint,
    each.calls,
    each.failures,
    each.lastStatus,
    relative(each.lastCalledAt, options.now) ?? 'never',
    each.lastError === null ? '' : oneLine(each.lastError, 80),
  ])
  return `${summary}\n\n${table(['ENDPOINT', 'CALLS', 'FAILURES', 'STATUS', 'LAST CALL', 'LAST ERROR'], rows)}`
}

/** Which reads are left out, why, and what that saved. */
function readsText({ reads }: StatusFacts, now: Date): string {
  const decided = reads.filter(({ state }) => state !== 'learning')
  if (decided.length === 0) return `${readsSummary(reads)}.`
  const rows = decided.map(({ endpoint, sameAs, state, compared, differed, skipped, since }) => [
    ...[endpoint, sameAs, state, compared, differed, skipped],
    relative(since, now),
  ])
  return `${readsSummary(reads)}.\n\n${table(['READ', 'SAME AS', 'STATE', 'COMPARED', 'DIFFERED', 'LEFT OUT', 'SINCE'], rows)}`
}

/** Changes that a person has to look at. */
const changesForPeople = ['conflict', 'unknown', 'failed'] as const

/** What waits and what needs a person, with the command that helps. */
function attention({ outbox, quarantine, heldRuns, feedHeldBy, consumers, unknownFields }: StatusFacts): string[] {
  const waiting = Object.entries(outbox).filter(([name, changes]) => name !== 'oldestQueuedAt' && Number(changes) > 0)
  const lines: string[] = []
  if (waiting.length > 0) {
    const hint = changesForPeople.some((name) => Number(outbox[name]) > 0) ? ' See: boat-mirror changes list' : ''
    lines.push(`Outbox: ${waiting.map(([name, changes]) => `${count(Number(changes))} ${name}`).join(', ')}.${hint}`)
  }
  for (const run of heldRuns)
    lines.push(
      `${run.stream}: ${count(run.held)} deletions wait for a person. See: boat-mirror runs show ${run.id}. Let them happen: boat-mirror runs release ${run.id}`,
    )
  lines.push(...feedHeldBy.map((holder) => `${describeHolder(holder)}.`))
  if (consumers.length > 0)
    lines.push(
      `Consumers: ${consumers.map(({ name, behindS }) => `${name} ${behindS === 0 ? 'has everything' : `${duration(behindS)} behind`}`).join(', ')}.`,
    )
  lines.push(...consumers.filter(({ state }) => state !== 'following').map((each) => `${describeConsumer(each)}.`))
  if (quarantine.total > 0)
    lines.push(`${count(quarantine.total)} records cannot be mirrored. See: boat-mirror quarantine`)
  if (unknownFields.length > 0) {
    const names = unknownFields.slice(0, 10).map((field) => `${field.stream}.${field.path}`)
    const more = unknownFields.length > names.length ? ` and ${unknownFields.length - names.length} more` : ''
    lines.push(`Seen in the API but not known (kept in _payload): ${names.join(', ')}${more}.`)
  }
  return lines.length === 0 ? [] : [lines.join('\n')]
}
