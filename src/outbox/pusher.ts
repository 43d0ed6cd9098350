// The pusher: claims the changes that are due, delivers them to the API, several aggregates at once, and settles them.
//
// A change is delivered in four steps. Each commits before the next begins:
//
//   claim      claim.ts     the oldest change of the role whose turn it is becomes `sending`, with an owner, a lease and a
//                           new fence
//   prepare    deliver.ts   its kind (kinds/) reads the present state, merges, builds the request. The request and the
//              and kinds/   evidence (the state before) are committed, the change is marked as dispatched; what no longer
//                           may be sent goes back unsent (dispatch.ts)
//   dispatch   deliver.ts   the request is sent, once. The answer becomes an outcome (outcome.ts)
//   settle     settle.ts    state, result, the mirror's rows, the dependants, and the notification, in one transaction
//
// A pusher that claims a change marked as dispatched never sends it: reconcile.ts lets its kind verify whether it took
// effect, from the evidence and from what the API shows now. So a change takes effect exactly once wherever a pusher dies:
// before the mark nothing was sent, after it nothing is sent until the verdict is that it had no effect.
//
// An example. Change 17 sets the status of rental 42 to VALIDATED:
//   claim      17: queued -> sending, fence A, lease 10 s
//   prepare    GET /v3/rentals/42 shows PENDING and an order link. body: {status: VALIDATED, orderLink: as it was read};
//              evidence: {status: PENDING, orderLink: the same}. Commit: departed = true
//   dispatch   PUT /v3/rentals/42 - and the pusher is killed before the answer comes
//   claim      another pusher, when the lease has run out: 17 is still sending, fence B
//   verify     GET /v3/rentals/42 shows VALIDATED: as sent, so it took effect. (PENDING: as before, it is sent again
//              once its effect would show. CANCELED_BY_CLIENT: neither, `unknown`, an operator decides.)
//   settle     17: sending -> done where the fence is still B, with the row of rental 42; NOTIFY boat_mirror_settled, '17'
//
// A change that was queued in another history of the database, before a restore or in the original of a copy, may have been sent
// there. It is claimed as if it was dispatched (claim.ts) and verified without evidence of an attempt (former.ts).
//
// One aggregate (a rental, a user) has one change in progress: an index prevents a second `sending`. The order within an
// aggregate is that of the ids, which enqueue assigns under the aggregate's lock. A pusher that was delayed for longer than
// its lease sends nothing (`isOurs`) and settles nothing (the fence).
//
// Concurrent changes of several aggregates are claimed by one statement, marked by one, and settled by one transaction
// (batches.ts): under load this takes a fraction of the database's work. Each keeps its own lease, fence and outcome; when
// one of a batch fails, each is done separately. More changes are claimed than requests may be in flight, so that the API
// does not wait for the database; those of pending rentals go first.
//
// Loop and work are separate: `runOnce` works and returns counts; `drain` repeats it for a command; workers repeat it
// until they stop.

import { createSemaphore } from '../api/admission/concurrency.ts'
import { keyText } from '../catalog/keys.ts'
import { sleep } from '../clock.ts'
import { translateDatabaseError } from '../database/sql-states.ts'
import { BoatMirrorError, messageOf } from '../errors.ts'
import { createRefusals } from './account.ts'
import { inBatches, mostTogether } from './batches.ts'
import type { Change } from './change.ts'
import { canProgress, createClaims, nextDueAt, releaseChange, tidy } from './claim.ts'
import type { PushContext } from './context.ts'
import { carryOutDecisions } from './decisions.ts'
import { deliverChange } from './deliver.ts'
import { type Departure, markDispatched } from './dispatch.ts'
import { codeIn, isFinal, type Outcome } from './outcome.ts'
import { createEndedHashing } from './personal.ts'
import { waitsForQuota } from './quota-room.ts'
import { aggregateOf, createSettling, type DoneChange, settleFault } from './settle.ts'

type PushCounts = { readonly claimed: number; readonly settled: number }

type Drained = PushCounts & {
  /** How the API refuses the account, if `drain` stopped for that; null: nothing is left that could settle without a decision. */
  readonly held: string | null
}

export type Pusher = {
  /** Processes what is due now and what becomes due by that; safe to call while another call runs. */
  runOnce(signal: AbortSignal): Promise<PushCounts>
  /** Repeats `runOnce` until nothing is due, or can settle without a decision; at most half a minute while the API refuses the account. */
  drain(signal: AbortSignal, options?: { readonly until?: 'idle' | 'settled' }): Promise<Drained>
  /** When to look again; null: when something is queued. */
  nextDueAt(): Promise<Date | null>
  /** Waits for what is on its way. */
  close(): Promise<void>
}

const lanesAPlace = 3 // while one request is in flight, one change is claimed and one settled
const checkAgainMs = 250 // while a slow answer is awaited, a free lane claims new changes
const longestSleepMs = 1_000 // the reconciler's interval: what no NOTIFY announced is found within it

/** How long a change rests after our own database interrupted it. */
const databaseDelayMs = 1_000

/** Errors of our side that say nothing about the change: the database fails, or this process must not write to it any more. */
const isOurs = (error: unknown): boolean =>
  error instanceof BoatMirrorError &&
  (error.kind === 'abort' || error.code.startsWith('DATABASE_') || error.code === 'PRIVACY_DIFFERS')

