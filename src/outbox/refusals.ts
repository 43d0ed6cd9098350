// How long the API has refused the account, or the quota has been used up: callers waiting for changes to settle do
// not wait for credentials forever.

import { codeIn, type Outcome } from './outcome.ts'
import { isFinal } from './settle.ts'

/** How long is waited for an account that is refused, in milliseconds: a token may be on its way to being replaced. */
const patienceMs = 30_000

/** What the API answers by which it refuses an account: changes that meet it are held. */
const accountCodes: ReadonlySet<string | undefined> = new Set([
  ...['API_UNAUTHORIZED', 'API_FORBIDDEN', 'API_REJECTED'],
  'API_QUOTA_USED',
])

/** How the API refuses the account, as this outcome shows it; null: it shows nothing of the kind. */
function refusalIn(outcome: Outcome): string | null {
  const isHeld = (outcome.kind === 'retry' && outcome.leaveOut === undefined) || outcome.kind === 'verify'
  return isHeld && accountCodes.has(codeIn(outcome.error)) ? outcome.error : null
}

/** Watches the outcomes of one pusher. */
export function createRefusals(now: () => number = () => performance.now()): {
  note(outcome: Outcome): void
  /** Changes were not started, for this reason. */
  hold(error: string): void
  /** The last refusal, where nothing else has been heard of for longer than is waited; else null. */
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
