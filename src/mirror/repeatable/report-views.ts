// Schema report: the views in the order in which they stand on each other, as one repeatable step.

import { calendar, calendarFunction, fleet, occupancy } from './report-fleet.ts'
import { freshness } from './report-freshness.ts'
import { cancellations, revenue } from './report-money.ts'
import { currencyFunction, todayFunction } from './report-pieces.ts'
import { balances, departures, rentals } from './report-rentals.ts'
import type { ReportView } from './report-view.ts'
import type { RepeatableStep } from './step.ts'

/** Every view of schema report. */
export const reportViews: readonly ReportView[] = [
  fleet,
  rentals,
  occupancy,
  calendar,
  revenue,
  departures,
  balances,
  cancellations,
  freshness,
]

/** Functions that the views call. */
export const reportFunctions: RepeatableStep = {
  name: 'report-functions',
  sql: [currencyFunction, todayFunction].join('\n'),
}

/** Views with their owner's rights: whoever may read `report` needs no right on the tables, and sees nothing personal. */
export const reports: RepeatableStep = {
  name: 'reports',
  views: reportViews.map((view) => ({ schema: 'report', ...view })),
  sql: calendarFunction,
}
