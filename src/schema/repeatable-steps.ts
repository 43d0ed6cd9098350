// The repeatable steps in their order, and the version they have together.

import { createHash } from 'node:crypto'
import { requestBudgetFunction } from '../api/admission/request-budget.ts'
import { readEndpoints, repeatsOf, streams } from '../catalog/catalog.ts'
import history from '../database/history.sql'
import type { RepeatableStep } from '../database/repeatable-step.ts'
import { literal } from '../database/sql.ts'
import { asOfFunctions } from '../mirror/as-of.ts'
import { companyLogFunctions } from '../mirror/company-log.ts'
import { consumerFunctions, consumersView } from '../mirror/consumers.ts'
import { contentFunctions } from '../mirror/content.ts'
import { feedFunctions, feedView } from '../mirror/feed.ts'
import { logMonthFunctions } from '../mirror/log-months.ts'
import { versionFunctions } from '../mirror/versions.ts'
import { outboxGrants, outboxSteps } from '../outbox/sql/steps.ts'
import { reportFunctions, reports } from '../reports/report-views.ts'
import { companyAccessFunctions } from '../serve/access/company-access.ts'
import { decisionFunctions, decisionViews } from '../sync/decisions.ts'
import { reasonsView } from '../sync/due/reasons.ts'
import { refreshesView, refreshFunction } from '../sync/due/refreshes.ts'
import { partnerFunctions } from '../sync/partners.ts'
import { comments } from './comments.ts'
import { companyPolicies } from './company-policies.ts'
import { defaultPrivileges, grants, roles } from './roles.ts'
import { liveViews, readerViews } from './table-views.ts'

const rows = (values: readonly (readonly string[])[]): string =>
  values.map((row) => `(${row.map(literal).join(', ')})`).join(', ')

/** A row for each stream, for each endpoint that is read and for each that repeats another, from the start. */
const seeds: RepeatableStep = {
  name: 'seeds',
  sql: `insert into sync.streams (stream) values ${rows(streams.map((stream) => [stream.name]))} on conflict do nothing;
insert into sync.endpoints (endpoint) values ${rows(readEndpoints.map((endpoint) => [endpoint]))} on conflict do nothing;
insert into sync.reads (endpoint, same_as)
  values ${rows(streams.flatMap(repeatsOf).map(({ endpoint, repeats }) => [endpoint, repeats]))} on conflict do nothing;`,
}

/** Run in this order, all of them or none, in one transaction. */
export const repeatableSteps: readonly RepeatableStep[] = [
  roles,
  { name: 'history-functions', sql: history },
  partnerFunctions,
  companyAccessFunctions,
  contentFunctions,
  feedFunctions,
  companyLogFunctions,
  feedView,
  consumerFunctions,
  consumersView,
  logMonthFunctions,
  versionFunctions,
  asOfFunctions,
  refreshFunction,
  refreshesView,
  reasonsView,
  decisionFunctions,
  decisionViews,
  requestBudgetFunction,
  comments,
  seeds,
  readerViews,
  reportFunctions,
  liveViews,
  reports,
  ...outboxSteps,
  defaultPrivileges,
  outboxGrants,
  companyPolicies,
  grants,
]

/** Changes whenever a step changes: an unchanged program finds its own version and has nothing to do. */
export const repeatableVersion = createHash('sha256').update(JSON.stringify(repeatableSteps)).digest('hex').slice(0, 32)
