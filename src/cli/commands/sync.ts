// `sync`: one complete sync now, in this process, with progress and a table at the end.

import { existingStream } from '../../catalog/catalog.ts'
import { BoatMirrorError } from '../../errors.ts'
import type { Outcome } from '../../inspect/outcome.ts'
import { patienceMs, syncNow } from '../../jobs/worker.ts'
import { pausedStreams } from '../../sync/due/stream-state.ts'
import { pausedText, streamsToSync, withoutPaused } from '../../sync/plan.ts'
import { preflight } from '../../sync/preflight.ts'
import { quarantineTotals } from '../../sync/quarantine.ts'
import { runCheckSync } from '../check-sync.ts'
import type { CommandContext, ExitCode, OpenedApp } from '../context.ts'
import { reportSync } from '../outcome.ts'
import { tell } from '../terminal/output.ts'
import { watchRequest } from '../terminal/progress.ts'

type SyncOptions = { readonly full: boolean; readonly check: boolean; readonly json: boolean }

export async function runSync(
  context: CommandContext,
  names: readonly string[],
  options: SyncOptions,
): Promise<ExitCode> {
  const { config, log, signal } = context
  if (options.check && options.full)
    throw new BoatMirrorError('USAGE', 'Give --check or --full, not both. --check reads everything anyway.')
  for (const name of names) existingStream(name)
  const streams = streamsToSync(names, config)
  await using app = await context.open({ schema: options.check ? 'check' : 'migrate', patienceMs })
  await preflight({ config, apiUrl: app.apiUrl, log, signal, limiter: app.limiter }, streams)
  if (options.check) return await runCheckSync(app, streams, { json: options.json, signal, log })
  const paused = await pausedStreams(app.database.pool)
  const left = withoutPaused(streams, paused)
  if (left.length < streams.length) tell(log, 'paused', `Skipped: ${pausedText(streams, paused)}.`)
  const runs = await carryOut(context, app, left, options.full)
  return reportSync({ runs, quarantine: await quarantineTotals(app.database.pool) }, options.json)
}

async function carryOut(
  { config: settings, log, signal }: CommandContext,
  app: OpenedApp,
  streams: readonly string[],
  full: boolean,
): Promise<Outcome['runs']> {
  const backend = await app.openQueue(signal)
  try {
    return await syncNow({ context: app.syncContext, backend, log }, { streams, full }, (requestId) =>
      watchRequest({ database: app.database, settings, requestId, signal, log }),
    )
  } catch (error) {
    if (signal.aborted)
      tell(log, 'stopping', 'Stopping. What was read is kept; the next sync or worker continues from here.')
    throw error
  }
}
