// The section of the status page about bookings: what is on the books for each month of departure, against the same day a year before. Pure.

import { count, counted } from '../../format.ts'
import type { PaceMonth } from '../../inspect/pace-months.ts'
import type { PageFacts } from '../page-facts.ts'
import { type Section, table } from '../parts/frame.ts'
import { html } from '../parts/html.ts'
import { columnPlot } from '../parts/plots.ts'
import { monthName } from './fleet.ts'

const columnsOf = ({ month, rentals, lastYear }: PaceMonth) => {
  const title = `${monthName(month)}: ${counted(rentals, 'rental')}, ${count(lastYear)} a year before`
  return [
    { parts: [{ value: lastYear, tone: 'soft' }], title },
    { parts: [{ value: rentals, tone: 'series' }], title },
  ]
}

/** Two columns for each month, last year and this year; and the same as a table. */
export function paceSection({ pace }: PageFacts): Section {
  const [first] = pace
  if (first === undefined) return { quiet: 'No day of bookings has been kept yet.' }
  const words = `Dark: rentals on the books at the end of ${first.asOf}; light: on the same day a year before`
  const estimated = pace.some((each) => each.estimated)
  const marks = pace.map(({ month }, index) => ({ at: index * 2 + 0.5, text: monthName(month).slice(0, 3) }))
  return html`<section aria-labelledby="pace"><h2 id="pace">Bookings by month of departure</h2>
<p class="note">${words}${estimated && ' (estimated from when rentals were created)'}.</p>
${columnPlot({ columns: pace.flatMap(columnsOf), label: `${words}. The table below shows the numbers.`, format: count, marks })}
<details id="pace-months"><summary>By month</summary>${table<PaceMonth>(
    'Rentals on the books by month of departure',
    {
      Month: ({ month }) => monthName(month),
      Rentals: ({ rentals }) => rentals,
      'A year before': ({ lastYear }) => lastYear,
    },
    pace,
  )}</details></section>`
}