/** Creates a pusher. Any number of them, in any number of processes, may run on one database. */
export function createPusher(context: PushContext): Pusher {
  const { database, log, settings, showDelay } = context
  const inFlight = new Set<Promise<unknown>>()
  /** Changes being delivered: no more than requests may be in flight, or some would wait out their time limit. */
  const places = createSemaphore(() => settings.api.concurrency)
  const refusals = createRefusals()
  const claims = createClaims(context, () => refusals.hold(waitsForQuota))
  const settle = createSettling(context)

  /** Marks as dispatched the requests that became ready meanwhile. */
  const mark = inBatches(mostTogether, (departing: readonly Departure[]) =>
    markDispatched(database.pool, departing, context.privacy),
  )

  const logOutcome = (change: Change, outcome: Outcome): void => {
    const level = outcome.kind === 'done' || !isFinal(outcome) ? 'debug' : 'warn'
    const code = 'error' in outcome ? codeIn(outcome.error) : undefined
    log[level](
      { event: 'change_worked', change: change.id, operation: change.operation, outcome: outcome.kind, code },
      `change ${change.id} (${change.operation}): ${outcome.kind}`,
    )
  }

  const noteWrite = (settled: DoneChange): void => {
    const { change, done } = settled
    showDelay.wrote(aggregateOf(settled), change.id)
    if (done.recordKey !== null) showDelay.wrote(`${change.write.stream} ${keyText(done.recordKey)}`, change.id)
  }

  const deliver = async (change: Change, signal: AbortSignal): Promise<Outcome> => {
    const leave = await places.enter(change.deadline === null ? 'read' : 'write', signal)
    try {
      return await deliverChange(
        {
          context,
          change,
          signal,
          startedAt: context.clock.now(),
          knownMs: change.dispatched ? showDelay.knownMs(change) : 0,
        },
        { isOurs: () => claims.holds(change.id), mark },
      )
    } finally {
      leave()
    }
  }

  /** One change from its claim to its outcome. @returns false when nothing was due. */
  const takeOne = async (signal: AbortSignal, counts: { claimed: number; settled: number }): Promise<boolean> => {
    const change = await claims.next()
    if (change === null) return false
    counts.claimed++
    try {
      const outcome = await deliver(change, signal)
      await settle(change, outcome)
      logOutcome(change, outcome)
      refusals.note(outcome)
      showDelay.note(change.id, outcome)
      if (outcome.kind === 'done') noteWrite({ change, done: outcome })
      if (isFinal(outcome)) counts.settled++
    } catch (error) {
      await giveBack(change, error, signal)
    } finally {
      claims.end(change.id)
    }
    return true
  }

  /** Holds a change after a stop, a lost lease or a failing database. Any other error is an attempt, so that no change is claimed forever. */
  const giveBack = async (change: Change, error: unknown, signal: AbortSignal): Promise<void> => {
    const reason = translateDatabaseError(error)
    if (reason instanceof BoatMirrorError && reason.code === 'LEASE_LOST') {
      log.info({ event: 'change_taken_over', change: change.id }, messageOf(reason))
      return
    }
    if (!signal.aborted)
      log.error(
        { event: 'change_interrupted', change: change.id, operation: change.operation, err: error },
        `change ${change.id} was interrupted and resumes`,
      )
    try {
      if (signal.aborted || isOurs(reason))
        await releaseChange(database.pool, change, signal.aborted ? 0 : databaseDelayMs)
      else logOutcome(change, await settleFault(context, change, reason))
    } catch (failure) {
      // The lease runs out: the next owner then relies on its mark.
      log.warn({ event: 'change_not_released', change: change.id, reason: messageOf(failure) })
    }
  }

  /** Decisions that need the API are carried out beside the changes, by one call at a time. */
  let deciding: Promise<void> | undefined
  const carryOut = (signal: AbortSignal): Promise<void> => {
    deciding ??= carryOutDecisions(context, signal).finally(() => {
      deciding = undefined
    })
    return deciding
  }

  const hashEnded = createEndedHashing(context)

  const runOnce = async (signal: AbortSignal): Promise<PushCounts> => {
    const counts = { claimed: 0, settled: 0 }
    const decided = carryOut(signal)
    decided.catch(() => undefined) // the caller that waits for it below gets the error
    const lanes = new Set<Promise<void>>()
    const failures: unknown[] = []
    const limit = lanesAPlace * settings.api.concurrency
    counts.settled += await tidy(database.pool)
    await hashEnded()

    const lane = async (): Promise<void> => {
      while (!signal.aborted && (await takeOne(signal, counts))) addLane() // one settled change may free several others
    }
    const addLane = (): void => {
      if (inFlight.size >= limit) return
      const running: Promise<void> = lane()
        .catch((error: unknown) => void failures.push(error))
        .finally(() => {
          lanes.delete(running)
          inFlight.delete(running)
        })
      lanes.add(running)
      inFlight.add(running)
    }
    addLane()
    const again = setInterval(addLane, checkAgainMs)
    while (lanes.size > 0) await Promise.race(lanes)
    clearInterval(again)
    await decided
    if (failures.length > 0) throw failures[0]
    if (counts.claimed > 0) log.info({ event: 'pushed', ...counts }, 'processed changes')
    return counts
  }

  const drain: Pusher['drain'] = async (signal, { until = 'idle' } = {}) => {
    const total = { claimed: 0, settled: 0 }
    for (;;) {
      const counts = await runOnce(signal)
      total.claimed += counts.claimed
      total.settled += counts.settled
      if (signal.aborted || until === 'idle' || !(await canProgress(database.pool))) return { ...total, held: null }
      const held = refusals.overdue()
      if (held !== null) return { ...total, held }
      const dueAt = await nextDueAt(database.pool)
      const waitMs = dueAt === null ? longestSleepMs : dueAt.getTime() - context.clock.now().getTime()
      await sleep(Math.min(longestSleepMs, Math.max(10, waitMs)), signal).catch(() => undefined) // ends by the signal
    }
  }

  return {
    runOnce,
    drain,
    nextDueAt: () => nextDueAt(database.pool),
    close: async () => void (await Promise.allSettled(inFlight)),
  }
}
