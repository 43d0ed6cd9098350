// `explain`: everything known of one record: values, reads, history, quarantine, changes, why it is or is not deleted.

import { existingStream } from '../../catalog/catalog.ts'
import { columnType } from '../../catalog/columns.ts'
import type { StreamDef } from '../../catalog/types.ts'
import type { Config } from '../../config.ts'
import type { Database } from '../../database/database.ts'
import { isDataError } from '../../database/sql-states.ts'
import { BoatMirrorError } from '../../errors.ts'
import { counted, instant } from '../../format.ts'
import { type Explanation, explainRecord, whenNext } from '../../inspect/explain.ts'
import { type Json, LosslessNumber, readJson } from '../../json/lossless.ts'
import { stringifyJson } from '../../json/plain.ts'
import { dueSettings, pausedText } from '../../sync/plan.ts'
import type { CommandContext } from '../context.ts'
import { oneLine, print, printText, table } from '../terminal/output.ts'

type Options = { readonly json: boolean; readonly payload: boolean }

async function explained(
  { config, database }: { readonly config: Config; readonly database: Database },
  stream: StreamDef,
  key: readonly string[],
): Promise<Explanation> {
  try {
    const settings = dueSettings({ settings: config, clock: { now: () => new Date() } })
    return await explainRecord(database.pool, stream, key, settings)
  } catch (cause) {
    if (!isDataError(cause)) throw cause
    const types = stream.key.map((name) => `${name} ${columnType(stream, name)}`)
    throw new BoatMirrorError(
      'USAGE',
      `${key.join(' ')} is not a key of ${stream.name}. It must be ${types.join(', ')}.`,
      {
        cause,
      },
    )
  }
}

export async function runExplain(
  context: CommandContext,
  name: string,
  given: readonly string[],
  options: Options,
): Promise<void> {
  const stream = existingStream(name)
  const key = recordKey(stream, given)
  await using opened = await context.openDatabase()
  const explanation = await explained({ config: context.config, database: opened.database }, stream, key)
  const { state, history, quarantine, changes, why } = explanation
  if (state === 'absent' && history.total === 0 && quarantine === null && changes.length === 0)
    throw new BoatMirrorError('NOT_FOUND', `There is no record of ${name} ${key.join(' ')}. ${why.join(' ')}`, {
      remedy: `List the keys with: select ${stream.key.join(', ')} from mirror.${name}`,
    })
  if (options.json) print(explanationJson(explanation))
  else printExplanation(explanation, options.payload)
}

/** JSON text as a value; numbers keep their digits. */
const parsed = (text: string | null): Json => (text === null ? null : readJson(text))

/** Everything, exact: the payload and the differences as they are stored. */
function explanationJson({ row, history, changes, quarantine, ...facts }: Explanation): string {
  const { isAhead: _, ...shownRow } = row ?? {}
  const { stream: _stream, key: _key, ...entry } = quarantine ?? {}
  const whole = {
    ...facts,
    quarantine: quarantine && { ...entry, id: String(quarantine.id) },
    row: row && { ...shownRow, payload: parsed(row.payload) },
    history: {
      total: history.total,
      entries: history.entries.map((each) => ({ ...each, seq: new LosslessNumber(each.seq), diff: parsed(each.diff) })),
    },
    changes: changes.map((each) => ({ ...each, id: new LosslessNumber(each.id), body: parsed(each.body) })),
  }
  return stringifyJson(whole, 2)
}

const stateWords = {
  alive: 'in the mirror',
  stub: 'in the mirror as a stub (known only from another record)',
  deleted: 'deleted upstream, kept as a tombstone',
  absent: 'not in the mirror',
} as const

function printExplanation(explanation: Explanation, payload: boolean): void {
  const { row, parent, next, paused } = explanation
  const [last] = explanation.reads
  const facts: readonly (readonly [string, string | null | undefined])[] = [
    ['Why', explanation.why.join(' ')],
    ['Read', row && `${instant(row.readAt)} UTC from ${row.source}`],
    ['Details', next?.readAt && `read ${instant(next.readAt)} UTC, last changed ${instant(next.changedAt)} UTC`],
    ['Last', last && `${instant(last.at)} UTC in run ${last.runId}, because ${last.meaning} (${last.reason}).`],
    ['Paused', paused && `${pausedText([paused.stream], [paused])}: it is not read until you resume it.`],
    ['Next', next && whenNext(next, (time) => `${instant(time)} UTC`)],
    ['Changed', row && `${instant(row.changedAt)} UTC`],
    ['Deleted', row?.deletedAt && `${instant(row.deletedAt)} UTC`],
    ['Part of', parent && `${parent.stream} ${oneLine(parent.key)}, ${stateWords[parent.state]}`],
  ]
  print(`${explanation.stream} ${Object.values(explanation.key).join(' ')}: ${stateWords[explanation.state]}`)
  for (const [name, value] of facts) if (value) printText(`${name.padEnd(9)}${value}`)
  for (const section of [values, below, history, changes, quarantine]) {
    const text = section(explanation)
    if (text !== null) printText(`\n${text}`)
  }
  if (payload && row !== null) print(`\n${row.payload}`)
}

