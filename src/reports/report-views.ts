// Schema report: the views in the order in which they depend on each other, as one repeatable step.

import type { RepeatableStep } from '../database/repeatable-step.ts'
import { fillSql } from '../database/sql.ts'
import { closeFunctions, closes } from './closes.ts'
import { calendar, calendarFunction, fleet, occupancy } from './fleet.ts'
import { freshness, freshnessHistory } from './freshness.ts'
import functions from './functions.sql'
import { cancellations, revenue } from './money.ts'
import { blocksFunction, overlaps } from './overlaps.ts'
import { pace } from './pace.ts'
import { namedCurrencies, type ReportView, today } from './pieces.ts'
import receipts from './receipts.sql'
import { balances, departures, rentals } from './rentals.ts'
import { rentalsAsOfFunction } from './rentals-as-of.ts'

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
  overlaps,
  closes,
  pace,
  freshness,
  freshnessHistory,
]

/** Those whose rows are of a company each; a close may be of all. */
export const companyReports = reportViews.filter((view) => 'company_id' in view.columns && view !== closes)

/** SQL of a view, with that of the views it reads. */
const textOf = ({ columns, source }: ReportView): string =>
  [source, ...Object.values(columns).map(([sql]) => sql)].join(' ').replace(/report\.(\w+)/g, (_, name) =>
    reportViews
      .filter((each) => each.name === name)
      .map(textOf)
      .join(),
  )

/** Names of the streams whose tables a view reads. */
export const streamsOfReport = (view: ReportView): readonly string[] => [
  ...new Set([...textOf(view).matchAll(/mirror\.(\w+)/g)].map(([, name = '']) => name)),
]

/** Functions that the views call. */
export const reportFunctions: RepeatableStep = {
  name: 'report-functions',
  sql: `${fillSql(functions, { today, named_currencies: namedCurrencies })}\n${blocksFunction}`,
}

/**
 * Views with their owner's rights: a role that may read `report` needs no right on the tables, and sees nothing
 * personal.
 */
export const reports: RepeatableStep = {
  name: 'reports',
  views: reportViews.map((view) => ({ schema: 'report', ...view })),
  sql: `${calendarFunction}\n${rentalsAsOfFunction}\n${closeFunctions}\n${receipts}`,
}
