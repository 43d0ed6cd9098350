// `serve`: the API from the mirror, until it is stopped. `worker` does it too where SERVE is on.

import { once } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { startServe } from '../../serve/start.ts'
import { shownAddress } from '../../text.ts'
import type { CommandContext } from '../context.ts'
import { print, printText } from '../terminal/output.ts'

/** How long a read that asks the API waits while the API is paused, in milliseconds. */
const patienceMs = 5_000

export async function runServe(context: CommandContext): Promise<void> {
  const { config, log, signal } = context
  // Answers wait for a collection, so the heap may grow to four times what is alive before the next one.
  setFlagsFromString('--heap-growing-percent=300')
  await using app = await context.open({ schema: 'migrate', patienceMs })
  const { syncContext } = app
  await using server = await startServe({ config, log, listenUrl: await app.listenUrl(), syncContext })
  print(`API       ${shownAddress(app.apiUrl)}${app.sandbox ? ' (the built-in sandbox)' : ''}`)
  printText(`Database  ${shownAddress(app.databaseUrl)}   (in full: boat-mirror db)`)
  print(`Served    ${server.url}/v3`)
  if (!signal.aborted) await once(signal, 'abort')
  log.info({ event: 'stopping' }, 'stopping: connections are closed')
}
