// Rentals of which the reports are not sure, in sentences.

import { count, counted } from '../format.ts'
import { newestRentals, type RentalDoubts } from '../inspect/report-queries.ts'
import { oneLine } from './terminal/output.ts'

type Amount = RentalDoubts['statuses'][number]['amounts'][number]

const amountText = ({ currencies, totalToPay }: Amount): string =>
  `${totalToPay ?? 'no amount'} ${currencies.join(' or ') || 'without currency'}`

const rentalsOf = (rentals: number, { among }: RentalDoubts): string =>
  `${counted(rentals, 'rental')}${among < newestRentals ? '' : ` of the newest ${count(among)}`}`

/** How many rentals, and what amount, rest on a status that is not known. */
export const statusLines = (doubts: RentalDoubts): readonly string[] =>
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
