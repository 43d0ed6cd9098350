// One line of the log an hour, so that silence means that nobody works and not that nothing happened.

import { sleep } from '../clock.ts'
import { messageOf } from '../errors.ts'
import type { AttentionItem } from '../inspect/status.ts'
import type { Logger } from '../log.ts'

type HourlyOptions = {
  /** What needs a person. */
  readonly read: () => Promise<readonly AttentionItem[]>
  readonly log: Logger
  /** Milliseconds from one line to the next. */
  readonly everyMs?: number
}

const hourMs = 3_600_000

/** Says each hour that all is well, or what is not. `stop` resolves when nothing is under way any more. */
export function startHourlyLine({ read, log, everyMs = hourMs }: HourlyOptions): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      await sleep(everyMs, signal).catch(() => undefined)
      if (signal.aborted) return
      try {
        sayHow(await read(), log)
      } catch (error) {
        log.warn({ event: 'state_unknown', reason: messageOf(error) }, 'whether all is well cannot be told now')
      }
    }
  }
  const running = loop()
  return {
    stop: async () => {
      stopping.abort()
      await running
    },
  }
}

function sayHow(matters: readonly AttentionItem[], log: Logger): void {
  const texts = matters.map(({ message }) => message)
  const kinds = matters.map(({ kind }) => kind)
  if (matters.length === 0) log.info({ event: 'well' }, 'all is well: nothing needs a person')
  else log.warn({ event: 'needs_person', kinds }, `needs a person: ${texts.join(' ')}`)
}
