// `drift`: fields seen upstream that no column shows, new or of another shape, which stay in `_payload`; statuses nobody knows.
// `acknowledge`: the new fields are known.

import { existingStream } from '../../catalog/catalog.ts'
import { count, counted, instant } from '../../format.ts'
import { newestRentals, type RentalDoubts, rentalDoubts } from '../../inspect/report-queries.ts'
import { decideStream } from '../../sync/decisions.ts'
import { readDrift } from '../../sync/unknown-fields.ts'
import { type CommandContext, decidedBy, type Json } from '../context.ts'
import { oneLine, print, printJson, table } from '../terminal/output.ts'

export async function runDrift(context: CommandContext, { json }: Json): Promise<void> {
  await using opened = await context.openDatabase()
  const fields = await readDrift(opened.database.pool)
  const doubts = await rentalDoubts(opened.database.pool)
  // A status is a value of a known field: as `times`, it has its rentals.
  const values = doubts.statuses.map(({ status, rentals: times, amounts }) => {
    return {
      stream: 'rentals',
      path: 'status',
      firstSeenAt: null,
      lastSeenAt: null,
      times,
      sample: JSON.stringify(status),
      amounts,
    }
  })
  if (json) return printJson([...fields, ...values])
  for (const line of statusLines(doubts)) print(`${line}\n`)
  if (fields.length === 0) return print('All fields seen upstream are known and have the expected shape.')
  print(
    table(
      ['STREAM', 'FIELD', 'SINCE (UTC)', 'LAST SEEN (UTC)', 'TIMES', 'SAMPLE'],
      fields.map(({ stream, path, firstSeenAt, lastSeenAt, times, sample }) => [
        stream,
        path,
        instant(firstSeenAt),
        instant(lastSeenAt),
        times,
        sample === null ? null : oneLine(sample, 60),
      ]),
    ),
  )
  print("\nTheir values are in column _payload of the table: select _payload #> '{field}' from mirror.STREAM")
}

export async function runAcknowledge(context: CommandContext, name: string, { json }: Json): Promise<void> {
  const stream = existingStream(name).name
  await using opened = await context.openDatabase()
  const decision = await decideStream(opened.database.pool, 'acknowledge', stream, decidedBy({}))
  if (json) printJson({ decision: Number(decision), stream })
  else print(`The new fields of ${stream} no longer need attention.`)
}

type Amount = RentalDoubts['statuses'][number]['amounts'][number]

const amountText = ({ currencies, totalToPay }: Amount): string =>
  `${totalToPay ?? 'no amount'} ${currencies.join(' or ') || 'without currency'}`

const rentalsOf = (rentals: number, { among }: RentalDoubts): string =>
  `${counted(rentals, 'rental')}${among < newestRentals ? '' : ` of the newest ${count(among)}`}`

/** How many rentals, and what amount, rest on a status that is not known. */
const statusLines = (doubts: RentalDoubts): readonly string[] =>
  doubts.statuses.map(({ status, rentals, amounts }) => {
    const what = status === null ? 'no status' : `the unknown status ${oneLine(status, 60)}`
    const exclude = status === null ? '' : ' Name it in NOT_TAKING_PLACE if they do not.'
    return `Counted as taking place: ${rentalsOf(rentals, doubts)} with ${what} (${amounts.map(amountText).join(', ')}).${exclude}`
  })

export function doubtLines(doubts: RentalDoubts): readonly string[] {
  const rentals = doubts.currencies.reduce((sum, company) => sum + company.rentals, 0)
  const companies = doubts.currencies.map(
    ({ companyId, companyName, rentals: own }) =>
      `${oneLine(companyName ?? `company ${companyId ?? '?'}`, 60)} ${count(own)}`,
  )
  const mixed = `Not added to others: ${rentalsOf(rentals, doubts)} with several currencies (${companies.join(', ')}).`
  return [...(rentals === 0 ? [] : [mixed]), ...statusLines(doubts)]
}
