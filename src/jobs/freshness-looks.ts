// Checks once a minute whether each stream is within its target, as long as a worker runs. It has a separate loop: if
// other work of the worker takes minutes, that must not count as late data.

import { streams } from '../catalog/catalog.ts'
import { sleep } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'
import { pausedStreams } from '../state/due/stream-state.ts'
import { lookAtFreshness } from '../state/freshness-days.ts'
import { isEnabled } from '../sync/plan.ts'

const minuteMs = 60_000
/** In the middle of each minute: the host's clock may differ from that of Postgres, whose minutes are counted, by seconds. */
const lookAtMs = 30_000
const tryAgainMs = 5_000

type LooksOptions = { readonly database: Database; readonly config: Config; readonly log: Logger }

/** Checks immediately, then once a minute; disposing ends it. */
export function startFreshnessLooks({ database, config, log }: LooksOptions): AsyncDisposable {
  const switchedOff = streams.filter((stream) => !isEnabled(stream, config)).map(({ name }) => name)
  const stopping = new AbortController()
  let failures = 0
  const look = async (): Promise<number> => {
    try {
      const paused = await pausedStreams(database.pool)
      await lookAtFreshness(database, [...switchedOff, ...paused.map(({ stream }) => stream)])
      failures = 0
      return minuteMs - ((Date.now() - lookAtMs + minuteMs) % minuteMs)
    } catch (error) {
      if (failures++ === 0)
        log.warn(
          { event: 'freshness_not_noted', reason: messageOf(error) },
          'how fresh the streams are could not be noted; it is tried again',
        )
      return tryAgainMs
    }
  }
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) await sleep(await look(), stopping.signal).catch(() => undefined) // stopped
  }
  const looping = loop()
  return {
    [Symbol.asyncDispose]: () => {
      stopping.abort()
      return looping
    },
  }
}
