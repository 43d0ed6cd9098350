// The repeatable steps in their order, and the version they have together.

import { createHash } from 'node:crypto'
import { comments } from './comments.ts'
import { outboxEnqueue } from './outbox-enqueue.ts'
import { operationRows, outboxGrants, outboxOperations } from './outbox-operations.ts'
import { outboxStates } from './outbox-states.ts'
import { outboxValidation } from './outbox-validation.ts'
import { outboxViews } from './outbox-views.ts'
import { reportFunctions, reports } from './report-views.ts'
import { grants, roles } from './roles.ts'
import { seeds } from './seeds.ts'
import type { RepeatableStep } from './step.ts'
import { views } from './views.ts'

/** Run in this order, all of them or none, in one transaction. */
export const repeatableSteps: readonly RepeatableStep[] = [
  roles,
  comments,
  seeds,
  views,
  reportFunctions,
  reports,
  { name: 'outbox-validation', sql: outboxValidation },
  { name: 'outbox-states', sql: outboxStates },
  { name: 'outbox-enqueue', sql: outboxEnqueue },
  { name: 'outbox-operations', sql: outboxOperations, values: [JSON.stringify(operationRows)] },
  outboxViews,
  { name: 'outbox-grants', sql: outboxGrants },
  grants,
]

/** Changes whenever a step changes: an unchanged program finds its own version and has nothing to do. */
export const repeatableVersion = createHash('sha256').update(JSON.stringify(repeatableSteps)).digest('hex').slice(0, 32)
