// Checks once a minute whether each stream is within its target, as long as a worker runs. It has a separate loop: if
// other work of the worker takes minutes, that must not count as late data.

import { streams } from '../catalog/catalog.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import type { Logger } from '../log.ts'
import { type Service, service } from '../service.ts'
import { pausedStreams } from '../sync/due/stream-state.ts'
import { isEnabled } from '../sync/plan.ts'
import { checkFreshness } from './freshness-days.ts'

const minuteMs = 60_000
/** In the middle of each minute: the host's clock may differ from that of Postgres, whose minutes are counted, by seconds. */
const checkAtMs = 30_000
const tryAgainMs = 5_000

type ChecksOptions = { readonly database: Database; readonly config: Config; readonly log: Logger }

/** Starts the checks. */
export function startFreshnessChecks({ database, config, log }: ChecksOptions): Service {
  const switchedOff = streams.filter((stream) => !isEnabled(stream, config)).map(({ name }) => name)
  const check = async (): Promise<number> => {
    const paused = await pausedStreams(database.pool)
    await checkFreshness(database, [...switchedOff, ...paused.map(({ stream }) => stream)])
    return minuteMs - ((Date.now() - checkAtMs + minuteMs) % minuteMs)
  }
  return service('recording how fresh the streams are', tryAgainMs, check, { log })
}
