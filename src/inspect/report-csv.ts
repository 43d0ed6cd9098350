// Rows of a report as CSV (RFC 4180): for `report --csv`, and for spreadsheets that read from `serve`. Pure.

import { withoutControls } from '../text.ts'

/** What a spreadsheet would take for a formula: it may read other cells, and send them away. A number is none. */
const isFormula = (cell: string): boolean => /^[=+\-@\t\r]/.test(cell) && !/^[+-]?\d+(\.\d+)?$/.test(cell)

/** A cell; null is empty, an empty text is quoted. */
const csvCell = (value: string | null | undefined, raw: boolean): string => {
  if (value === null || value === undefined) return ''
  const cell = !raw && isFormula(value) ? `'${value}` : value
  return cell === '' || /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

/**
 * Rows as lines, each with its end.
 * @param raw leaves every character as it is; otherwise an apostrophe is put before formulas, and control characters are written out
 */
export function csvLines(
  columns: readonly string[],
  rows: readonly Readonly<Record<string, string | null>>[],
  raw = false,
): string {
  const text = rows.map((row) => `${columns.map((column) => csvCell(row[column], raw)).join(',')}\n`).join('')
  return raw ? text : withoutControls(text)
}
