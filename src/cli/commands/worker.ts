// `worker`: migrations, schedules, workers; runs until told to stop. `npm start` runs it.

import { once } from 'node:events'
import type { Command } from 'commander'
import { packageVersion } from '../../api/version.ts'
import { messageOf } from '../../errors.ts'
import type { QueueBackend } from '../../jobs/backend-types.ts'
import { startPushWorker } from '../../jobs/push-worker.ts'
import { queueNames } from '../../jobs/queues.ts'
import { startScheduledWorker } from '../../jobs/worker.ts'
import type { Logger } from '../../log.ts'
import { shownAddress } from '../../mirror/sql-states.ts'
import { startOperatorServer } from '../../operator/server.ts'
import { createPusher } from '../../outbox/pusher.ts'
import { type CommandContext, type ExitCode, print, runCommand } from '../context.ts'
import { watchFirstSync } from '../first-sync.ts'
import { pushContextOf } from '../push-context.ts'
import { readStatus } from '../status-facts.ts'

/** Registers `worker`. */
export function registerWorker(program: Command): void {
  program
    .command('worker')
    .description(
      'run schedules and workers until told to stop; the first complete sync starts at once on an empty mirror',
    )
    .addHelpText('after', '\nSIGTERM and Ctrl-C end it within seconds: tasks reach their checkpoint or are given back.')
    .action(() => runCommand(runWorker, { stoppedCode: 0 }))
}

/** Says what may cost jobs later. A backend that does not answer yet is waited for by those who use it. */
async function warnOfRisk(backend: QueueBackend, log: Logger): Promise<void> {
  try {
    const risk = await backend.risk()
    if (risk !== null) log.warn({ event: 'queue_risk' }, `${risk.detail}. ${risk.remedy}`)
  } catch (error) {
    log.debug({ event: 'queue_risk_unknown', reason: messageOf(error) })
  }
}

async function runWorker(context: CommandContext): Promise<ExitCode> {
  const { config, log, signal } = context
  await using app = await context.open({ schema: 'migrate', patienceMs: null })
  const backend = await app.openQueue(signal)
  const { syncContext, ratePerSecond } = app
  await warnOfRisk(backend, log)
  await using pages = await startOperatorServer({
    config,
    log,
    database: app.database,
    readStatus: () => readStatus(config, { database: app.database, url: app.databaseUrl }, app.apiUrl),
    onCall: app.onCall,
    queue: backend,
    queueNames,
    version: packageVersion(),
  })
  const worker = await startScheduledWorker({ context: syncContext, backend, log, config, ratePerSecond })
  const pusher = createPusher(pushContextOf(app))
  const pushing = await startPushWorker({ databaseUrl: app.databaseUrl, backend, pusher, clock: app.clock, log })
  try {
    print(`API       ${app.apiUrl}${app.sandbox ? ' (the built-in sandbox)' : ''}`)
    print(`Database  ${shownAddress(app.databaseUrl)}   (in full: npm run --silent cli -- db)`)
    print(`Queue     ${backend.kind === 'redis' ? 'Redis' : 'Postgres, beside the mirror'}`)
    print(`Pages     ${pages.url ?? 'not served by this process'}`)
    await watchFirstSync(app.database, signal, log)
    if (!signal.aborted) {
      print(
        'Up, and on schedule. Look at it with: npm run cli -- status   Open the database with: npm run cli -- db psql',
      )
      await once(signal, 'abort')
    }
    log.info({ event: 'stopping' }, 'stopping: tasks reach their checkpoint or are given back')
    return 0
  } finally {
    await Promise.all([pushing.stop(), worker.stop()])
  }
}
