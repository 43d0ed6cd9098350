// Whether the API refuses the account or only one request, and for how long it has refused the account.

import { concernsAccount } from '../api/retry.ts'
import { ApiError } from '../errors.ts'
import { resolveTarget } from './change.ts'
import type { Delivery } from './kinds/kind.ts'
import { codeIn, isFinal, type Outcome } from './outcome.ts'
import { isAbsent, rootOf } from './reads.ts'

/**
 * Whether the API answers this account: reads the rental or user, else the first of their list. If it does, a 403 refused one request.
 * @throws ApiError when neither answers, and not because of the account.
 */
export async function answersAccount({ context, change, signal }: Delivery): Promise<boolean> {
  const { api, settings } = context
  const { endpoint, param, stream } = rootOf(change.write)
  const params = resolveTarget(change.target, change.results) ?? {}
  const asked = { priority: 'write', signal } as const
  if (Object.hasOwn(params, param) && (await isAnswered(api.read({ ...asked, endpoint, params })))) return true
  if (stream.reads.kind !== 'list') return false
  const query = { [settings.api.paging.sizeParam]: '1' }
  return await isAnswered(api.read({ ...asked, endpoint: stream.reads.list, query, provesAccess: true }))
}

async function isAnswered(read: Promise<unknown>): Promise<boolean> {
  try {
    await read
    return true
  } catch (error) {
    if (isAbsent(error)) return true
    if (error instanceof ApiError && (error.status === 403 || concernsAccount(error))) return false
    throw error
  }
}

/** Milliseconds to wait for a refused account: its token may be about to be replaced. */
const patienceMs = 30_000

/** Codes that may refuse the account. Their changes are held. */
const accountCodes: ReadonlySet<string | undefined> = new Set([
  ...['API_UNAUTHORIZED', 'API_FORBIDDEN', 'API_REJECTED'],
  'API_QUOTA_USED',
])

/** The refusal of the account in an outcome; null: there is none. */
function refusalIn(outcome: Outcome): string | null {
  const isHeld = (outcome.kind === 'retry' && outcome.leaveOut === undefined) || outcome.kind === 'verify'
  return isHeld && accountCodes.has(codeIn(outcome.error)) ? outcome.error : null
}

/** Watches the outcomes of one pusher. */
export function createRefusals(now: () => number = () => performance.now()): {
  note(outcome: Outcome): void
  /** Changes were not started, for this reason. */
  hold(error: string): void
  /** The last refusal, if there were only refusals for longer than the patience; else null. */
  overdue(): string | null
} {
  let seen: { readonly since: number; readonly lastAt: number; readonly error: string } | null = null
  const hold = (error: string): void => {
    seen = { since: seen?.since ?? now(), lastAt: now(), error }
  }
  return {
    hold,
    note: (outcome) => {
      const error = refusalIn(outcome)
      if (error !== null) hold(error)
      else if (isFinal(outcome)) seen = null
    },
    overdue: () => (seen !== null && seen.lastAt - seen.since >= patienceMs ? seen.error : null),
  }
}
