// A pusher between a real database and an API that rewrites, shows late and loses answers; time passes when a test says so.

import type { Database } from '../../src/database/database.ts'
import { canProgress } from '../../src/outbox/claim.ts'
import { createPusher } from '../../src/outbox/pusher.ts'
import { openOutbox } from './open-outbox.ts'
import { type RewritingApi, startRewritingApi } from './rewriting-api.ts'
import { contextFor, mirrorRecords } from './rig.ts'

/** A change that has come to its end. */
export type Ended = {
  readonly id: string
  readonly operation: string
  readonly status: string
  readonly error: string | null
  readonly request: { readonly path: string; readonly body: unknown } | null
  readonly made: string | null
}

export type RewritingRig = AsyncDisposable & {
  readonly database: Database
  readonly api: RewritingApi
  queue(operation: string, target: object, body: object): Promise<string>
  /** Pushes until nothing more can settle without a decision. Before each round, `passes` says whether the time has passed by then. */
  push(passes: () => boolean): Promise<void>
  ended(): Promise<readonly Ended[]>
  /** Slots that the mirror knows. */
  mirrorSlots(slots: readonly { readonly resourceId: string; readonly slotId: string }[]): Promise<void>
  clear(): Promise<void>
}

export const slotAt = (resourceId: string, departure: string) => ({ resourceId, slotId: `${resourceId}|${departure}` })

export async function openRewritingRig(): Promise<RewritingRig> {
  const outbox = await openOutbox()
  const database = outbox.opened
  const api = await startRewritingApi()
  // Nothing but the passing of time, which tests decide about, ends a wait.
  let passedMs = 0
  const patient = { timeoutMs: 30_000, settings: { showDelayMs: 5_000, leaseMs: 10_000 }, steadyMs: () => passedMs }
  const { context, close } = contextFor({ database, sandbox: api }, patient)
  const pusher = createPusher(context)
  const allDue = `update outbox.queue set next_attempt_at = clock_timestamp() where status in ('queued', 'sending')`
  const allLate = `update outbox.queue set settled_at = settled_at - interval '2 minutes'`
  return {
    database,
    api,
    queue: async (operation, target, body) => String(await outbox.queue(operation, target, body)),
    push: async (passes) => {
      do {
        await pusher.runOnce(AbortSignal.timeout(100_000))
        if (passes()) {
          api.nextTurn()
          passedMs += 120_000
          await database.pool.query(allLate)
        }
        await database.pool.query(allDue)
      } while (await canProgress(database.pool))
    },
    ended: async () => {
      const { rows } = await database.pool.query<Ended>(
        `select id, operation, status, error, request, result->>'id' as made from outbox.queue order by id`,
      )
      return rows
    },
    mirrorSlots: (slots) =>
      mirrorRecords(
        database,
        'resource_slots',
        slots.map(({ resourceId, slotId }) => ({
          key: { resource_id: resourceId, date: '2026-07-14', duration: 'DAYS,1' },
          record: { id: slotId, departureDatetime: slotId.split('|')[1] },
        })),
      ),
    clear: async () => {
      api.clear()
      await outbox.empty()
    },
    [Symbol.asyncDispose]: async () => {
      await pusher.close()
      await close()
      await api[Symbol.asyncDispose]()
      await outbox[Symbol.asyncDispose]()
    },
  }
}
