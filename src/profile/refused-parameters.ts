// Query parameters that an API refuses, and that a list can be read without: its order, its filters. Kept in sync.pinned.

import type { Clock } from '../clock.ts'
import type { Queryable } from '../database/sql.ts'
import { ApiError } from '../errors.ts'
import { type Profile, saveDetected } from './detected-settings.ts'

/** The prefix of these settings' names; each parameter of a list has one, and its value is the reason. */
export const refusedPrefix = 'refused:'

const settingsOf = (stream: string): string => `${refusedPrefix}${stream}.`

/** A refused parameter is omitted for this long, then tried again, in milliseconds. */
const retryMs = 7 * 24 * 3_600_000

/** Names of the parameters that the list of a stream refuses. */
export function refusedParameters(profile: Profile, stream: string, { now }: Pick<Clock, 'now'>): ReadonlySet<string> {
  const since = now().getTime() - retryMs
  const prefix = settingsOf(stream)
  const held = [...profile.values()].filter(({ key, probedAt }) => key.startsWith(prefix) && +probedAt >= since)
  return new Set(held.map(({ key }) => key.slice(prefix.length)))
}

/** Remembers that the list of a stream refuses these parameters. */
export async function noteRefused(
  db: Queryable,
  stream: string,
  { names, reason }: { readonly names: readonly string[]; readonly reason: string },
): Promise<void> {
  for (const name of names) await saveDetected(db, settingsOf(stream) + name, reason)
}

/**
 * Whether a refusal may be about the parameters of a request; some APIs refuse them with 200 and an error in the
 * body.
 */
export const mayConcernParameters = (error: unknown): error is ApiError =>
  error instanceof ApiError && (error.status === 400 || error.status === 422 || error.code === 'API_ERROR_BODY')

/** The query without these parameters. */
export const withoutParameters = (
  query: Readonly<Record<string, string>>,
  names: ReadonlySet<string>,
): Readonly<Record<string, string>> => Object.fromEntries(Object.entries(query).filter(([name]) => !names.has(name)))
