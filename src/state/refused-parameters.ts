// Query parameters that an API refuses, and that a list can be read without: its order, its filters. Kept in sync.pinned.

import type { Clock } from '../clock.ts'
import type { Queryable } from '../database/sql.ts'
import { ApiError } from '../errors.ts'
import { readDetected, saveDetected } from './detected-settings.ts'

export type RefusedParameters = { readonly names: readonly string[]; readonly reason: string }

/** What the names of these settings begin with. */
export const refusedPrefix = 'refused:'

/** A refused parameter is left out for this long, then tried again, in milliseconds. */
const retryMs = 7 * 24 * 3_600_000

/** Names of the parameters that the list of a stream refuses. */
export async function refusedParameters(
  db: Queryable,
  stream: string,
  { now }: Pick<Clock, 'now'>,
): Promise<ReadonlySet<string>> {
  const known = await readDetected(db, refusedPrefix + stream)
  if (known === null || now().getTime() - known.probedAt.getTime() > retryMs) return new Set()
  return new Set((known.value as RefusedParameters).names)
}

/** Remembers that the list of a stream refuses these parameters, besides those that are known. */
export async function noteRefused(db: Queryable, stream: string, refused: RefusedParameters): Promise<void> {
  const known = (await readDetected(db, refusedPrefix + stream))?.value as RefusedParameters | undefined
  const names = [...new Set([...(known?.names ?? []), ...refused.names])]
  await saveDetected(db, refusedPrefix + stream, { ...refused, names } satisfies RefusedParameters)
}

/** Whether a refusal may concern the parameters of a request; some APIs refuse them with 200 and a body that says so. */
export const mayConcernParameters = (error: unknown): error is ApiError =>
  error instanceof ApiError && (error.status === 400 || error.status === 422 || error.code === 'API_ERROR_BODY')

/** The query without these parameters. */
export const withoutParameters = (
  query: Readonly<Record<string, string>>,
  names: ReadonlySet<string>,
): Readonly<Record<string, string>> => Object.fromEntries(Object.entries(query).filter(([name]) => !names.has(name)))
