// `report`: prints a view of schema report, for people, as CSV or as JSON. Amounts are printed digit by digit.

import { BoatMirrorError } from '../../errors.ts'
import { csvLines } from '../../inspect/report-csv.ts'
import { type ReportRequest, readReport } from '../../inspect/report-queries.ts'
import { meant } from '../../near-names.ts'
import type { ReportView } from '../../reports/pieces.ts'
import { reportViews } from '../../reports/report-views.ts'
import { withoutControls } from '../../text.ts'
import type { CommandContext } from '../context.ts'
import { oneLine, print, printJson, table } from '../terminal/output.ts'
import { write } from '../terminal/unwritten.ts'
import { shownRows } from '../usage/command.ts'

type Options = {
  readonly json: boolean
  readonly csv: boolean
  readonly raw: boolean
  readonly limit?: number
  readonly from?: string
  readonly to?: string
}

/** Longest span of a calendar: ten years of days, as long as calendars are read at most. */
const maxDays = 3_653

function requestOf(view: ReportView, { from, to, ...options }: Options): ReportRequest {
  if ((from !== undefined || to !== undefined) && view.name !== 'calendar')
    throw new BoatMirrorError('USAGE', `--from and --to are only for calendar; ${view.name} has no days to select.`)
  if (to !== undefined && from === undefined) throw new BoatMirrorError('USAGE', '--to needs --from.')
  const limit = options.limit ?? (options.csv || options.json ? null : shownRows)
  const request = { view: view.name, orderBy: view.orderBy, columns: Object.keys(view.columns), limit }
  if (from === undefined) return request
  const last = to ?? from
  const days = (Date.parse(last) - Date.parse(from)) / 86_400_000 + 1
  if (days < 1 || days > maxDays)
    throw new BoatMirrorError(
      'USAGE',
      `--to is ${last}. It must not be before --from ${from}, nor more than ten years after it.`,
    )
  return { ...request, values: [from, last] }
}

function findView(name: string): ReportView {
  const view = reportViews.find((each) => each.name === name)
  if (view !== undefined) return view
  const all = reportViews.map((each) => each.name)
  throw new BoatMirrorError('USAGE', `There is no report "${name}"${meant(name, all)}.`, {
    remedy: `Reports are ${all.join(', ')}.`,
  })
}

export async function runReport(context: CommandContext, name: string | undefined, options: Options): Promise<void> {
  if (options.json && options.csv) throw new BoatMirrorError('USAGE', 'Give --json or --csv, not both.')
  if (options.raw && !options.csv) throw new BoatMirrorError('USAGE', '--raw needs --csv.')
  if (name === undefined) return listReports(options)
  const request = requestOf(findView(name), options)
  await using opened = await context.openDatabase()
  if (options.json) await printRowsAsJson(opened.database, request, context.signal)
  else if (options.csv) await printCsv(opened.database, request, options.raw, context.signal)
  else await printTable(opened.database, request)
}

/** The content of a view, without its rules about days and currencies. */
const firstSentence = (comment: string): string => /^.*?[.:](?= |$)/.exec(comment)?.[0].replace(/:$/, '.') ?? comment

function listReports({ json }: Options): void {
  const reports = reportViews.map(({ name, comment, columns }) => ({ name, comment, columns: Object.keys(columns) }))
  const rows = reports.map(({ name, comment }) => [name, firstSentence(comment)])
  const hint = 'In SQL each report is a view: select * from report.NAME. Examples: docs/queries.md'
  if (json) printJson(reports)
  else print(`${table(['REPORT', 'CONTENT'], rows)}\n\n${hint}`)
}

type Database = Parameters<typeof readReport>[0]

/** `raw`: a file or program gets every character. */
const writePart = (text: string, raw = false): Promise<void> =>
  write(raw && !process.stdout.isTTY ? text : withoutControls(text))

/** An array with one row a line; each row as Postgres writes it, so that no digit is lost. */
async function printRowsAsJson(database: Database, request: ReportRequest, signal: AbortSignal): Promise<void> {
  let separator = '[\n'
  await readReport(database, request, 'json', async (rows) => {
    signal.throwIfAborted()
    await writePart(separator + rows.map(({ json }) => `  ${json}`).join(',\n'))
    separator = ',\n'
  })
  await writePart(separator === '[\n' ? '[]\n' : '\n]\n')
}

async function printCsv(database: Database, request: ReportRequest, raw: boolean, signal: AbortSignal): Promise<void> {
  await writePart(`${request.columns.join(',')}\n`)
  await readReport(database, request, 'text', async (rows) => {
    signal.throwIfAborted()
    await writePart(csvLines(request.columns, rows, raw), raw)
  })
}

const booleans: Readonly<Record<string, string>> = { true: 'yes', false: 'no' }

/** A cell for people: instants to the minute, yes and no, an empty field for null. */
function shown(cell: string | null | undefined): string {
  if (cell === null || cell === undefined) return ''
  const instant = /^(\d{4}-\d{2}-\d{2} \d{2}:\d{2}):\d{2}(?:\.\d+)?(\+00)?$/.exec(cell)
  if (instant !== null) return `${instant[1]}${instant[2] === undefined ? '' : 'Z'}`
  return booleans[cell] ?? oneLine(cell, 60)
}

const isNumber = (cell: string): boolean => cell === '' || /^-?\d+(\.\d+)?$/.test(cell)

/** A number with so many digits behind its point; none are lost. */
const withScale = (cell: string, scale: number): string => {
  if (cell === '' || scale === 0) return cell
  const [whole = '', fraction = ''] = cell.split('.')
  return `${whole}.${fraction.padEnd(scale, '0')}`
}

/** Amounts of one column have the same scale, as money at least two digits. */
function scaled(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const scales = (rows[0] ?? []).map((_, column) => {
    const cells = rows.map((row) => row[column] ?? '')
    const scale = cells.every(isNumber) ? Math.max(...cells.map((cell) => cell.split('.')[1]?.length ?? 0)) : 0
    return scale === 1 ? 2 : scale
  })
  return rows.map((row) => row.map((cell, column) => withScale(cell, scales[column] ?? 0)))
}

/** Numbers of one column end at the same place; their digits stay as they are. */
function aligned(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.every((row) => isNumber(row[column] ?? '')) ? Math.max(...rows.map((row) => (row[column] ?? '').length)) : 0,
  )
  return rows.map((row) => row.map((cell, column) => cell.padStart(widths[column] ?? 0)))
}

/** Prints the first rows of a report, for people. */
export async function printTable(
  database: Database,
  request: ReportRequest,
  { none, more } = { none: 'The report has no rows.', more: 'Use --limit for more, --csv or --json for all.' },
): Promise<void> {
  // One row more than is shown reveals whether there are more.
  const limit = request.limit ?? shownRows
  const rows: string[][] = []
  await readReport(database, { ...request, limit: limit + 1 }, 'text', async (portion) => {
    for (const row of portion) rows.push(request.columns.map((column) => shown(row[column])))
  })
  if (rows.length === 0) return print(none)
  print(
    table(
      request.columns.map((column) => column.toUpperCase()),
      aligned(scaled(rows.slice(0, limit))),
    ),
  )
  if (rows.length > limit) print(`\nOnly the first ${limit} rows. ${more}`)
}
