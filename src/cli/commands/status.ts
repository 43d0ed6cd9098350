// `status`: whether anything is wrong, then how old each stream is, what runs, what waits, and what needs attention.

import { sleep } from '../../clock.ts'
import { about, count, counted, duration, freshAsOf, relative } from '../../format.ts'
import { isFailing, readsSummary, wasAnswered } from '../../inspect/calls.ts'
import { connectionsOf } from '../../inspect/connections.ts'
import { type Estimate, firstSyncText, timeLeft } from '../../inspect/estimate.ts'
import { readStatus } from '../../inspect/read-status.ts'
import type { Backlog } from '../../inspect/runs.ts'
import type { StatusFacts } from '../../inspect/status.ts'
import type { StreamStatus } from '../../inspect/streams.ts'
import { verdictOf } from '../../inspect/verdict.ts'
import { stringifyJson } from '../../json/plain.ts'
import type { CommandContext, ExitCode } from '../context.ts'
import { knownSandbox } from '../sandbox/file.ts'
import { type Columns, fittingTable, lineWidth, oneLine, print, printText, table } from '../terminal/output.ts'
import { write } from '../terminal/unwritten.ts'
import { doubtLines } from './drift.ts'

type StatusOptions = {
  readonly json: boolean
  readonly watch: boolean
  readonly endpoints: boolean
  readonly exitCode: boolean
}

const watchMs = 2_000
const clearScreen = '\u001b[H\u001b[2J\u001b[3J'

export async function runStatus(context: CommandContext, options: StatusOptions): Promise<ExitCode> {
  await using opened = await context.openDatabase()
  for (;;) {
    const sandbox = context.config.api.baseUrl === null ? await knownSandbox(context.config.dataDir) : null
    const facts = await readStatus(context.config, opened, sandbox?.url ?? null)
    const text = options.json
      ? stringifyJson(facts, options.watch ? 0 : 2)
      : describe(facts, { now: new Date(), allEndpoints: options.endpoints })
    if (options.watch && process.stdout.isTTY) process.stdout.write(clearScreen)
    if (options.json) print(text)
    else printText(text)
    if (!options.watch) return options.exitCode && facts.attention.length > 0 ? 3 : 0
    await write('') // no reader, no end
    await sleep(watchMs, context.signal)
  }
}

/** The whole status as text, from what `--json` prints and nothing else. Pure. */
export function describe(facts: StatusFacts, options: { readonly now: Date; readonly allEndpoints: boolean }): string {
  const parts = [
    verdictOf(facts).sentence,
    connectionsOf(facts, options.now)
      .map(({ name, what, state }) => `${name.padEnd(10)}${what}${state === '' ? '' : ` – ${state}`}`)
      .join('\n'),
    workersText(facts, options.now),
    streamsTable(facts, options.now, lineWidth()),
    ...facts.unexpected.map(unexpectedText),
    ...(facts.backlog === null ? [] : [workText(facts.backlog, facts)]),
    endpointsText(facts, options),
    readsText(facts, options.now),
    ...attention(facts),
  ]
  return parts.join('\n\n')
}

const unexpectedText = ({ stream, share }: StatusFacts['unexpected'][number]): string =>
  `${stream}: ${count(share * 100)} % of the records read in the last 7 days had changed although no rental of their boat had. ${stream} is therefore read as often as if it did not depend on rentals.`

/** Who is there, since when, and what each does. */
function workersText({ workers }: StatusFacts, now: Date): string {
  if (workers.length === 0) return 'Workers   none is running. Start one with: boat-mirror worker'
  return workers
    .map(({ host, pid, version, startedAt, seenAt, doing, isSilent }, index) => {
      const state = isSilent ? `silent: last seen ${relative(seenAt, now)}` : (doing ?? 'idle')
      const since = `${version}, since ${about((now.getTime() - startedAt.getTime()) / 1_000)}`
      return `${index === 0 ? 'Workers ' : '        '}  ${host}:${pid} (${since}) – ${state}`
    })
    .join('\n')
}

function streamsTable({ streams, quarantine }: StatusFacts, now: Date, width: number | null): string {
  const rows = streams.map((stream) => {
    const bad = quarantine.byStream[stream.stream] ?? 0
    return {
      ...{ stream, rows: stream.rowsSoFar ?? stream.rows, bad: bad === 0 ? null : bad },
      next: stream.nextDueAt !== null && stream.nextDueAt <= now ? 'due' : relative(stream.nextDueAt, now),
      freshness: freshnessText(stream, now),
    }
  })
  type Row = (typeof rows)[number]
  const whole: Columns<Row> = {
    STREAM: ({ stream }) => stream.stream,
    ROWS: (row) => row.rows,
    'AS OF': ({ stream }) => freshAsOf(stream, now),
    'LAST RUN': ({ stream }) => stream.lastRunStatus,
    NEXT: ({ next }) => next,
    INTERVAL: ({ stream }) => (stream.intervalS === null ? null : duration(stream.intervalS)),
    STATE: ({ freshness }) => freshness,
    BAD: ({ bad }) => bad,
  }
  const isBad = rows.some(({ bad }) => bad !== null)
  // `schedule` has the intervals, `runs` the runs.
  const narrow: Columns<Row> = {
    STREAM: ({ stream }) => stream.stream,
    ROWS: (row) => row.rows,
    'AS OF': ({ stream }) => freshestAsOf(stream, now),
    NEXT: ({ next }) => next,
    STATE: ({ freshness }) => freshness,
    ...(isBad ? { BAD: ({ bad }: Row) => bad } : {}),
  }
  return fittingTable(rows, [whole, narrow], width)
}

