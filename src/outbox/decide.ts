// Decisions for a partner's program: the SQL functions that members of `boat_mirror_operator` may call. The role that queued a change
// may retry and cancel it.

import { type QueryRunner, queryableOn } from '../database/query-runner.ts'
import { BoatMirrorError } from '../errors.ts'
import { type Exact, givenJson, stringifyJson } from '../json/plain.ts'
import { assertOptions } from '../near-names.ts'
import { decided } from '../sync/refused-decision.ts'

export type DecisionOptions = {
  /** The plan from `outbox.changes`, `sync.held_plans` or `sync.stream_plans`. A changed plan is refused. */
  readonly expected?: string
}

/** How a conflict ends (`local`, `remote`), or a change whose answer was lost (`took_effect`, `did_not`). */
export type Choice = 'local' | 'remote' | 'took_effect' | 'did_not'

export type ResolveOptions = DecisionOptions & {
  /** For `took_effect`: the id of the created record; needed if other changes wait for it. */
  readonly resultId?: Exact
}

/** An id for SQL. @throws BoatMirrorError USAGE for an invalid id, and for a number that JavaScript has rounded */
export function idGiven(id: Exact): string {
  givenJson('The id', id)
  const text = String(id)
  if (/^-?\d{1,19}$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text)) return text
  throw new BoatMirrorError('USAGE', `${stringifyJson(text)} is not an id. It must be a whole number.`)
}

const choices: readonly string[] = ['local', 'remote', 'took_effect', 'did_not'] satisfies readonly Choice[]

/** Checks a choice. @throws BoatMirrorError USAGE */
export function choiceGiven(choice: Choice): Choice {
  if (choices.includes(choice)) return choice
  throw new BoatMirrorError(
    'USAGE',
    `${stringifyJson(choice)} is not a choice. It must be one of ${choices.join(', ')}.`,
  )
}

/** Calls an SQL function, with `expected` as its last argument. */
async function decide(
  db: QueryRunner,
  name: string,
  values: readonly (string | null)[],
  { expected, ...others }: DecisionOptions,
): Promise<string> {
  assertOptions(others, ['expected'])
  return await decided(queryableOn(db), name, [...values, expected ?? null])
}

/**
 * Queues a failed, expired, canceled or conflicting change again: `outbox.retry`.
 * @param db Kysely on the mirror's database, or a transaction of it, of whatever schema
 * @returns sync.decisions.id
 * @throws BoatMirrorError NOT_FOUND; USAGE in another state, and beyond OUTBOX_LIMIT; PLAN_CHANGED; DATABASE_PRIVILEGE
 */
export const retryChange = async (db: QueryRunner, id: Exact, options: DecisionOptions = {}) =>
  await decide(db, 'outbox.retry', [idGiven(id)], options)

/** Cancels a change that is not being sent, and blocks its dependants: `outbox.cancel`. Returns and throws as {@link retryChange}. */
export const cancelChange = async (db: QueryRunner, id: Exact, options: DecisionOptions = {}) =>
  await decide(db, 'outbox.cancel', [idGiven(id)], options)

/**
 * Ends a conflict, or decides about a change whose answer was lost: `outbox.resolve`. A worker, or the next push, carries out
 * what needs the API. Returns and throws as {@link retryChange}.
 */
export const resolveChange = async (
  db: QueryRunner,
  id: Exact,
  choice: Choice,
  { resultId, ...options }: ResolveOptions = {},
) =>
  await decide(
    db,
    'outbox.resolve',
    [idGiven(id), choiceGiven(choice), resultId === undefined ? null : idGiven(resultId)],
    options,
  )

/** Releases the held deletions of a run, each after the API confirms it: `sync.release`. Returns and throws as {@link retryChange}. */
export const releaseRun = async (db: QueryRunner, runId: Exact, options: DecisionOptions = {}) =>
  await decide(db, 'sync.release', [idGiven(runId)], options)

/** Pauses a stream and the streams below it, after a run in progress: `sync.pause`. Returns and throws as {@link retryChange}. */
export const pauseStream = async (db: QueryRunner, stream: string, options: DecisionOptions = {}) =>
  await decide(db, 'sync.pause', [stream], options)

/** Ends a pause; overdue reads start at once: `sync.resume`. Returns and throws as {@link retryChange}. */
export const resumeStream = async (db: QueryRunner, stream: string, options: DecisionOptions = {}) =>
  await decide(db, 'sync.resume', [stream], options)
