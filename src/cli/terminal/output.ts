// What is written to stdout and stderr: aligned tables without lines or colour, texts, JSON.

import Table from 'cli-table3'
import { count } from '../../format.ts'
import { oneLine, withoutControls } from '../../text.ts'
import { asCalled } from './hints.ts'

export { oneLine } from '../../text.ts'

export type Cell = string | number | null | undefined

const places = ['top', 'bottom', 'left', 'mid', 'right', 'middle'] as const
const joints = ['top-mid', 'top-left', 'top-right', 'bottom-mid', 'bottom-left', 'bottom-right'] as const
const borders = [...places, ...joints, 'left-mid', 'mid-mid', 'right-mid'] as const
const noBorders = { ...Object.fromEntries(borders.map((name) => [name, ''])), middle: '  ' }

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
  return typeof cell === 'number' ? count(cell) : oneLine(cell, 400)
}

/** Writes a result to stdout, a line or several; control characters in it are written out. */
export const print = (text: string): void => {
  process.stdout.write(`${withoutControls(text)}\n`)
}

/** Writes a text of ours to stdout; what it says to type is as this command was called. */
export const printText = (text: string): void => print(asCalled(text, process.env))

/** Writes what is no result to stderr: progress, errors, what to do. */
export const printNote = (text: string): void => {
  process.stderr.write(`${withoutControls(asCalled(text, process.env))}\n`)
}

/** Writes a value as JSON to stdout. */
export const printJson = (value: unknown): void => print(JSON.stringify(value, null, 2))
