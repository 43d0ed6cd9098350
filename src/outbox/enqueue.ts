// outbox.enqueue for TypeScript: commands typed per operation from the catalog, inside the caller's own transaction.

import type { BodyField } from '../catalog/types.ts'
import { type Operation, type ParamOf, type WriteLiteral, writes } from '../catalog/writes.ts'
import { type QueryRunner, queryableOn } from '../database/query-runner.ts'
import { sqlStateOf } from '../database/sql-states.ts'
import { BoatMirrorError, messageOf } from '../errors.ts'
import { type Exact, exactNumber, givenJson } from '../json/plain.ts'
import { assertOptions } from '../near-names.ts'

/** The result of an earlier change. */
export type Reference = { readonly change: Exact }

/** Refers to the result of a change that {@link enqueue} returned. */
export const resultOf = (changeId: string): Reference => ({ change: exactNumber(changeId) ?? changeId })

type Literal<O extends Operation> = Extract<WriteLiteral, { readonly operation: O }>

type Plain = {
  string: string
  integer: Exact
  number: Exact
  boolean: boolean
  date: string
  email: string
  uri: string
}

type ValueOf<F extends BodyField> = F extends { readonly values: readonly (infer V)[] }
  ? V
  : F extends { readonly type: 'object'; readonly members: readonly BodyField[] }
    ? FieldsOf<F['members'][number]>
    : F['type'] extends keyof Plain
      ? Plain[F['type']]
      : never

type Nullable<F extends BodyField> = F extends { readonly required: true } | { readonly clearable: false }
  ? never
  : null
type Referable<F extends BodyField> = F extends { readonly result: readonly string[] } ? Reference : never
type Given<F extends BodyField> = ValueOf<F> | Nullable<F> | Referable<F>
type Required<F extends BodyField> = Extract<F, { readonly required: true }>

type FieldsOf<F extends BodyField> = { readonly [R in Required<F> as R['name']]: Given<R> } & {
  readonly [R in Exclude<F, Required<F>> as R['name']]?: Given<R>
}

/** The path parameters of an operation. */
export type TargetOf<O extends Operation> = { readonly [P in ParamOf<Literal<O>['endpoint']>]: Exact | Reference }

/** The body of an operation: absent leaves a field, null clears it. */
export type BodyOf<O extends Operation> = FieldsOf<Literal<O>['body'][number]>

export type EnqueueOptions<O extends Operation = Operation> = {
  /** The partner's own id. The same content again is the same change. */
  readonly reference?: string
  readonly expires_at?: Date | string
  readonly on_conflict?: 'fail' | 'local_wins' | 'remote_wins'
  /** For updates: what the editor saw, if older than the mirror; null: the update overwrites any value. */
  readonly base?: { readonly [K in keyof BodyOf<O>]?: unknown } | null
}

/** One change to be queued. */
export type Command<O extends Operation> = {
  readonly operation: O
  readonly target: TargetOf<O>
  readonly body?: BodyOf<O>
  readonly options?: EnqueueOptions<O>
}

/** A Kysely transaction of any schema and version. */
export type KyselyTransaction = QueryRunner & { readonly isTransaction: true }

const refused: ReadonlySet<string> = new Set(['22023', '23505']) // outbox.enqueue raises these for a wrong change

/** Errors for arguments that are no jsonb: NUL, half a surrogate pair, a number or nesting beyond its limits. */
const unstorable: ReadonlySet<string> = new Set(['22P05', '22P02', '22003', '54001'])

/**
 * Queues a change inside a Kysely transaction of any schema. It is sent only if that transaction commits.
 * @returns the change's id.
 * @throws BoatMirrorError USAGE, whose message names the field and what is allowed; then roll the transaction back.
 */
export async function enqueue<O extends Operation>(trx: KyselyTransaction, command: Command<O>): Promise<string> {
  assertOptions(command, ['operation', 'target', 'body', 'options'])
  const { operation, target, body = {}, options = {} } = command
  const write = writes.find((each) => each.operation === operation)
  const isDecimal = (name: string) =>
    write?.body.some((field) => field.name === name && field.type === 'number') === true
  const parts = Object.entries({ target, body, options }).map(([part, given]) =>
    givenJson(`${operation}: ${part}`, given, isDecimal),
  )
  try {
    const { rows } = await queryableOn(trx).query<{ id: string }>(
      'select outbox.enqueue($1, $2::jsonb, $3::jsonb, $4::jsonb)::text as id',
      [operation, ...parts],
    )
    return String(rows[0]?.id)
  } catch (error) {
    throw refusalOf(operation, error)
  }
}

/** Turns a refusal into a BoatMirrorError; returns anything else unchanged. */
export function refusalOf(operation: string, error: unknown): unknown {
  const state = sqlStateOf(error) ?? ''
  if (refused.has(state)) return new BoatMirrorError('USAGE', messageOf(error), { cause: error })
  if (!unstorable.has(state)) return error
  return new BoatMirrorError(
    'USAGE',
    `${operation}: target, body or options have content that Postgres cannot store as JSON: ${messageOf(error)}.`,
    {
      remedy: 'Remove NUL and halves of surrogate pairs, and reduce very large numbers and deep nesting.',
      cause: error,
    },
  )
}
