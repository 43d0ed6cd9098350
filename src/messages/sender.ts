// The loop of a sender: step after step while there is something to send, else a look now and then. Errors are logged once
// per message in a row, and the next look tries again.

import { createHash } from 'node:crypto'
import { sleep } from '../clock.ts'
import { giveLeaseBack, type SenderName } from '../database/senders.ts'
import type { Queryable } from '../database/sql.ts'
import { messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'

/** `more`: there may be something to send at once. */
export type StepResult = 'more' | 'idle'

/** Identifies an address without storing it. */
export const fingerprint = (address: string): string => createHash('sha256').update(address).digest('hex').slice(0, 32)

type SenderLoop = {
  readonly name: SenderName
  readonly owner: string
  readonly db: Queryable
  readonly log: Logger
  /** How often it is looked whether there is something to send, in milliseconds. */
  readonly checkEveryMs: number
  readonly step: (signal: AbortSignal) => Promise<StepResult>
  /** Creates the signals that end a wait early; missing: there are none. */
  readonly wakeUps?: (signal: AbortSignal) => WakeUps
}

/** Resolves when it is woken, or has been since the last wait, or after `ms` milliseconds; rejects when it is aborted. */
type WakeUps = (ms: number) => Promise<void>

/** Starts sending; `stop` cancels the current call, which the next sender repeats, and returns the lease. */
export function startSender({ name, owner, db, log, checkEveryMs, step, wakeUps }: SenderLoop): {
  stop(): Promise<void>
} {
  const stopping = new AbortController()
  const { signal } = stopping
  const wait: WakeUps = wakeUps?.(signal) ?? ((ms) => sleep(ms, signal))
  const loop = async (): Promise<void> => {
    let told = ''
    while (!signal.aborted) {
      try {
        const result = await step(signal)
        told = ''
        if (result === 'more') continue
      } catch (error) {
        if (signal.aborted) return
        if (told !== messageOf(error))
          log.warn({ event: 'sender_failed', sender: name, err: error }, `the ${name} sender failed and will retry`)
        told = messageOf(error)
      }
      await wait(checkEveryMs).catch(() => undefined) // stopped
    }
  }
  const looping = loop()
  return {
    stop: async () => {
      stopping.abort()
      await looping
      await giveLeaseBack(db, name, owner).catch((error: unknown) =>
        log.debug({ event: 'lease_not_given_back', sender: name, reason: messageOf(error) }),
      )
    },
  }
}
