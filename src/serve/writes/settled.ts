// Waits until changes are settled: by NOTIFY, and by the clock where none is heard.

import type { JsonObject } from '../../api/wire/json.ts'
import { sleep } from '../../clock.ts'
import { listen } from '../../database/listen.ts'
import type { Queryable } from '../../database/sql.ts'
import { textArray } from '../../database/sql.ts'
import type { Logger } from '../../log.ts'
import { type Status, stateSets } from '../../outbox/states.ts'

/** What `outbox` notifies with the id of a change that is settled. */
const settledChannel = 'boat_mirror_settled'
/** How often it looks where NOTIFY is not heard, and where it is: what a reconnect has missed is looked for at once. */
const [deafMs, hearingMs] = [1_000, 5_000]

/** A change as far as its answer depends on it. */
export type WaitedChange = {
  readonly id: string
  readonly operation: string
  readonly status: Status
  readonly target: JsonObject
  /** `{status, body}` as the API answered, or null. */
  readonly response: JsonObject | null
  readonly result: JsonObject | null
  readonly conflict: JsonObject | null
  readonly error: string | null
  readonly warning: string | null
  /** Parts of the key of the record that was written. */
  readonly recordKey: string | null
  /** Fields as given; empty once they were erased. */
  readonly body: JsonObject
  readonly enqueuedAt: Date
  readonly settledAt: Date | null
}

/** Changes in the order of these ids. Deleted ones are missing. */
export async function readChanges(db: Queryable, ids: readonly string[]): Promise<readonly WaitedChange[]> {
  const { rows } = await db.query<WaitedChange>(
    `select q.id, q.operation, q.status, q.target, q.response, q.result, q.conflict, q.error, q.warning,
       q.record_key as "recordKey", coalesce(q.body, '{}') as body, q.enqueued_at as "enqueuedAt", q.settled_at as "settledAt"
     from unnest($1::bigint[]) with ordinality as list (id, place) join outbox.queue q using (id) order by place`,
    [textArray(ids)],
  )
  return rows
}

/** Nothing more happens to it without a decision. */
export const isSettled = ({ status }: Pick<WaitedChange, 'status'>): boolean =>
  stateSets.final.includes(status) || stateSets.person.includes(status)

export type SettledWatch = {
  /** The changes once all are settled, or as they are when `ms` milliseconds have passed or the signal is aborted. */
  wait(ids: readonly string[], ms: number, signal: AbortSignal): Promise<readonly WaitedChange[]>
  close(): Promise<void>
}

type WatchOptions = {
  readonly db: Queryable
  /** Where NOTIFY is heard; null: nowhere, then only the clock finds it. */
  readonly listenUrl: string | null
  readonly log: Logger
}

/** Listens for settled changes, on one connection for all that wait. */
export function watchSettled({ db, listenUrl, log }: WatchOptions): SettledWatch {
  const closing = new AbortController()
  const lookEveryMs = listenUrl === null ? deafMs : hearingMs
  const waiting = new Map<string, Set<() => void>>()
  const onNotify = (id: string | null): void => {
    const woken = id === null ? [...waiting.values()].flatMap((set) => [...set]) : [...(waiting.get(id) ?? [])]
    for (const wake of woken) wake()
  }
  const listening =
    listenUrl === null
      ? null
      : listen({ url: listenUrl, channel: settledChannel, onNotify, log, signal: closing.signal })

  const attach = (ids: readonly string[], wake: () => void): void => {
    for (const id of ids) waiting.set(id, (waiting.get(id) ?? new Set()).add(wake))
  }
  const detach = (ids: readonly string[], wake: () => void): void => {
    for (const id of ids) {
      const set = waiting.get(id)
      set?.delete(wake)
      if (set?.size === 0) waiting.delete(id)
    }
  }

  return {
    wait: async (ids, ms, signal) => {
      const until = performance.now() + ms
      for (;;) {
        // Attached before it looks: what settles in between wakes it.
        const waking = new AbortController()
        const wake = (): void => waking.abort()
        attach(ids, wake)
        try {
          const changes = await readChanges(db, ids)
          const leftMs = until - performance.now()
          if (changes.every(isSettled) || leftMs <= 0 || signal.aborted || closing.signal.aborted) return changes
          const ends = AbortSignal.any([waking.signal, signal, closing.signal])
          await sleep(Math.min(lookEveryMs, leftMs), ends).catch(() => undefined) // woken
        } finally {
          detach(ids, wake)
        }
      }
    },
    close: async () => {
      closing.abort()
      await listening
    },
  }
}