/** The one of the two that is fresher. */
const freshestAsOf = ({ asOf, hotAsOf }: StreamStatus, now: Date): string =>
  hotAsOf !== null && asOf !== null && hotAsOf > asOf
    ? `hot ${relative(hotAsOf, now)}`
    : (relative(asOf, now) ?? 'never')

/** How fresh a stream is, and by how much a late one is older than its target. */
function freshnessText({ state, asOf, countsAsOf, targetS, paused }: StreamStatus, now: Date): string {
  if (paused !== null) return 'off, paused'
  if (state === 'unknown') return asOf === null ? 'never read' : 'no target'
  if (state !== 'late' || countsAsOf === null || targetS === null) return state
  return `late by ${duration((now.getTime() - countsAsOf.getTime()) / 1_000 - targetS)}`
}

/** How far the present runs are, what is left of them, and what a first sync has brought so far. */
function workText({ runs, done, all, elapsedS }: Backlog, { streams, estimate }: StatusFacts): string {
  const running = `Running: ${counted(runs, 'stream')}, ${count(done)} of ${count(all)} tasks done in ${duration(elapsedS)}`
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
  const summary = `${answered.length} of ${endpoints.length} read endpoints answered successfully.`
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

/** Which reads are skipped, why, and how many requests that saved. */
function readsText({ reads }: StatusFacts, now: Date): string {
  const compared = reads.filter((read) => read.compared > 0)
  if (compared.length === 0) return `${readsSummary(reads)}.`
  const rows = compared.map(({ endpoint, sameAs, state, compared, differed, skipped, since }) => [
    ...[endpoint, sameAs, state, compared, differed, skipped],
    relative(since, now),
  ])
  return `${readsSummary(reads)}.\n\n${table(['READ', 'SAME AS', 'STATE', 'COMPARED', 'DIFFERED', 'SKIPPED', 'SINCE'], rows)}`
}

/** How double bookings are found: the form in which each company's rentals are shown as unavailabilities, and what is skipped. */
function bookings({ forms, fleets }: StatusFacts['overlaps']): string[] {
  const names = fleets.map(({ resourceId, name }) => `${name ?? 'a boat'} (${resourceId})`)
  return [
    ...[...new Set(forms.map(({ form }) => form))].map((form) => {
      const of = forms.filter((each) => each.form === form)
      const [explained, blocks] = [sum(of.map((each) => each.explained)), sum(of.map((each) => each.blocks))]
      const who = some(of.map(({ company, companyId }) => company ?? `company ${companyId ?? 'unknown'}`))
      return form === null
        ? `Unavailabilities of ${who}: none of ${count(blocks)} is a rental's own.`
        : `Unavailabilities of ${who}: ${count(explained)} of ${count(blocks)} are a rental's own (${form}).`
    }),
    ...(names.length === 0 ? [] : [`Not compared for double bookings, as resources of several boats: ${some(names)}.`]),
  ]
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)

const some = (names: readonly string[]): string =>
  `${names.slice(0, 10).join(', ')}${names.length > 10 ? ` and ${names.length - 10} more` : ''}`

/** What waits or follows without you, what is new in the API, and what needs attention with the commands that help. */
function attention({
  outbox,
  consumers,
  unknownFields,
  overlaps,
  rentalDoubts,
  attention: items,
}: StatusFacts): string[] {
  const lines: string[] = [...bookings(overlaps)]
  const waiting = Object.entries(outbox).filter(([name, changes]) => name !== 'oldestQueuedAt' && Number(changes) > 0)
  if (waiting.length > 0) lines.push(`Outbox: ${waiting.map(([name, n]) => `${count(Number(n))} ${name}`).join(', ')}.`)
  if (consumers.length > 0)
    lines.push(
      `Consumers: ${consumers.map(({ name, behindS }) => `${name} ${behindS === 0 ? 'is up to date' : `is ${duration(behindS)} behind`}`).join(', ')}.`,
    )
  if (unknownFields.length > 0) {
    const names = unknownFields.map((field) => `${field.stream}.${field.path}`)
    lines.push(`New fields in the API, kept in _payload: ${some(names)}.`)
  }
  lines.push(...doubtLines(rentalDoubts))
  const needs = items.flatMap(({ message, commands }) => [
    `- ${message}`,
    ...commands.map((command) => `    ${command}`),
  ])
  return [
    ...(lines.length === 0 ? [] : [lines.join('\n')]),
    ...(needs.length === 0 ? [] : [`Needs attention:\n${needs.join('\n')}`]),
  ]
}