function values({ row }: Explanation): string | null {
  if (row === null) return null
  const known = Object.entries(row.values).filter(([, value]) => value !== null)
  const missing = Object.keys(row.values).filter((name) => row.values[name] === null)
  const text = table(
    ['COLUMN', 'VALUE'],
    known.map(([name, value]) => [name, oneLine(value ?? '', 120)]),
  )
  return missing.length === 0 ? text : `${text}\n\nWithout a value: ${missing.join(', ')}`
}

function below({ below: streamsBelow }: Explanation): string | null {
  const shown = streamsBelow.filter(({ live, deleted, detailReadAt }) => live + deleted > 0 || detailReadAt !== null)
  if (shown.length === 0) return null
  return table(
    ['BELOW IT', 'ROWS', 'DELETED', 'READ (UTC)', 'FROM'],
    shown.map((each) => [each.stream, each.live, each.deleted, instant(each.detailReadAt), each.sources.join(', ')]),
  )
}

const cut = (value: Json | undefined): string => oneLine(value === undefined ? '' : stringifyJson(value), 50)

function history({ history: { total, entries } }: Explanation): string | null {
  if (entries.length === 0) return null
  const rows = entries.flatMap(({ operation, changedAt, diff }) => {
    const fields = Object.entries(parsed(diff) as { [column: string]: Json })
    if (operation !== 'update' || fields.length === 0) return [[instant(changedAt), operation, null, null, null]]
    return fields.map(([column, pair], index) => {
      const [before, after] = Array.isArray(pair) ? pair : []
      return [index === 0 ? instant(changedAt) : '', index === 0 ? operation : '', column, cut(before), cut(after)]
    })
  })
  const more = total > entries.length ? `\n\nThe newest ${entries.length} of ${total} changes.` : ''
  return `${table(['HISTORY (UTC)', 'OPERATION', 'COLUMN', 'OLD', 'NEW'], rows)}${more}`
}

function changes({ changes: queued }: Explanation): string | null {
  if (queued.length === 0) return null
  return table(
    ['CHANGE', 'OPERATION', 'STATUS', 'ENQUEUED (UTC)', 'SETTLED (UTC)', 'BODY', 'NOTE'],
    queued.map(({ id, operation, status, enqueuedAt, settledAt, body, error }) => [
      id,
      operation,
      status,
      instant(enqueuedAt),
      instant(settledAt),
      oneLine(body ?? 'erased', 60),
      error === null ? null : oneLine(error, 80),
    ]),
  )
}

function quarantine({ quarantine: entry }: Explanation): string | null {
  if (entry === null) return null
  return [
    `In quarantine as entry ${entry.id}, seen ${counted(entry.times, 'time')} from ${instant(entry.firstSeenAt)} to ${instant(entry.lastSeenAt)} UTC at ${entry.endpoint}.`,
    `Reason: ${oneLine(entry.reason, 500)}`,
    `See it with: boat-mirror quarantine show ${entry.id}`,
  ].join('\n')
}

/** The parts of a key: an argument each, or one JSON array or object. @throws BoatMirrorError USAGE when their number is wrong */
export function recordKey(stream: StreamDef, given: readonly string[]): readonly string[] {
  const [only] = given
  const parts = given.length === 1 && only !== undefined ? (partsOfJson(stream, only) ?? given) : given
  if (parts.length === stream.key.length) return parts
  throw new BoatMirrorError(
    'USAGE',
    `The key of ${stream.name} is ${stream.key.join(', ')}, but you gave ${given.join(' ')}.`,
    {
      remedy: `Give ${stream.key.length === 1 ? 'one value' : `${stream.key.length} values, one after the other`}.`,
    },
  )
}

/** Null: it is not JSON of this form. */
function partsOfJson({ key }: StreamDef, text: string): readonly string[] | null {
  if (!/^[[{]/.test(text)) return null
  try {
    const parsed: unknown = readJson(text)
    if (Array.isArray(parsed)) return parsed.map(String)
    const values = Object.entries(parsed as Readonly<Record<string, unknown>>)
    return values.length === key.length && values.every(([name]) => key.includes(name))
      ? key.map((name) => String(Object.fromEntries(values)[name]))
      : []
  } catch {
    return null // no JSON: the text is taken as it stands
  }
}
