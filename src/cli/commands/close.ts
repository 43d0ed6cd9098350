// `close`: keeps the rentals as they are at the end of a month, adds them up, and shows what has changed since.

import { counted, instant } from '../../format.ts'
import { type Close, listCloses, makeClose, readClose, removeClose } from '../../inspect/closes.ts'
import { refusedDecision } from '../../sync/refused-decision.ts'
import type { CommandContext, Json } from '../context.ts'
import { print, printJson, printText, table } from '../terminal/output.ts'
import { printTable } from './report.ts'

type CreateOptions = Json & { readonly company?: string }
type ShowOptions = Json & { readonly until?: string }

const companyOf = ({ company_id: company }: Close): string => (company === null ? 'all' : String(company))
const timeOf = (close: Close): string | null => instant(new Date(close.closed_at))

export async function runCreate(
  context: CommandContext,
  name: string,
  { company, json }: CreateOptions,
): Promise<void> {
  await using opened = await context.openDatabase()
  const close = await makeClose(opened.database, name, company ?? null)
  if (json) printJson(close)
  else print(`Close ${name} of ${timeOf(close)} UTC holds ${counted(close.rentals, 'rental')}.`)
}

export async function runList(context: CommandContext, { json }: Json): Promise<void> {
  await using opened = await context.openDatabase()
  const closes = await listCloses(opened.database)
  if (json) return printJson(closes)
  if (closes.length === 0) return printText('There are no closes. Make one with: boat-mirror close create NAME')
  print(
    table(
      ['NAME', 'COMPANY', 'CLOSED AT (UTC)', 'RENTALS'],
      closes.map((close) => [close.name, companyOf(close), timeOf(close), close.rentals]),
    ),
  )
}

const totals = 'company_id currency rentals amount paid due paid_unknown currencies'.split(' ')
const changes = [
  ...['what', 'rental_id', 'reference_id', 'company_id', 'departure_day', 'currency'],
  ...['amount_then', 'amount_now', 'paid_then', 'paid_now', 'changed'],
]

export async function runShow(context: CommandContext, name: string, { json, ...options }: ShowOptions): Promise<void> {
  const until = options.until ?? null
  await using opened = await context.openDatabase()
  if (json) return printJson(await readClose(opened.database, name, until))
  const show = async (view: string, values: readonly (string | null)[], columns: readonly string[]): Promise<void> => {
    const request = { view, values, columns, orderBy: columns.slice(0, 2).join(', '), limit: null }
    const texts = { none: 'There are none.', more: '--json prints all.' }
    await printTable(opened.database, request, texts).catch((error: unknown) => {
      throw refusedDecision(error)
    })
  }
  await show('close_totals', [name], totals)
  print(`\nChanges until ${until ?? 'now'}:`)
  await show('since_close', [name, until], changes)
}

export async function runRemove(context: CommandContext, name: string, { json }: Json): Promise<void> {
  await using opened = await context.openDatabase()
  await removeClose(opened.database, name)
  if (json) printJson({ name })
  else print(`Close ${name} is removed.`)
}
