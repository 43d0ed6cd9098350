// `quarantine`: what could not be mirrored and why; `retry` projects the stored payloads again.

import { existingStream } from '../../catalog/catalog.ts'
import type { Queryable } from '../../database/sql.ts'
import { BoatMirrorError } from '../../errors.ts'
import { counted, instant } from '../../format.ts'
import {
  getQuarantined,
  listQuarantine,
  type QuarantineEntry,
  quarantineFacts,
  quarantineTotals,
} from '../../sync/quarantine.ts'
import { type Replayed, replayRecord } from '../../sync/replay.ts'
import { type CommandContext, type ExitCode, type Json, present } from '../context.ts'
import { oneLine, print, printJson, printText, table } from '../terminal/output.ts'

type ListOptions = Json & { readonly limit: number }

export async function runList(
  context: CommandContext,
  stream: string | undefined,
  { limit, json }: ListOptions,
): Promise<void> {
  if (stream !== undefined) existingStream(stream)
  await using opened = await context.openDatabase()
  const { pool } = opened.database
  const entries = await quarantineFacts(pool, { limit, ...(stream === undefined ? {} : { stream }) })
  const byStream = await quarantineTotals(pool)
  const [newest] = entries
  if (json) return printJson({ byStream, entries })
  if (newest === undefined) return print('Nothing is in quarantine.')
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
  if (stream === undefined && all > entries.length) print(`\n${entries.length} of ${all}. Use --limit to see more.`)
  printText(
    `\nShow one with: boat-mirror quarantine show ${newest.id}. Try again with: boat-mirror quarantine retry ${newest.id}`,
  )
}

const existing = async (db: Queryable, id: string): Promise<QuarantineEntry> =>
  present(await getQuarantined(db, id), `entry ${id} in quarantine`, 'List the entries with: boat-mirror quarantine')

export async function runShow(context: CommandContext, id: string, { json }: Json): Promise<void> {
  await using opened = await context.openDatabase()
  const { payload, request, ...facts } = await existing(opened.database.pool, id)
  if (json) {
    // The payload goes out as its own text: JavaScript would round its long numbers.
    const open = JSON.stringify(facts, null, 2).slice(0, -2)
    return print(`${open},\n  "request": ${request},\n  "payload": ${payload}\n}`)
  }
  print(`${facts.stream} ${oneLine(facts.key)}   ${facts.endpoint}`)
  print(`Seen ${counted(facts.times, 'time')} from ${instant(facts.firstSeenAt)} to ${instant(facts.lastSeenAt)} UTC.`)
  print(`Reason: ${oneLine(facts.reason, 1_000)}\n`)
  print(payload)
}

type Result = { readonly entry: QuarantineEntry; readonly replayed: Replayed }

export async function runRetry(
  context: CommandContext,
  ids: readonly string[],
  options: Json & { readonly all: boolean },
): Promise<ExitCode> {
  if (options.all === ids.length > 0)
    throw new BoatMirrorError('USAGE', 'quarantine retry needs either numbers of entries or --all.')
  await using app = await context.open({ schema: 'check', api: false, patienceMs: 0 })
  const { pool } = app.database
  const syncContext = { ...app.syncContext, onTasks: () => {} }
  const results: Result[] = []
  const replay = async (entry: QuarantineEntry): Promise<void> => {
    context.signal.throwIfAborted()
    results.push({ entry, replayed: await replayRecord(syncContext, entry) })
  }
  if (options.all) for (const entry of await listQuarantine(pool, { limit: everything })) await replay(entry)
  for (const id of ids) await replay(await existing(pool, id))
  return report(results, options.json)
}

const everything = 1_000_000

/** 3 when something stays in quarantine. */
function report(results: readonly Result[], json: boolean): ExitCode {
  const refused = results.filter(({ replayed }) => replayed.kind === 'refused')
  if (json) printJson(results.map(({ entry: { id, stream, key }, replayed }) => ({ id, stream, key, ...replayed })))
  else if (results.length === 0) print('Nothing is in quarantine.')
  else
    print(
      table(
        ['ID', 'STREAM', 'KEY', 'RESULT'],
        results.map(({ entry, replayed }) => [
          String(entry.id),
          entry.stream,
          oneLine(entry.key, 40),
          replayed.kind === 'mirrored' ? 'mirrored' : `still in quarantine: ${oneLine(replayed.reason, 160)}`,
        ]),
      ),
    )
  return refused.length > 0 ? 3 : 0
}
