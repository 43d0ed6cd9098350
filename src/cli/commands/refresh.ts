// `refresh`: a stream, or one record with its details, read now, before everything scheduled.

import { existingStream } from '../../catalog/catalog.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { BoatMirrorError } from '../../errors.ts'
import type { Outcome } from '../../inspect/outcome.ts'
import { patienceMs, workOn } from '../../jobs/worker.ts'
import { askRefresh, findRefresh } from '../../sync/due/refreshes.ts'
import { streamsToSync } from '../../sync/plan.ts'
import { preflight } from '../../sync/preflight.ts'
import { quarantineTotals } from '../../sync/quarantine.ts'
import type { CommandContext, ExitCode, Json } from '../context.ts'
import { reportSync } from '../outcome.ts'
import { printJson, printText } from '../terminal/output.ts'
import { watchRequest } from '../terminal/progress.ts'
import { recordKey } from './explain.ts'

type Options = Json & { readonly wait: boolean }
type Wanted = { readonly stream: StreamDef; readonly key: Readonly<Record<string, string>> | null }

export async function runRefresh(
  context: CommandContext,
  name: string,
  given: readonly string[],
  { wait, json }: Options,
): Promise<ExitCode> {
  const stream = existingStream(name)
  const parts = given.length === 0 ? null : recordKey(stream, given)
  const key = parts && Object.fromEntries(stream.key.map((column, index) => [column, parts[index] ?? '']))
  if (wait) return await carryOut(context, { stream, key }, json)
  await using opened = await context.openDatabase()
  const id = await askRefresh(opened.database.pool, name, key)
  const { state } = await findRefresh(opened.database.pool, id)
  if (json) printJson({ id: Number(id), state })
  else
    printText(
      `Queued as refresh ${id}; a running worker reads it now. See the result with: select * from sync.refreshes where id = ${id}`,
    )
  return 0
}

async function carryOut(context: CommandContext, { stream, key }: Wanted, json: boolean): Promise<ExitCode> {
  const { config: settings, log, signal } = context
  await using app = await context.open({ schema: 'migrate', creates: false, patienceMs })
  const { database } = app
  await preflight(
    { config: settings, apiUrl: app.apiUrl, log, signal, limiter: app.limiter },
    streamsToSync([stream.name], settings),
  )
  const backend = await app.openQueue(signal)
  const outcome = await workOn(
    { context: app.syncContext, backend, log },
    () => askRefresh(database.pool, stream.name, key),
    async (requestId): Promise<Outcome & { readonly id: string }> => {
      const runs = await watchRequest({ database, settings, requestId, signal, log })
      return { id: requestId, runs, quarantine: await quarantineTotals(database.pool) }
    },
  )
  const { state, error } = await findRefresh(database.pool, outcome.id)
  if (outcome.runs.length === 0 && error !== null) throw new BoatMirrorError('USAGE', error)
  return reportSync(outcome, json, { id: Number(outcome.id), state })
}
