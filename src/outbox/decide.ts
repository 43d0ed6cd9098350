// Decisions for a program of a partner's: the functions of SQL that members of `boat_mirror_operator` may call, and, to retry
// and to cancel its own changes, the role that queued them.

import { type QueryRunner, queryableOn } from '../database/query-runner.ts'
import { BoatMirrorError } from '../errors.ts'
import { type Exact, givenJson, stringifyJson } from '../json/plain.ts'
import { assertOptions } from '../near-names.ts'
import { refusedDecision } from '../sync/refused-decision.ts'

export type DecisionOptions = {
  /** The plan as you read it in `outbox.changes`, `sync.held_plans` or `sync.stream_plans`; any other is refused. */
  readonly expected?: string
}

/** How a conflict ends (`local`, `remote`), or a change whose answer was lost (`took_effect`, `did_not`). */
export type Choice = 'local' | 'remote' | 'took_effect' | 'did_not'

export type ResolveOptions = DecisionOptions & {
  /** Of `took_effect`: the id of the record that the change made; needed where other changes wait for it. */
  readonly resultId?: Exact
}

/** An id as SQL takes it. @throws BoatMirrorError USAGE for what is none, and for a number that JavaScript has rounded */
export function idGiven(id: Exact): string {
  givenJson('The id', id)
  const text = String(id)
  if (/^-?\d{1,19}$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text)) return text
  throw new BoatMirrorError('USAGE', `${stringifyJson(text)} is not an id. It must be a whole number.`)
}

const choices: readonly string[] = ['local', 'remote', 'took_effect', 'did_not'] satisfies readonly Choice[]

/** A choice that a program without a compiler gave. @throws BoatMirrorError USAGE for what is none */
export function choiceGiven(choice: Choice): Choice {
  if (choices.includes(choice)) return choice
  throw new BoatMirrorError(
    'USAGE',
    `${stringifyJson(choice)} is not a choice. It must be one of ${choices.join(', ')}.`,
  )
}

/** Calls one of the functions; `expected` is its last argument. */
async function decide(
  db: QueryRunner,
  name: string,
  values: readonly (string | null)[],
  { expected, ...others }: DecisionOptions,
): Promise<string> {
  assertOptions(others, ['expected'])
  const places = [...values, expected].map((_, index) => `$${index + 1}`)
  try {
    const call = `select ${name}(${places.join(', ')})::text as id`
    const { rows } = await queryableOn(db).query<{ id: string }>(call, [...values, expected ?? null])
    return String(rows[0]?.id)
  } catch (error) {
    throw refusedDecision(error)
  }
}

/**
 * Queues a failed, expired, canceled or conflicting change again: `outbox.retry`.
 * @param db Kysely on the mirror's database, or a transaction of it, of whatever schema
 * @returns sync.decisions.id
 * @throws BoatMirrorError NOT_FOUND; USAGE in a state where it means nothing, and beyond OUTBOX_LIMIT; PLAN_CHANGED;
 * DATABASE_PRIVILEGE where the role may not
 */
export const retryChange = async (db: QueryRunner, id: Exact, options: DecisionOptions = {}) =>
  await decide(db, 'outbox.retry', [idGiven(id)], options)

/** Cancels a change that is not on its way; what refers to it is blocked: `outbox.cancel`. Returns and throws as {@link retryChange}. */
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

/**
 * Lets the deletions happen that a run holds back: `sync.release`. A worker confirms each of them with the API first.
 * Returns and throws as {@link retryChange}.
 */
export const releaseRun = async (db: QueryRunner, runId: Exact, options: DecisionOptions = {}) =>
  await decide(db, 'sync.release', [idGiven(runId)], options)

/**
 * Stops reading a stream, and the streams below it, until {@link resumeStream}: `sync.pause`. A running run ends
 * first. Returns and throws as {@link retryChange}.
 */
export const pauseStream = async (db: QueryRunner, stream: string, options: DecisionOptions = {}) =>
  await decide(db, 'sync.pause', [stream], options)

/** Ends {@link pauseStream}; what is overdue is read at once: `sync.resume`. Returns and throws as {@link retryChange}. */
export const resumeStream = async (db: QueryRunner, stream: string, options: DecisionOptions = {}) =>
  await decide(db, 'sync.resume', [stream], options)
