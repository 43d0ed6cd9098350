// How facts look on stdout: aligned tables without lines or colour, ages and durations in words, JSON.

import Table from 'cli-table3'
import { oneLine, withoutControls } from '../../text.ts'

export { oneLine } from '../../text.ts'

export type Cell = string | number | null | undefined

const noBorders = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
} as const

/** A table with its numbers right-aligned; missing values are shown as `–`. Returns lines without a trailing newline. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
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
  for (const row of rows) grid.push(row.map(shown))
  return grid
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
}

function shown(cell: Cell): string {
  if (cell === null || cell === undefined) return '–'
  return typeof cell === 'number' ? number(cell) : oneLine(cell, 400)
}

/** A number with thousands separated: 12,345. */
export const number = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: 1 })

const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const

/** A duration in its two largest units: 45 s, 3 min 20 s, 2 d 4 h. */
export function duration(seconds: number): string {
  let rest = Math.max(0, Math.round(seconds))
  const parts: string[] = []
  for (const [name, size] of units) {
    const count = Math.floor(rest / size)
    if (count === 0 && parts.length === 0) continue
    if (count > 0) parts.push(`${count} ${name}`)
    rest -= count * size
    if (parts.length === 2 || (parts.length === 1 && count === 0)) break
  }
  return parts.length === 0 ? '0 s' : parts.join(' ')
}

/** Elapsed seconds as 0:07 or 1:02:45. */
export function elapsed(seconds: number): string {
  const whole = Math.floor(seconds)
  const minutes = Math.floor(whole / 60) % 60
  const tail = `${String(minutes).padStart(whole >= 3_600 ? 2 : 1, '0')}:${String(whole % 60).padStart(2, '0')}`
  return whole >= 3_600 ? `${Math.floor(whole / 3_600)}:${tail}` : tail
}

/** How long ago an instant was, or how far ahead it is (`in 20 s`); null for null. */
export function relative(instant: Date | null, now: Date): string | null {
  if (instant === null) return null
  const seconds = (now.getTime() - instant.getTime()) / 1_000
  return seconds >= 0 ? `${duration(seconds)} ago` : `in ${duration(-seconds)}`
}

/** An instant as UTC to the second: 2030-05-01 12:00:00. */
export const instant = (value: Date | null): string | null =>
  value === null ? null : value.toISOString().slice(0, 19).replace('T', ' ')

/** Writes a result to stdout, a line or several; control characters in it are written out. */
export const print = (text: string): void => {
  process.stdout.write(`${withoutControls(text)}\n`)
}

/** Writes what is no result to stderr: progress, errors, what to do. */
export const printNote = (text: string): void => {
  process.stderr.write(`${withoutControls(text)}\n`)
}

/** Writes a value as JSON to stdout. */
export const printJson = (value: unknown): void => print(JSON.stringify(value, null, 2))
