// What is written to stdout and stderr: aligned tables without lines or colour, texts, JSON, the error that ended a command.

import Table from 'cli-table3'
import { BoatMirrorError, messageOf } from '../../errors.ts'
import { count } from '../../format.ts'
import { stringifyJson } from '../../json/plain.ts'
import { createLogger, type Logger } from '../../log.ts'
import { asCalled, oneLine, withoutControls } from '../../text.ts'

export { oneLine } from '../../text.ts'

export type Cell = string | number | null | undefined

const places = ['top', 'bottom', 'left', 'mid', 'right', 'middle'] as const
const joints = ['top-mid', 'top-left', 'top-right', 'bottom-mid', 'bottom-left', 'bottom-right'] as const
const borders = [...places, ...joints, 'left-mid', 'mid-mid', 'right-mid'] as const
const noBorders = { ...Object.fromEntries(borders.map((name) => [name, ''])), middle: '  ' }

/** The width of a line: COLUMNS, else that of the terminal; null for a file or a pipe, whose lines are not wrapped. */
export const lineWidth = (): number | null =>
  Number(process.env.COLUMNS) || (process.stdout.isTTY === true ? process.stdout.columns : null)

export const widthOf = (text: string): number => Math.max(...text.split('\n').map((line) => line.length))

/** The widest column is wrapped if it keeps this width; else rows become records, a line for each cell. */
const narrowest = 24

/**
 * A table with right-aligned numbers; `–` for missing values. If it is wider than `width`, it omits empty columns, then wraps the widest
 * one, or becomes a list of records. It has no trailing newline.
 */
export function table(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  width: number | null = lineWidth(),
): string {
  const whole = render(head, rows)
  if (width === null || widthOf(whole) <= width) return whole
  const telling = head.map((_, column) => column === 0 || rows.some((row) => Boolean(row[column])))
  const kept = <T>(cells: readonly T[]): readonly T[] => cells.filter((_, column) => telling[column])
  const [names, cells] = [kept(head).map((name) => name.replaceAll(' ', '\n')), rows.map((row) => kept(row))]
  const narrow = render(names, cells)
  if (widthOf(narrow) <= width) return narrow
  const widths = names.map((_, column) =>
    Math.max(...cells.map((row) => (typeof row[column] === 'number' ? 0 : shown(row[column]).length))),
  )
  const widest = widths.indexOf(Math.max(...widths))
  const room = width - (widthOf(narrow) - (widths[widest] ?? 0))
  if (room < narrowest) return records(head, rows, width)
  return render(names, cells, (cell, column) => (column === widest ? wrap(cell, room).join('\n') : cell))
}

/** The columns of a table by their headings: what each shows of a row. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => Cell>>

/** A table of the first set of columns that fits into `width`; {@link table} fits the last one. */
export function fittingTable<Row>(
  rows: readonly Row[],
  sets: readonly Columns<Row>[],
  width: number | null = lineWidth(),
): string {
  const tables = sets.map((columns, index) => {
    const cells = rows.map((row) => Object.values(columns).map((cell) => cell(row)))
    return table(Object.keys(columns), cells, index < sets.length - 1 ? null : width)
  })
  return tables.find((text) => width === null || widthOf(text) <= width) ?? tables.at(-1) ?? ''
}

function render(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  laidOut: (cell: string, column: number) => string = (cell) => cell,
): string {
  const isNumeric = (column: number): boolean => {
    const cells = rows.map((row) => row[column]).filter((cell) => cell !== null && cell !== undefined)
    return cells.length > 0 && cells.every((cell) => typeof cell === 'number')
  }
  const grid = new Table({
    head: [...head],
    chars: noBorders,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true },
    colAligns: head.map((_, column) => (isNumeric(column) ? 'right' : 'left')),
  })
  for (const row of rows) grid.push(row.map((cell, column) => laidOut(shown(cell), column)))
  return grid
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
}

/** Rows below each other, each cell after the name of its column. */
function records(head: readonly string[], rows: readonly (readonly Cell[])[], width: number): string {
  const names = Math.max(...head.map((name) => name.length)) + 2
  const line = (name: string, cell: string): string =>
    wrap(cell.trim(), Math.max(narrowest, width - names))
      .map((part, index) => `${(index === 0 ? name : '').padEnd(names)}${part}`.trimEnd())
      .join('\n')
  return rows.map((row) => head.map((name, column) => line(name, shown(row[column]))).join('\n')).join('\n\n')
}

/** Breaks a text into lines of at most `room` characters, between words if possible. */
function wrap(text: string, room: number): string[] {
  const lines: string[] = []
  let rest = text
  while (rest.length > room) {
    const space = rest.lastIndexOf(' ', room)
    const end = space > 0 ? space : room
    lines.push(rest.slice(0, end))
    rest = rest.slice(end).trimStart()
  }
  return [...lines, rest]
}

function shown(cell: Cell): string {
  if (cell === null || cell === undefined) return '–'
  return typeof cell === 'number' ? count(cell) : oneLine(cell, 400)
}

/** Writes to stdout, with control characters escaped. */
export const print = (text: string): void => {
  process.stdout.write(`${withoutControls(text)}\n`)
}

/** Writes one of our texts to stdout, with commands spelled as this command was called. */
export const printText = (text: string): void => print(asCalled(text, process.env))

/** Writes a note to stderr: progress, an error, a remedy. */
export const printNote = (text: string): void => {
  process.stderr.write(`${withoutControls(asCalled(text, process.env))}\n`)
}

/** Reports progress: on a terminal as text, else as a line of the log. */
export function tell(log: Logger, event: string, text: string): void {
  if (process.stderr.isTTY === true) printNote(text)
  else log.info({ event }, asCalled(text, process.env))
}

export const jsonText = (value: unknown): string => stringifyJson(value, 2)

export const printJson = (value: unknown): void => print(jsonText(value))

/** Reports the error that ended a command: on a terminal as message and remedy, else as a line of the log; for a bug also the stack. */
export function printError(thrown: unknown): void {
  const error = thrown instanceof BoatMirrorError ? thrown : faultOf(thrown)
  const { code, message, remedy } = error
  const isDebugging = process.env.LOG_LEVEL === 'debug' || process.env.LOG_LEVEL === 'trace'
  const stack = code === 'INTERNAL' && isDebugging && thrown instanceof Error ? thrown.stack : undefined
  if (process.stderr.isTTY === true) {
    printNote([`boat-mirror: ${message} [${code}]`, remedy, stack].filter((part) => part !== undefined).join('\n'))
    return
  }
  const typed = (text: string): string => asCalled(text, process.env)
  createLogger('fatal').fatal(
    { event: 'command_failed', code, remedy: remedy === undefined ? undefined : typed(remedy), stack },
    typed(message),
  )
}

const faultOf = (thrown: unknown): BoatMirrorError =>
  new BoatMirrorError('INTERNAL', messageOf(thrown), { remedy: 'Report it with the output of LOG_LEVEL=debug.' })
