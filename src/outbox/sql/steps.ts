// The outbox in SQL: its functions, outbox.operations filled from the catalog, its views, and who may do what with it.

import { streamNamed } from '../../catalog/catalog.ts'
import type { WriteDef } from '../../catalog/types.ts'
import { targetResults, writes } from '../../catalog/writes.ts'
import type { RepeatableStep } from '../../database/repeatable-step.ts'
import { durably, fillSql, literal } from '../../database/sql.ts'
import { erasedMember } from '../../mirror/erasures.ts'
import { notingDone } from '../../mirror/kept-counts.ts'
import { hashPrefix } from '../../privacy/hash.ts'
import { dueConditions } from '../claim.ts'
import { kindOf } from '../kinds/kinds.ts'
import { isUnsettled, roleMissing, stateLists, statesBefore } from '../states.ts'
import comments from './comments.sql'
import decisions from './decisions.sql'
import dependants from './dependants.sql'
import due from './due.sql'
import enqueue from './enqueue.sql'
import erasure from './erasure.sql'
import grants from './grants.sql'
import history from './history.sql'
import operations from './operations.sql'
import validation from './validation.sql'
import { changePlan, outboxViews } from './views.ts'

/** The settings of a function that looks up rows by index, whatever the planner knows of the tables. */
const by_index = `set search_path = pg_catalog, pg_temp ${['seqscan', 'hashjoin', 'mergejoin', 'material']
  .map((name) => `set enable_${name} = off`)
  .join(' ')} set jit = off`
/** For a function that joins changes to others: plans each time while Postgres knows of few, when every index costs the same. */
const choosing_plan = `set_config('plan_cache_mode', case when (select c.reltuples from pg_class c where c.oid = 'outbox.queue'::regclass) < 1000
    then 'force_custom_plan' else 'force_generic_plan' end, true)`
const shared = { durably, by_index, choosing_plan }
const noting_done = notingDone('count(*)', 'done')

/** The most that the body of a change, or its options, may hold as JSON text, in bytes: 1 MB. */
const largestPart = 1_000_000

type OperationRow = {
  readonly operation: string
  readonly method: string
  readonly path: string
  readonly kind: string
  readonly stream: string
  readonly aggregate: string
  readonly target: readonly object[]
  readonly body: readonly object[]
  readonly key: readonly { readonly column: string; readonly param: string }[]
  readonly source: string
}

/** A write operation as SQL reads it: targets are fields like those of a body, all of them required. */
function operationRow(write: WriteDef): OperationRow {
  const [method = '', path = ''] = write.endpoint.split(' ')
  const params = Object.keys(write.target)
  return {
    operation: write.operation,
    method,
    path,
    kind: write.kind,
    stream: write.stream,
    aggregate: write.aggregate,
    target: Object.entries(write.target).map(([name, type]) => {
      const maker = targetResults[name]
      return { name, type, required: true, ...(maker === undefined ? {} : { result: [maker] }) }
    }),
    body: write.body,
    key: streamNamed(write.stream).key.flatMap((column, index) => {
      const param = params[index]
      return param === undefined ? [] : [{ column, param }]
    }),
    source: write.source,
  }
}

const operationsOf = (fits: (write: WriteDef) => boolean): string =>
  writes
    .filter(fits)
    .map(({ operation }) => literal(operation))
    .join(', ')

const decisionFunctions: RepeatableStep = {
  name: 'outbox-decisions',
  sql: fillSql(decisions, {
    ...stateLists('dead', 'waiting', 'final', 'holding'),
    ...shared,
    role_missing: roleMissing('change'),
    plan: changePlan('before'),
    is_unsettled: isUnsettled('q.status'),
    retried: statesBefore('retried').map(literal).join(', '),
    retried_words: statesBefore('retried').join(', '),
    canceled: statesBefore('canceled').map(literal).join(', '),
    canceled_words: statesBefore('canceled').join(', '),
    replacing: operationsOf((write) => kindOf(write).replaces === true),
    making: operationsOf((write) => kindOf(write).makesRecord === true),
  }),
}

/** What the outbox brings to a migrate, in this order. */
export const outboxSteps: readonly RepeatableStep[] = [
  { name: 'outbox-validation', sql: fillSql(validation, { largest_part: `${largestPart}` }) },
  { name: 'outbox-dependants', sql: fillSql(dependants, { ...stateLists('dead', 'waiting'), ...shared, noting_done }) },
  {
    name: 'outbox-enqueue',
    sql: fillSql(enqueue, {
      ...stateLists('dead', 'waiting'),
      is_unsettled: isUnsettled('q.status'),
      by_index,
      hash_prefix: hashPrefix,
      erased_member: erasedMember,
    }),
  },
  {
    name: 'outbox-erasure',
    sql: fillSql(erasure, { ...stateLists('waiting', 'final'), is_unsettled: isUnsettled('c.status') }),
  },
  decisionFunctions,
  {
    name: 'outbox-history',
    sql: fillSql(history, { ...stateLists('waiting'), by_index, is_unsettled: isUnsettled('q.status') }),
  },
  { name: 'outbox-due', sql: fillSql(due, { ...dueConditions, by_index, choosing_plan }) },
  { name: 'outbox-operations', sql: operations, values: [JSON.stringify(writes.map(operationRow))] },
  outboxViews,
  { name: 'outbox-comments', sql: comments },
]

/** Comes when no default privileges are left. */
export const outboxGrants: RepeatableStep = { name: 'outbox-grants', sql: grants }
