// Posts a message to ALERT_URL when a condition that needs attention starts, and when it ends. One worker at a time checks and sends. The
// database stores sent conditions, so that each is sent once.

import type { Config } from '../../config.ts'
import type { Database } from '../../database/database.ts'
import { leaseLost } from '../../database/leases.ts'
import { giveLeaseBack, holdLease, type Lease, noteDelivered, noteFailure, takeLease } from '../../database/senders.ts'
import { BoatMirrorError } from '../../errors.ts'
import { isAlertKind } from '../../inspect/attention-kinds.ts'
import { databaseClock } from '../../inspect/database.ts'
import { saveConditions, storedConditions } from '../../inspect/receivers.ts'
import type { AttentionItem, StatusFacts } from '../../inspect/status.ts'
import type { Logger } from '../../log.ts'
import { processLife, service } from '../../service.ts'
import { createPost, fingerprint, nextPostMs } from '../post.ts'
import { type Condition, createDatabaseWatch, decide, type Subject, subjectKey } from './debounce.ts'
import { bodyFor, messagesOf } from './message.ts'

/** A status costs several queries, and an alert may be a few seconds late. */
const checkEveryMs = 15_000

type AlertsOptions = {
  readonly url: string
  /** The API's host, which identifies the mirror in messages. */
  readonly place: string
  readonly proxies: Config['api']['proxies']
  readonly database: Database
  readonly readStatus: () => Promise<StatusFacts>
  /** Whether the queue answers this worker. */
  readonly queueIsUp: () => Promise<boolean>
  readonly log: Logger
  /** 15,000 by default. */
  readonly checkEveryMs?: number
}

/** Starts checking and sending. */
export function startAlerts(options: AlertsOptions): { stop(): Promise<void> } {
  const { url, place, database, log } = options
  const db = database.pool
  const post = createPost({ variable: 'ALERT_URL', address: url, proxies: options.proxies })
  const owner = processLife()
  const address = fingerprint(url)
  /** If the database is down, the worker that sent the last alerts sends this one, too. */
  let isSender = false

  /** Sends message after message, until one is not accepted. */
  const tell = async (
    lease: Lease,
    conditions: { readonly begun: readonly Condition[]; readonly over: readonly Condition[] },
    { attention, now, signal }: { attention: readonly AttentionItem[]; now: Date; signal: AbortSignal },
  ): Promise<void> => {
    const situation = { place, attention, now }
    const messages = [
      ...messagesOf(conditions.begun, 'begun', situation),
      ...messagesOf(conditions.over, 'over', situation),
    ]
    for (const { message, conditions: told } of messages) {
      const result = await post.send(bodyFor(url, message), {}, signal)
      if (result.kind === 'failed') {
        if (lease.attempts === 0)
          log.warn(
            { event: 'alert_failing', status: result.status, reason: result.error },
            `ALERT_URL did not accept a message: ${result.error}`,
          )
        const { error } = result
        return await noteFailure(db, lease, { error, waitMs: nextPostMs(result, lease.attempts + 1) })
      }
      await remember(database, lease, { told, state: message.state })
    }
  }

  const look = async (signal: AbortSignal): Promise<void> => {
    const lease = await takeLease(db, 'alert', { owner, address })
    isSender = lease !== null
    if (lease === null) return
    const { attention } = await options.readStatus()
    const queue: readonly Subject[] = (await options.queueIsUp()) ? [] : [{ kind: 'queue', about: '' }]
    const now = await databaseClock(db)
    const decision = await database.transaction(async (client) => {
      await holdLease(client, lease)
      const decided = decide(await readConditions(client), [...subjectsOf(attention), ...queue], now)
      await saveConditions(client, decided.known)
      return decided
    })
    if (lease.due) await tell(lease, decision, { attention, now, signal })
  }

  const isOut = (): Promise<boolean> =>
    db.query('select 1').then(
      () => false,
      () => true,
    )
  const watch = (signal: AbortSignal) =>
    createDatabaseWatch(async (conditions, state) => {
      const [first] = messagesOf(conditions, state, { place, attention: [], now: new Date() })
      if (first === undefined) return true
      return (await post.send(bodyFor(url, first.message), {}, signal)).kind === 'accepted'
    })
  let watchDatabase: ReturnType<typeof watch> | undefined

  const runOnce = async (signal: AbortSignal): Promise<void> => {
    watchDatabase ??= watch(signal)
    try {
      await look(signal)
      await watchDatabase(false, new Date())
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof BoatMirrorError && error.code === 'LEASE_LOST') return
      if (isSender) await watchDatabase(await isOut(), new Date())
      throw error
    }
  }

  const sending = service('sending alerts', options.checkEveryMs ?? checkEveryMs, runOnce, {
    log,
    atEnd: () => giveLeaseBack(db, 'alert', owner),
  })
  return {
    stop: async () => {
      await sending.stop()
      await post.close()
    },
  }
}

/** Each subject once. The name of a field is text of the API, and is not stored. */
const subjectsOf = (attention: readonly AttentionItem[]): readonly Subject[] => {
  const subjects = attention.flatMap(({ kind, about }): Subject[] => {
    if (about.length === 0) return [{ kind, about: '' }]
    if (kind !== 'fields') return about.map((name) => ({ kind, about: name }))
    return about.map((name) => ({ kind, about: `${name.split('.')[0]}.${fingerprint(name)}` }))
  })
  return [...new Map(subjects.map((subject) => [subjectKey(subject), subject])).values()]
}

async function readConditions(client: Parameters<typeof storedConditions>[0]): Promise<readonly Condition[]> {
  const rows = await storedConditions(client)
  // Another version may have stored kinds that this one does not know.
  return rows.flatMap(({ kind, ...rest }) => (isAlertKind(kind) ? [{ kind, ...rest }] : []))
}

/** Conditions sent as started stay, marked as sent; those sent as ended are deleted. */
async function remember(
  database: Database,
  lease: Lease,
  { told, state }: { readonly told: readonly Condition[]; readonly state: 'begun' | 'over' },
): Promise<void> {
  const keys = new Set(told.map(subjectKey))
  await database.transaction(async (client) => {
    if (!(await noteDelivered(client, lease, 1))) throw leaseLost('The alert sender')
    const conditions = await readConditions(client)
    const next =
      state === 'over'
        ? conditions.filter((condition) => !keys.has(subjectKey(condition)))
        : conditions.map((condition) => (keys.has(subjectKey(condition)) ? { ...condition, told: true } : condition))
    await saveConditions(client, next)
  })
}
