// Calls of the decision functions, with their refusals as BoatMirrorErrors. A separate file for programs that load only Kysely.

import type { Queryable } from '../database/sql.ts'
import { sqlStateOf } from '../database/sql-states.ts'
import { BoatMirrorError, type ErrorCode, messageOf } from '../errors.ts'

const refusals: Readonly<Record<string, ErrorCode>> = {
  P0002: 'NOT_FOUND',
  PT412: 'PLAN_CHANGED',
  '55000': 'USAGE',
  '22023': 'USAGE',
  '53400': 'USAGE',
  '42501': 'DATABASE_PRIVILEGE',
}

/** Turns a refusal of the decision functions into a BoatMirrorError; returns every other error unchanged. */
export function refusedDecision(error: unknown): unknown {
  const code = refusals[sqlStateOf(error) ?? '']
  if (code === undefined) return error
  const { hint } = error as { hint?: string }
  return new BoatMirrorError(code, messageOf(error), { cause: error, ...(hint === undefined ? {} : { remedy: hint }) })
}

/**
 * Calls a decision function.
 * @returns its result: the id of the decision, or a count
 * @throws BoatMirrorError NOT_FOUND, USAGE, PLAN_CHANGED, DATABASE_PRIVILEGE
 */
export async function decided(db: Queryable, name: string, values: readonly unknown[]): Promise<string> {
  const places = values.map((_, index) => `$${index + 1}`)
  try {
    const { rows } = await db.query<{ result: string }>(`select ${name}(${places.join(', ')})::text as result`, [
      ...values,
    ])
    return rows[0]?.result ?? ''
  } catch (error) {
    throw refusedDecision(error)
  }
}
