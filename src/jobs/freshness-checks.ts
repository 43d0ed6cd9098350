// Checks once a minute whether each stream is within its target, as long as a worker runs. It has a separate loop: if
// other work of the worker takes minutes, that must not count as late data.

import { streams } from '../catalog/catalog.ts'
import { sleep } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'
import { pausedStreams } from '../sync/due/stream-state.ts'
import { isEnabled } from '../sync/plan.ts'
import { checkFreshness } from './freshness-days.ts'

const minuteMs = 60_000
/** In the middle of each minute: the host's clock may differ from that of Postgres, whose minutes are counted, by seconds. */
const checkAtMs = 30_000
const tryAgainMs = 5_000

type ChecksOptions = { readonly database: Database; readonly config: Config; readonly log: Logger }

/** Checks immediately, then once a minute; disposing ends it. */
export function startFreshnessChecks({ database, config, log }: ChecksOptions): AsyncDisposable {
  const switchedOff = streams.filter((stream) => !isEnabled(stream, config)).map(({ name }) => name)
  const stopping = new AbortController()
  let failures = 0
  const check = async (): Promise<number> => {
    try {
      const paused = await pausedStreams(database.pool)
      await checkFreshness(database, [...switchedOff, ...paused.map(({ stream }) => stream)])
      failures = 0
      return minuteMs - ((Date.now() - checkAtMs + minuteMs) % minuteMs)
    } catch (error) {
      if (failures++ === 0)
        log.warn(
          { event: 'freshness_not_noted', reason: messageOf(error) },
          'could not record how fresh the streams are; will retry',
        )
      return tryAgainMs
    }
  }
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) await sleep(await check(), stopping.signal).catch(() => undefined) // stopped
  }
  const looping = loop()
  return {
    [Symbol.asyncDispose]: () => {
      stopping.abort()
      return looping
    },
  }
}
