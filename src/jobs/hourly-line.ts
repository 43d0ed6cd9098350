// One line of the log an hour, so that silence means that no worker runs, and not that nothing happened. Of several
// workers on a mirror one logs it.

import { sleep } from '../clock.ts'
import { takeLineTurn } from '../database/senders.ts'
import type { Queryable } from '../database/sql.ts'
import { messageOf } from '../errors.ts'
import type { AttentionItem } from '../inspect/status.ts'
import { atMostEvery, type Logger } from '../log.ts'

type HourlyOptions = {
  readonly db: Queryable
  /** This life of this process. */
  readonly owner: string
  /** The conditions that need attention. */
  readonly read: () => Promise<readonly AttentionItem[]>
  readonly log: Logger
  /** Milliseconds from one line to the next, over all workers. */
  readonly everyMs?: number
  /** Milliseconds from one look whether it is due to the next. */
  readonly checkEveryMs?: number
}

const hourMs = 3_600_000
const minuteMs = 60_000

/** Logs each hour that there are no problems, or which ones. `stop` resolves when nothing is running any more. */
export function startHourlyLine({ db, owner, read, log, ...times }: HourlyOptions): { stop(): Promise<void> } {
  const { everyMs = hourMs, checkEveryMs = minuteMs } = times
  const stopping = new AbortController()
  const { signal } = stopping
  const isNews = atMostEvery(everyMs)
  const loop = async (): Promise<void> => {
    // Not sooner: a worker that has just started is still catching up.
    await sleep(everyMs, signal)
    for (; ; await sleep(checkEveryMs, signal))
      try {
        if (await takeLineTurn(db, owner, everyMs)) sayHow(await read(), log)
      } catch (error) {
        if (isNews('state_unknown'))
          log.warn(
            { event: 'state_unknown', reason: messageOf(error) },
            'cannot determine now whether anything needs attention',
          )
      }
  }
  const running = loop().catch(() => undefined) // stopped: nothing else ends it
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
  if (matters.length === 0) log.info({ event: 'well' }, 'healthy: nothing needs your attention')
  else log.warn({ event: 'needs_person', kinds }, `needs your attention: ${texts.join(' ')}`)
}
