// Refusals of the decision functions as BoatMirrorErrors. A separate file for programs that load only Kysely.

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
