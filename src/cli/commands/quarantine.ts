// `quarantine`: what could not be mirrored and why; `retry` projects the stored payloads again.

import type { Command } from 'commander'
import { BoatMirrorError } from '../../errors.ts'
import { instant } from '../../format.ts'
import { quarantineFacts } from '../../inspect/queries.ts'
import { getQuarantined, listQuarantine, type QuarantineEntry, quarantineTotals } from '../../state/quarantine.ts'
import { type Replayed, replayRecord } from '../../sync/replay.ts'
import {
  action,
  type CommandContext,
  type ExitCode,
  existingStream,
  type Json,
  quiet,
  recordNumber,
  recordNumbers,
  wholeNumber,
  withJson,
} from '../context.ts'
import { oneLine, print, printJson, table } from '../terminal/output.ts'

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
  ).action(action(runList, quiet))
  withJson(
    quarantine
      .command('show')
      .description('one entry with its payload as received')
      .argument('<id>', 'number', recordNumber),
  ).action(action(runShow, quiet))
  withJson(
    quarantine
      .command('retry')
      .description('project stored payloads again and mirror them; helps when the program or a setting has changed')
      .argument('[id...]', 'numbers of entries', recordNumbers, [])
      .option('--all', 'every entry', false),
  ).action(action(runRetry, quiet))
}

async function runList(
  context: CommandContext,
  stream: string | undefined,
  options: Json & { readonly limit: number },
): Promise<ExitCode> {
  if (stream !== undefined) existingStream(stream)
  await using opened = await context.openDatabase()
  const filter = { limit: options.limit, ...(stream === undefined ? {} : { stream }) }
  const entries = await quarantineFacts(opened.database.pool, filter)
  const byStream = await quarantineTotals(opened.database.pool)
  if (options.json) {
    printJson({ byStream, entries })
    return 0
  }
  const [newest] = entries
  if (newest === undefined) {
    print('Nothing is in quarantine.')
    return 0
  }
  print(
    table(
      ['ID', 'STREAM', 'KEY', 'TIMES', 'LAST SEEN (UTC)', 'REASON'],
      entries.map((entry) => [
        String(entry.id),
        entry.stream,
        oneLine(entry.key, 40),
        entry.times,
        instant(entry.lastSeenAt),
        oneLine(entry.reason, 120),
      ]),
    ),
  )
  const all = Object.values(byStream).reduce((sum, count) => sum + count, 0)
  if (stream === undefined && all > entries.length) print(`\n${entries.length} of ${all}; see more with --limit.`)
  print(
    `\nLook at one with: boat-mirror quarantine show ${newest.id}. Try again with: boat-mirror quarantine retry ${newest.id}`,
  )
  return 0
}

const missing = (id: string): BoatMirrorError =>
  new BoatMirrorError('NOT_FOUND', `There is no entry ${id} in quarantine.`, {
    remedy: 'See what is there with: boat-mirror quarantine',
  })

async function runShow(context: CommandContext, id: string, { json }: Json): Promise<ExitCode> {
  await using opened = await context.openDatabase()
  const entry = await getQuarantined(opened.database.pool, id)
  if (entry === null) throw missing(id)
  const { payload, request, ...facts } = entry
  if (json) {
    // The payload goes out as its own text: JavaScript would round its long numbers.
    const open = JSON.stringify({ ...facts, id: Number(facts.id), times: Number(facts.times) }, null, 2).slice(0, -2)
    print(`${open},\n  "request": ${request},\n  "payload": ${payload}\n}`)
    return 0
  }
  print(`${facts.stream} ${oneLine(facts.key)}   ${facts.endpoint}`)
  print(`Seen ${facts.times} times from ${instant(facts.firstSeenAt)} to ${instant(facts.lastSeenAt)} UTC.`)
  print(`Reason: ${oneLine(facts.reason, 1_000)}\n`)
  print(payload)
  return 0
}

type Result = { readonly entry: QuarantineEntry; readonly replayed: Replayed }

async function runRetry(
  context: CommandContext,
  ids: readonly string[],
  options: Json & { readonly all: boolean },
): Promise<ExitCode> {
  if (options.all === ids.length > 0)
    throw new BoatMirrorError('USAGE', 'quarantine retry takes either numbers of entries or --all.')
  await using app = await context.open({ schema: 'check', api: false, patienceMs: 0 })
  const { pool } = app.database
  const syncContext = { ...app.syncContext, onTasks: () => {} }
  const results: Result[] = []
  const replay = async (entry: QuarantineEntry): Promise<void> => {
    context.signal.throwIfAborted()
    results.push({ entry, replayed: await replayRecord(syncContext, entry) })
  }
  if (options.all) for (const entry of await listQuarantine(pool, { limit: everything })) await replay(entry)
  for (const id of ids) {
    const entry = await getQuarantined(pool, id)
    if (entry === null) throw missing(id)
    await replay(entry)
  }
  return report(results, options.json)
}

const everything = 1_000_000

/** 3 when something stays in quarantine. */
function report(results: readonly Result[], json: boolean): ExitCode {
  const refused = results.filter(({ replayed }) => replayed.kind === 'refused')
  if (json)
    printJson(
      results.map(({ entry, replayed }) => ({
        id: Number(entry.id),
        stream: entry.stream,
        key: entry.key,
        ...replayed,
      })),
    )
  else if (results.length === 0) print('Nothing is in quarantine.')
  else
    print(
      table(
        ['ID', 'STREAM', 'KEY', 'RESULT'],
        results.map(({ entry, replayed }) => [
          entry.id,
          entry.stream,
          oneLine(entry.key, 40),
          replayed.kind === 'mirrored' ? 'mirrored' : `still wrong: ${oneLine(replayed.reason, 160)}`,
        ]),
      ),
    )
  return refused.length > 0 ? 3 : 0
}
